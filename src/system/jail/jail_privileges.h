// SPDX-License-Identifier: Apache-2.0
/// \file
/// Giving up power: the user, the capabilities, the way back, and the per-process limits.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "system/jobs/job.h"

namespace cuco::system::jail {

/// Becomes `user` with no groups and no capabilities, for ever.
[[nodiscard]] Result<void> become(std::uint32_t user);

/// Gives up capabilities and the way to get any, keeping the user.
[[nodiscard]] Result<void> drop_capabilities();

[[nodiscard]] Result<void> set_no_new_privileges();

/// Sets the limits that are per process. The job-wide ones (memory, processes) are set here too
/// where no cgroup does it: each process alone, which is weaker.
[[nodiscard]] Result<void> set_limits(const Limits& limits, bool own_memory, bool own_processes);

}  // namespace cuco::system::jail
