// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tenth of a long list of cases: what CI can afford for each commit.
#pragma once

#include <string>
#include <vector>

namespace cuco::tests {

/// Those of the names that belong to tenth `which` (0 to 9), sorted. Drawn by a hash of the name
/// that never changes: each name is in exactly one tenth, and the tenths are alike in size.
[[nodiscard]] std::vector<std::string> tenth_of(std::vector<std::string> names, int which);

/// The tenth that CUCO_TENTH names; without it, all.
[[nodiscard]] std::vector<std::string> chosen_tenth(std::vector<std::string> names);

}  // namespace cuco::tests
