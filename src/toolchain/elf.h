// SPDX-License-Identifier: Apache-2.0
/// \file
/// The few facts about a shared object that the object screen asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/result.h"

namespace cuco::toolchain {

struct ElfFacts {
  std::set<std::string> undefined;  ///< Dynamic symbols that must come from elsewhere.
  std::set<std::string> defined;    ///< Dynamic symbols that others could see.
  std::size_t init_entries = 0;     ///< Functions run at load time.
  std::size_t fini_entries = 0;
  std::uint64_t init_bytes = 0;  ///< Of the instructions that the linker runs at load time.
  std::uint64_t fini_bytes = 0;
  bool has_ifunc = false;
};

/// Reads an ELF64 shared object. Every offset is checked: the file was made from hostile source.
[[nodiscard]] Result<ElfFacts> read_elf(std::span<const std::byte> bytes);

}  // namespace cuco::toolchain
