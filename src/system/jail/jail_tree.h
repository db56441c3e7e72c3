// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ending every descendant of this process, with or without the kernel's help.
#pragma once

#include <sys/types.h>

#include <vector>

#include "system/jail/jail_cgroup.h"

namespace cuco::system::jail {

/// All processes below this one. It must be a subreaper, so that daemons stay below it.
[[nodiscard]] std::vector<pid_t> descendants();

/// Reaps the dead among our children and says how many descendants are alive.
[[nodiscard]] int count_alive();

/// Kills all of them and reaps until none is left. Right even against a fork bomb without cgroups:
/// what is stopped cannot fork, so stopping converges, and then all are killed.
void end_descendants(const JobCgroups& cgroups);

}  // namespace cuco::system::jail
