// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tables and texts of a run's page.
#pragma once

#include <string>

#include "candidate/run_state.h"
#include "report/facts.h"

namespace cuco::report {

[[nodiscard]] std::string tiles(const candidate::RunState& state);
[[nodiscard]] std::string asked_table(const candidate::RunState& state);
[[nodiscard]] std::string lineage_table(const candidate::RunState& state, candidate::Number number);
[[nodiscard]] std::string shapes_table(const candidate::Scored& scored, const std::string& error);
/// The winner beside drawing at random, the best that was made from the seed, and what somebody
/// else wrote; may be empty.
[[nodiscard]] std::string simpler_ways(const candidate::RunState& state,
                                       const std::vector<Beside>& beside);
/// What the winner has shown, and what became of those that did not.
[[nodiscard]] std::string evidence(const candidate::RunState& state,
                                   const candidate::Entry* winner);
/// Empty where nothing was timed on both.
[[nodiscard]] std::string measured_table(const candidate::RunState& state);
[[nodiscard]] std::string effort_text(const candidate::RunState& state);
/// All of them; of very many the fastest.
[[nodiscard]] std::string candidates_table(const candidate::RunState& state);
[[nodiscard]] std::string diff_listing(std::string_view unified);
[[nodiscard]] std::string steps_table(const candidate::RunState& state);

}  // namespace cuco::report
