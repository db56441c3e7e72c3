// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions that CUDA provides and PTX only declares: vprintf, __assertfail, malloc, free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpu/gpu/warp.h"
#include "vgpu/lower/code.h"
#include "vgpu/memory/memory.h"

namespace cuco::vgpu {

/// Index of a built-in by its PTX name, or -1.
[[nodiscard]] std::int32_t find_builtin(std::string_view name);

/// Runs it for the active lanes; arguments and results lie in the caller's frame as the plan says.
void run_builtin(Warp& w, const Op& op, const CallPlan& plan);

/// Formats one device printf: `format` and `arguments` (packed, 8-byte slots aligned by type) are
/// addresses of the thread's memory. Bad addresses format as "(invalid)".
[[nodiscard]] std::string format_device_printf(
    Warp& w, const Op& op, unsigned lane, Address format, Address arguments);

}  // namespace cuco::vgpu
