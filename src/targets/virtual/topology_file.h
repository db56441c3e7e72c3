// SPDX-License-Identifier: Apache-2.0
/// \file
/// The description of a cluster, by what people call it.
#pragma once

#include <string>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::targets {

/// A file, or the name of one that is shipped in topology/.
[[nodiscard]] Result<system::Path> find_topology(const std::string& name);

}  // namespace cuco::targets
