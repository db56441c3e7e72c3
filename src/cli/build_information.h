// SPDX-License-Identifier: Apache-2.0
/// \file
/// What this program was built from, and with what.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cuco::cli {

/// "commit" and "1a2b3c4", "compiler" and "GNU 12.2.0", ... in the order in which they are shown.
/// "unknown" and "none" stand for what the build could not find out.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> build_information();

}  // namespace cuco::cli
