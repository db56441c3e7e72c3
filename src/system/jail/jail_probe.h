// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which fences this machine has, found out by trying.
#pragma once

#include <vector>

#include "system/jobs/process.h"

namespace cuco::system::jail {

[[nodiscard]] std::vector<FenceReport> probe();

}  // namespace cuco::system::jail
