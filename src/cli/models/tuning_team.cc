// SPDX-License-Identifier: Apache-2.0
#include "cli/models/tuning_team.h"

#include <deque>

#include <fmt/format.h>

#include "agents/advice.h"
#include "base/assert.h"
#include "base/text.h"
#include "search/tune/tuning.h"
#include "workload/draw.h"

namespace cuco::cli {
namespace {

/// The shapes that a tester's answer names become part of what is checked.
Result<std::string> add_shapes(const std::string& answer, const Subject& subject) {
  CUCO_TRY_ASSIGN(const auto proposed, agents::read_shapes(answer));
  std::vector<std::string> names;
  std::string refused;
  for (const auto& params : proposed) {
    auto shape = workload::proposed_shape(*subject.workload, params);
    if (!shape) {
      refused = shape.error().message();
      continue;
    }
    names.push_back(shape->name);
    subject.add_check_shape(*std::move(shape));
  }
  if (names.empty()) return Error{ErrorKind::Protocol, refused};
  return fmt::format("also checked: {}", join(names, ", "));
}

}  // namespace

Result<search::SearchResult> tune_program(candidate::Run& run,
                                          const JourneyOptions& options,
                                          const Situation& situation,
                                          const ProposerSet& proposers) {
  CUCO_ASSERT(proposers.proposers.size() == 1);
  search::Team team{.coder = proposers.proposers.front().get()};
  std::deque<agents::RoleAdvisor> advisors;
  if (!proposers.questioners.empty()) {
    const agents::Questioner& questioner = *proposers.questioners.front();
    const auto advisor = [&](std::string_view role) -> candidate::Advisor* {
      return &advisors.emplace_back(questioner, *agents::find_role(role));
    };
    const Subject& subject = situation.subject;
    if (subject.add_check_shape) team.tester = advisor("tester");
    team.profiler = advisor("profiler");
    team.planner = advisor("planner");
    team.explainer = advisor("explainer");
    team.summariser = advisor("summariser");
    team.read_plans = [&questioner](const std::string& answer) {
      return agents::read_plans(answer, questioner.problem());
    };
    team.read_words = [](const std::string& answer) { return agents::read_words(answer); };
    team.read_notes = [](const std::string& answer) { return agents::read_notes(answer); };
    team.add_shapes = [&subject](const std::string& answer) { return add_shapes(answer, subject); };
  }
  CUCO_TRY_ASSIGN(const search::TuneResult tuned,
                  search::tune(run, team, {.rounds = options.rounds}));
  return search::SearchResult{.winner = tuned.winner, .reason = tuned.reason};
}

}  // namespace cuco::cli
