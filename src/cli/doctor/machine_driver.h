// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asks the CUDA driver, where there is one.
#pragma once

#include <optional>

#include "cli/doctor/machine.h"

namespace cuco::cli {

/// Nothing if there is no driver or it does not start.
[[nodiscard]] std::optional<DriverFacts> inspect_driver();

}  // namespace cuco::cli
