// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the checker spells kernels, threads and accesses.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "vgpu/gpu/observer.h"

namespace cuco::check {

/// "gemm<float>", without the arguments.
[[nodiscard]] std::string demangle(const std::string& name);
/// "(1,0,0)"
[[nodiscard]] std::string coordinates(const std::array<std::uint32_t, 3>& at);
/// The thread with that number in a block of that size.
[[nodiscard]] std::string thread_name(const std::array<std::uint32_t, 3>& size,
                                      std::uint32_t linear);
/// "read of 4 bytes"
[[nodiscard]] std::string verb(vgpu::AccessKind kind, std::uint64_t bytes);

}  // namespace cuco::check
