// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files as descriptors, to be passed on to jobs.
#pragma once

#include "base/result.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::system {

[[nodiscard]] Result<Fd> open_to_read(const Path& path);
/// Made, only for this user, if there is none.
[[nodiscard]] Result<Fd> open_to_append(const Path& path);

}  // namespace cuco::system
