// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a compiler has made of a program, told apart from its text: other comments, names of local
/// variables or layout give the same machine code.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::toolchain {

/// Programs do the same if both are equal. Device code alone does not tell: whether launches are
/// replayed as a graph is in the host's half.
struct MachineCode {
  std::string device;  ///< Hash of canonical_ptx().
  std::string host;    ///< Hash of the host's sections with what they refer to.
  bool operator==(const MachineCode&) const = default;
};

/// Of nvcc's PTX and its relocatable object. Nothing if the object is not one.
[[nodiscard]] std::optional<MachineCode> machine_code(std::string_view ptx,
                                                      std::span<const std::byte> object);

/// Keeps it beside a built object, for machine_code_of().
[[nodiscard]] Result<void> keep_machine_code(const system::Path& object, const MachineCode& code);

/// Of an object that build_candidate() made; nothing if an older version of cuco did.
[[nodiscard]] std::optional<MachineCode> machine_code_of(const system::Path& object);

}  // namespace cuco::toolchain
