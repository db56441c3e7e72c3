// SPDX-License-Identifier: Apache-2.0
/// \file
/// This machine's own GPU as a target, for one rank.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "targets/target.h"

namespace cuco::targets {

/// The GPU's name, or why this machine has none that can be used.
[[nodiscard]] Result<std::string> probe_gpu();

[[nodiscard]] Result<std::unique_ptr<Target>> start_gpu_target();

}  // namespace cuco::targets
