// SPDX-License-Identifier: Apache-2.0
/// \file
/// A finished or running run at rest: its table, one candidate, and why a candidate is what it is.
#pragma once

#include <string>
#include <vector>

#include "candidate/run_state.h"

namespace cuco::report {

using Row = std::vector<std::string>;

/// One run in `cuco runs`: workload, state, candidates, best, directive.
[[nodiscard]] Row run_row(std::string_view run, const candidate::RunState& state);

/// The candidates of a run, one row each: number, verdict or time, directive, parent, proposer.
[[nodiscard]] std::vector<Row> candidate_rows(const candidate::RunState& state);

/// Everything about one candidate: lineage, verdicts, exchanges, and the diff against its parent
/// (or the seed, where the parent has no program).
[[nodiscard]] std::string candidate_text(const candidate::RunState& state,
                                         candidate::Number number);

/// Why it was tried, what it gained over the seed by phase, what was tried around it, what was
/// checked.
[[nodiscard]] std::string explanation(const candidate::RunState& state, candidate::Number number);

}  // namespace cuco::report
