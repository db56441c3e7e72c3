// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run's report for other readers than a browser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidate/run_state.h"
#include "report/facts.h"

namespace cuco::report {

/// For an issue, a wiki or a review: result, shapes, lineage, evidence, effort and the diff.
[[nodiscard]] std::string run_markdown(const candidate::RunState& state,
                                       std::string_view run,
                                       const std::vector<Beside>& beside = {});

/// The same as one JSON object, with every candidate's verdict instead of the diff.
[[nodiscard]] std::string run_json(const candidate::RunState& state,
                                   std::string_view run,
                                   const std::vector<Beside>& beside = {});

}  // namespace cuco::report
