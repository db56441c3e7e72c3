// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs as self-contained HTML pages without scripts, to be opened, served or sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidate/run_state.h"
#include "report/facts.h"
#include "report/timeline/rank_timeline.h"

namespace cuco::report {

struct PageOptions {
  std::string run;                                  ///< "0003".
  std::string state;                                ///< "running", "finished: …".
  bool live = false;                                ///< Reload every few seconds.
  std::optional<Timeline> timeline = std::nullopt;  ///< Of seed and winner, where it was recorded.
  std::vector<Beside> beside = {};                  ///< What somebody else wrote.
};

/// One run: what was asked, the result against baseline and bound, how it was found, what was
/// checked, every candidate with its verdict, the winner's diff against the seed.
[[nodiscard]] std::string run_page(const candidate::RunState& state, const PageOptions& options);

struct ListedRun {
  std::string name;
  std::string state;
  std::string when;
  candidate::RunState run;
};

/// All runs, with links to /runs/NAME.
[[nodiscard]] std::string index_page(const std::vector<ListedRun>& runs);

/// A page that says what is wrong.
[[nodiscard]] std::string problem_page(const std::string& problem);

}  // namespace cuco::report
