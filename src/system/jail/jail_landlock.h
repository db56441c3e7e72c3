// SPDX-License-Identifier: Apache-2.0
/// \file
/// Landlock: the kernel's own list of which files a process may touch, by system call.
#pragma once

#include <span>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::system::jail {

/// The kernel's Landlock version; 0 where there is none.
[[nodiscard]] int landlock_version();

/// From here on this process and its children may read and execute below `read_only`, do all below
/// `writable`, and touch no other file; nor signal, nor reach by abstract socket, any process
/// outside (version 6). Paths that do not exist are skipped. Needs no_new_privs.
[[nodiscard]] Result<void> restrict_files(std::span<const Path> read_only,
                                          std::span<const Path> writable);

}  // namespace cuco::system::jail
