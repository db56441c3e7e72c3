// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plan: what to try and why, apart from the code that tries it. A plan outlives an implementation
/// that failed: it is tried again, with what was found, or by somebody else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "design/directive.h"

namespace cuco::candidate {

/// Numbered from 0 within a run, in the order in which they came up.
using PlanNumber = int;
inline constexpr PlanNumber kNotStored = -1;  ///< It is stored with what its first try gave.

struct Plan {
  PlanNumber number = 0;
  std::optional<PlanNumber> parent;  ///< Whose implementation it goes on from; nothing: the seed's.
  design::Directive directive;
  std::string reason;
  double expected_gain = 1;  ///< Speed-up over what it goes on from.
  std::vector<std::string> preconditions;
  bool operator==(const Plan&) const = default;
};

}  // namespace cuco::candidate
