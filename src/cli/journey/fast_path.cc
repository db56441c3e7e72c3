// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/fast_path.h"

#include <algorithm>

#include "analysis/walk/known_calls.h"
#include "expert/expert.h"
#include "fastpath/fastpath.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

Result<expert::FastPathIdeas> steps_for(const Situation& situation) {
  if (situation.own.fast_path) return *situation.own.fast_path;
  return Error{ErrorKind::InvalidInput, situation.own.discarded.empty()
                                            ? "the expert has no design for it"
                                            : situation.own.discarded.front().reason};
}

/// A program without has nothing to move: no step is taken, and nothing is wrong. The text is
/// asked, not the analysis, which may have missed something; a header or a type alone moves
/// nothing.
bool names_communication(const std::string& text) {
  return std::ranges::any_of(program::identifiers(text), [](const program::Identifier& found) {
    const auto* known = analysis::known_call(found.name);
    return known != nullptr && known->kind == analysis::OperationKind::Communicate;
  });
}

}  // namespace

Result<void> walk_fast_path(candidate::Run& run,
                            const Situation& situation,
                            const ProposerSet& proposers,
                            search::SearchOptions* race) {
  fastpath::FastPath path;
  std::optional<expert::Expert> infrastructure;
  std::optional<expert::Expert> replacement;
  if (proposers.expert != nullptr) {
    if (!names_communication(situation.subject.program)) return {};
    auto ideas = steps_for(situation);
    if (!ideas) return run.record_step({"infrastructure", false, ideas.error().message()});
    path.infrastructure =
        &infrastructure.emplace(expert::Ideas{{ideas->infrastructure}, {}, nullptr}, "program.cu");
    path.replacement =
        &replacement.emplace(expert::Ideas{ideas->replacements, {}, nullptr}, "program.cu");
  } else {
    if (situation.graph.collectives.empty()) return {};
    path.replacement = proposers.proposers.front().get();
    // Its tries are candidates like all others; the seed is one.
    path.attempts = std::min(path.attempts, race->budget.candidates - 1);
    if (path.attempts < 1) return {};
  }
  // The replacement counts only if no host collective is left in it: ask the parser, not the
  // proposer.
  path.host_collectives = [&](const program::Source& source) -> Result<std::vector<std::string>> {
    CUCO_TRY_ASSIGN(const auto rewritten, situation.read(source.find("program.cu")->text));
    std::vector<std::string> names;
    for (const auto& collective : rewritten.collectives)
      names.push_back(collective.name);
    return names;
  };
  CUCO_TRY_ASSIGN(const auto made, fastpath::walk(run, path));
  if (!made) return {};
  race->start = *made;
  const candidate::Rung rung{run.evaluator().target().kind, candidate::Fidelity::Quick};
  CUCO_TRY_ASSIGN(const bool faster, run.is_faster(*made, candidate::kSeed, rung));
  if (!faster) return {};
  race->incumbent = *made;
  return run.set_best(*made);
}

}  // namespace cuco::cli
