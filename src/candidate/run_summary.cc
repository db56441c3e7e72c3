// SPDX-License-Identifier: Apache-2.0
#include "candidate/run_summary.h"

namespace cuco::candidate {
namespace {

void set_verdict(const Outcome& outcome, Rung rung, CandidateSummary* candidate) {
  candidate->rung = rung;
  candidate->verdict = verdict(outcome);
  candidate->text = summary(outcome);
  const auto* scored = std::get_if<Scored>(&outcome);
  candidate->seconds = scored == nullptr ? 0 : scored->seconds;
  candidate->baseline_seconds = scored == nullptr ? 0 : scored->baseline_seconds;
  candidate->bound_seconds = scored == nullptr ? 0 : scored->bound_seconds;
  candidate->hardware = scored == nullptr ? "" : scored->hardware;
}

struct Apply {
  RunSummary& run;

  CandidateSummary* candidate(Number number) {
    const auto index = static_cast<std::size_t>(number);
    return number >= 0 && index < run.candidates.size() ? &run.candidates[index] : nullptr;
  }

  void operator()(const RunStarted& event) {
    run.workload = event.workload;
    run.target = event.target;
    run.hardware = event.hardware;
    run.seed = event.seed;
    run.started_ms = run.last_ms;
  }
  void operator()(const Proposed& event) {
    if (event.candidate.number != static_cast<Number>(run.candidates.size())) return;
    run.candidates.push_back(summary_of(event));
    run.finished.reset();
  }
  void operator()(const Evaluated& event) {
    if (auto* known = candidate(event.candidate)) add_verdict(event, known);
  }
  void operator()(const BestChanged& event) {
    if (candidate(event.candidate) != nullptr) run.best = event.candidate;
  }
  void operator()(const RunFinished& event) { run.finished = event.reason; }
  template <typename Other>
  void operator()(const Other& /*event*/) {}
};

}  // namespace

CandidateSummary summary_of(const Proposed& proposed) {
  const Candidate& candidate = proposed.candidate;
  CandidateSummary made{.number = candidate.number,
                        .parent = candidate.lineage.parent,
                        .proposer = candidate.lineage.proposer,
                        .island = candidate.lineage.island,
                        .phase = candidate.lineage.phase,
                        .directive = design::to_text(candidate.directive),
                        .because = candidate.lineage.because,
                        .code_hash = candidate.code_hash};
  if (proposed.rejected) set_verdict(*proposed.rejected, Rung{}, &made);
  return made;
}

void add_verdict(const Evaluated& evaluated, CandidateSummary* candidate) {
  candidate->wall_seconds += evaluated.wall_seconds;
  if (candidate->rung && evaluated.rung < *candidate->rung) return;
  set_verdict(evaluated.outcome, evaluated.rung, candidate);
}

void apply(const Event& event, RunSummary* summary) {
  summary->last_ms = event.time_ms;
  std::visit(Apply{*summary}, event.body);
}

RunSummary summarise(const std::vector<Event>& events) {
  RunSummary summary;
  for (const Event& event : events)
    apply(event, &summary);
  return summary;
}

}  // namespace cuco::candidate
