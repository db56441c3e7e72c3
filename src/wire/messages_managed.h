// SPDX-License-Identifier: Apache-2.0
/// \file
/// The message that lets a process map its managed variables.
#pragma once

#include <cstdint>

#include "wire/protocol.h"

namespace cuco::wire {

/// A managed variable by name (tail). The file it lies in comes with the reply; its pages are its
/// own.
struct MapManaged {
  static constexpr std::uint16_t kType = kModuleSubject + 10;
  struct Reply {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  ///< Whole pages.
    std::uint64_t file_offset = 0;
  };
  std::uint64_t module = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

}  // namespace cuco::wire
