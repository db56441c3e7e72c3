// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a candidate is what it is.
#pragma once

#include <string>

#include "candidate/run_state.h"

namespace cuco::report {

/// Why it was tried, what it gained over the seed by phase, what was tried around it, what was
/// checked; for a rejected one what was wrong with it.
[[nodiscard]] std::string explanation(const candidate::RunState& state, candidate::Number number);

}  // namespace cuco::report
