// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much processor time others have used.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace cuco::system {

/// Of all descendants of `root`, including those already reaped, without `root` itself. Read from
/// /proc, from outside: no process can falsify its own time.
[[nodiscard]] std::chrono::nanoseconds cpu_time_below(pid_t root);

}  // namespace cuco::system
