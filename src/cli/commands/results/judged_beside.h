// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that are no candidates of a run, judged as its winner was: what a person wrote by hand.
#pragma once

#include <vector>

#include "candidate/run_state.h"
#include "report/facts.h"
#include "system/os/files.h"

namespace cuco::cli {

/// At the winner's fidelity, on its target, by the same judge. NotFound: there is no winner.
[[nodiscard]] Result<std::vector<report::Beside>> judge_beside(
    const candidate::RunState& state, const std::vector<system::Path>& files);

}  // namespace cuco::cli
