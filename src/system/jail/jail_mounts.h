// SPDX-License-Identifier: Apache-2.0
/// \file
/// The file system that a job sees: a new root with named paths and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "system/jobs/job.h"

namespace cuco::system::jail {

/// What compilers, loaders and mpirun need of a Debian-like system, as far as it exists.
[[nodiscard]] std::vector<Path> system_paths();

/// Replaces this process's root; needs an own mount namespace and, for /proc, an own pid namespace.
/// `user` owns the private folders and gets the writable paths; `scratch` bounds each tmpfs.
[[nodiscard]] Result<void> enter_private_root(const SandboxSpec& sandbox,
                                              std::uint32_t user,
                                              std::uint64_t scratch);

}  // namespace cuco::system::jail
