// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pictures of a report, as SVG in the colours of the page's style sheet.
#pragma once

#include <string>

#include "candidate/run_state.h"
#include "report/facts.h"
#include "report/timeline/rank_timeline.h"

namespace cuco::report {

/// Seed, winner and bound as bars on one scale, what was best without children (0: no bar), and
/// what somebody else wrote.
[[nodiscard]] std::string result_picture(const candidate::Scored& winner,
                                         double best_from_seed,
                                         const std::vector<Beside>& beside);

/// One dot per candidate, the best so far as a line; the seed is at 1, rejected ones are crosses.
[[nodiscard]] std::string history_picture(const candidate::RunState& state);

/// For each timed shape: what each resource alone would take, beside the winner's and the seed's
/// time. Empty where no limits are known.
[[nodiscard]] std::string roofline_picture(const candidate::Scored& winner);

/// A lane per rank and activity, programs below each other on one scale.
[[nodiscard]] std::string timeline_picture(const Timeline& timeline);

}  // namespace cuco::report
