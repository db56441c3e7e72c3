// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/results/judged_beside.h"

#include <fmt/format.h>

#include "cli/commands/results/recorded_timeline.h"
#include "cli/journey/journey.h"
#include "report/progress.h"

namespace cuco::cli {

Result<std::vector<report::Beside>> judge_beside(const candidate::RunState& state,
                                                 const std::vector<system::Path>& files) {
  std::vector<report::Beside> list;
  if (files.empty()) return list;
  const candidate::Entry* best = report::winner(state);
  if (best == nullptr || !state.started)
    return Error{ErrorKind::NotFound, "--beside: the run has no winner to compare with"};
  const program::Source& seed = state.entries.front().candidate.source;
  if (seed.files().size() != 1)
    return Error{ErrorKind::InvalidInput, "--beside: the run's program has several files"};
  CUCO_TRY(check_seed(state));
  std::vector<std::string> texts;
  for (const system::Path& file : files) {
    CUCO_TRY_ASSIGN(std::string text, system::read_file(file, 4U << 20U));
    texts.push_back(std::move(text));
  }
  CUCO_TRY_ASSIGN(const JourneyOptions options, parse_journey_options(state.started->options));
  const auto fidelity = best->outcomes.rbegin()->first.fidelity;
  const auto use = [&](const Subject&, candidate::Evaluator& evaluator) -> Result<ExitCode> {
    for (std::size_t i = 0; i < files.size(); ++i) {
      candidate::Candidate made;
      made.source = program::single_file(seed.files().front().path, std::move(texts[i]));
      CUCO_TRY_ASSIGN(auto outcome, evaluator.evaluate(made, {.fidelity = fidelity}));
      list.push_back({files[i].filename().string(), std::move(outcome)});
    }
    return ExitCode::Done;
  };
  CUCO_TRY(with_judge(options, use));
  return list;
}

}  // namespace cuco::cli
