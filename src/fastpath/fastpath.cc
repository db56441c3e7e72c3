// SPDX-License-Identifier: Apache-2.0
#include "fastpath/fastpath.h"

#include <fmt/format.h>

#include "base/text.h"
#include "program/regions.h"

namespace cuco::fastpath {
namespace {
using candidate::kSeed;
using candidate::Number;
using candidate::Run;
using candidate::Rung;

constexpr std::string_view kPhase = "fast path";

/// Asks until a candidate passes, first to go on from `parent`. `accept` may add a reason against a
/// candidate that is correct.
Result<std::optional<Number>> pass(Run& run,
                                   const std::string& step,
                                   candidate::Proposer& proposer,
                                   int attempts,
                                   Number parent,
                                   const std::function<Result<std::string>(Number)>& accept) {
  const Rung rung{run.evaluator().target().kind, candidate::Fidelity::Quick};
  std::string reason = "no proposal";
  std::vector<std::string> notes;
  for (int i = 0; i < attempts && !run.stop_requested(); ++i) {
    CUCO_TRY_ASSIGN(const std::optional<Number> number,
                    run.ask(proposer, {.phase = std::string(kPhase),
                                       .operation = i == 0 ? candidate::Operation::Rewrite
                                                           : candidate::Operation::Repair,
                                       .parent = parent,
                                       .notes = notes}));
    if (!number) break;
    const auto outcome = run.evaluate(*number, rung);
    reason = outcome ? candidate::summary(*outcome) : outcome.error().message();
    if (outcome && std::holds_alternative<candidate::Scored>(*outcome)) {
      CUCO_TRY_ASSIGN(std::string objection, accept(*number));
      if (objection.empty()) {
        CUCO_TRY(run.record_step({step, true, reason}));
        return number;
      }
      reason = std::move(objection);
      notes = {fmt::format("#{} is correct, but this is not enough: {}", *number, reason)};
    }
    parent = *number;
  }
  // A step that was interrupted has not failed: it is taken again when the run is resumed.
  if (!run.stop_requested()) CUCO_TRY(run.record_step({step, false, reason}));
  return std::optional<Number>();
}

std::string annotation(const program::Source& source) {
  std::vector<std::string> names;
  for (const auto& file : source.files()) {
    const auto regions = program::find_regions(file.text);
    if (!regions) return {};
    for (const auto& region : *regions)
      names.push_back(region.name);
  }
  return names.empty() ? "the whole program may change" : "may change: " + join(names, ", ");
}

}  // namespace

Result<std::optional<Number>> walk(Run& run, const FastPath& path) {
  std::optional<Number> prepared = kSeed;
  if (path.infrastructure != nullptr) {
    CUCO_TRY_ASSIGN(prepared,
                    pass(run, "infrastructure", *path.infrastructure, path.attempts, kSeed,
                         [](Number) { return Result<std::string>(std::string()); }));
    if (!prepared) return prepared;
  }
  const auto no_collective = [&](Number number) -> Result<std::string> {
    CUCO_TRY_ASSIGN(const std::vector<std::string> left,
                    path.host_collectives(run.entry(number).candidate.source));
    if (left.empty()) return std::string();
    return fmt::format("the host still calls {}", join(left, ", "));
  };
  CUCO_TRY_ASSIGN(const std::optional<Number> replaced,
                  pass(run, "replace", *path.replacement, path.attempts, *prepared, no_collective));
  if (!replaced) return replaced;
  const auto marked = annotation(run.entry(*replaced).candidate.source);
  CUCO_TRY(run.record_step({"annotate", !marked.empty(), marked}));
  return replaced;
}

}  // namespace cuco::fastpath
