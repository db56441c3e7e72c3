// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much processor time others have used.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace cuco::system {

/// Of everything below `root` now, with what was reaped there; not of `root` itself. Read from
/// outside: no process can change what is told about it.
[[nodiscard]] std::chrono::nanoseconds cpu_time_below(pid_t root);

}  // namespace cuco::system
