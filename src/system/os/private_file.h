// SPDX-License-Identifier: Apache-2.0
/// \file
/// Secrets: files that only their owner can read, and processes that leave no picture of their
/// memory.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::system {

/// Reads a file that belongs to this user (or to root) and that nobody else can read or write
/// (mode 600 or less). InvalidInput otherwise, with the command that mends it.
[[nodiscard]] Result<std::string> read_private_file(const Path& path, std::size_t limit);

/// From here on this process leaves no core file, and other processes of the user cannot read its
/// memory.
void forbid_memory_pictures();

}  // namespace cuco::system
