// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ptxas found out about kernels, read from the machine code beside the PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/result.h"

namespace cuco::ptx {

/// What a thread has.
struct ThreadResources {
  std::uint32_t registers = 0;
  std::uint32_t frame_bytes = 0;  ///< Of local memory; spilled registers are there.
  bool operator==(const ThreadResources&) const = default;
};
/// By kernel.
using KernelResources = std::map<std::string, ThreadResources>;

/// Of the kernels and functions of a cubin (ELF, as ptxas writes it). The bytes are not
/// trusted.
[[nodiscard]] Result<KernelResources> resources_of_cubin(std::span<const std::byte> cubin);

/// Of the kernels that a fat binary holds as machine code for exactly this GPU; empty if it holds
/// none, or a damaged one: then occupancy is estimated.
[[nodiscard]] KernelResources resources_of_fatbin(std::span<const std::byte> image,
                                                  std::uint32_t sm);

}  // namespace cuco::ptx
