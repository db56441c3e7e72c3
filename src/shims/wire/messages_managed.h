// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loading code: the message that lets a process map its managed variables, and the lock's name.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

/// Name of the semaphore that guards loading in a process: a thread that waits for a mutex would
/// look to the server as if it ran.
inline constexpr std::uint64_t kLoadingLock = 0xC0C0'10AD;

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
