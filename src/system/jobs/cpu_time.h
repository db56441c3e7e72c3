// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much processor time others have used, and waited for.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace cuco::system {

/// Of all descendants of `root`, including those already reaped, without `root` itself. Read from
/// /proc, from outside: no process can falsify its own time.
[[nodiscard]] std::chrono::nanoseconds cpu_time_below(pid_t root);

/// How long one of them, the one that waited most, was ready to run and got no processor; of each
/// its first thread. Zero where the kernel does not say.
[[nodiscard]] std::chrono::nanoseconds starved_time_below(pid_t root);

}  // namespace cuco::system
