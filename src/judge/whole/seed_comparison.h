// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run of a whole program beside its seed's: how it ended, what it printed and what it brought
/// back from the devices, numbers with a tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/whole/closeness.h"
#include "targets/virtual/kept_run.h"

namespace cuco::judge {

/// What workload.toml says about copies of one size, or about all.
struct DeclaredCopies {
  std::optional<std::uint64_t> bytes;  ///< Absent: all that no other entry is about.
  std::optional<ElementType> type;     ///< Absent: it is found out.
  std::optional<double> reduction;     ///< Terms of the longest sum; absent: what is usual.
};

struct ComparisonRules {
  bool exact = false;  ///< Everything bit by bit.
  int ranks = 1;
  std::vector<DeclaredCopies> declared;
};

/// What the two do not have in common, a line each; empty: nothing.
[[nodiscard]] Result<std::vector<std::string>> compare_with_seed(const targets::KeptRun& seed,
                                                                 const targets::KeptRun& run,
                                                                 const ComparisonRules& rules);

/// How the seed's copies are compared: "3 copies: 2 as fp32, 1 bit by bit".
[[nodiscard]] Result<std::string> describe_copies(const targets::KeptRun& seed,
                                                  const ComparisonRules& rules);

}  // namespace cuco::judge
