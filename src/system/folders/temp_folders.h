// SPDX-License-Identifier: Apache-2.0
/// \file
/// Temporary folders of processes that were killed.
#pragma once

#include <ctime>

#include "system/os/files.h"

namespace cuco::system {

/// Removes the folders of TempFolder below `where` that have no living owner and have not changed
/// for so long: a folder is not locked yet when it is made. The first TempFolder of a process does
/// so where it is made.
void remove_abandoned_folders(const Path& where, std::time_t young_seconds);

}  // namespace cuco::system
