// SPDX-License-Identifier: Apache-2.0
/// \file
/// The descriptions of clusters and GPUs, by what people call them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "system/os/files.h"

namespace cuco::targets {

/// What is shipped in "topology" or "hardware": the names without ".toml", sorted.
[[nodiscard]] std::vector<std::string> machine_names(const std::string& folder);

/// A file, or the name of one that is shipped in topology/.
[[nodiscard]] Result<system::Path> find_topology(const std::string& name);

/// The same for hardware/.
[[nodiscard]] Result<system::Path> find_hardware(const std::string& name);

}  // namespace cuco::targets
