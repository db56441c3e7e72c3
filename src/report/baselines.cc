// SPDX-License-Identifier: Apache-2.0
#include "report/baselines.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;

constexpr double kAsFast = 0.99;
constexpr int kLeastCandidates = 6;
constexpr std::string_view kFastPath = "fast path";

/// On full shapes; 0: it was not judged there, or is not correct.
double full_speedup(const Entry& entry) {
  double speedup = 0;
  for (const auto& [rung, outcome] : entry.outcomes) {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    if (scored == nullptr) return 0;
    if (rung.fidelity >= candidate::Fidelity::Scaled && scored->seconds > 0)
      speedup = scored->baseline_seconds / scored->seconds;
  }
  return speedup;
}

/// Draws without putting back until it is as likely as not that one of the `hits` of `all` came.
int median_draws(int all, int hits) {
  double missed = 1;
  for (int draws = 1; draws <= all; ++draws) {
    missed *= std::max(0.0, static_cast<double>(all - hits - draws + 1)) / (all - draws + 1);
    if (missed <= 0.5) return draws;
  }
  return all;
}

}  // namespace

Baselines baselines(const candidate::RunState& state) {
  Baselines made;
  const Entry* best = winner(state);
  if (best == nullptr) return made;
  const double wanted = kAsFast * full_speedup(*best);
  int hits = 0;
  for (const Entry& entry : state.entries) {
    const auto& lineage = entry.candidate.lineage;
    if (entry.candidate.number == candidate::kSeed || lineage.phase == kFastPath) continue;
    ++made.candidates;
    const double speedup = full_speedup(entry);
    if (lineage.parent.value_or(candidate::kSeed) == candidate::kSeed) {
      ++made.from_start;
      made.best_from_start = std::max(made.best_from_start, speedup);
    }
    if (speedup < wanted) continue;
    ++hits;
    if (made.found_at == 0) made.found_at = made.candidates;
  }
  if (hits > 0) made.drawn_at = median_draws(made.candidates, hits);
  return made;
}

double best_from_start_seconds(const candidate::RunState& state) {
  const Baselines made = baselines(state);
  if (made.best_from_start <= 0 || made.from_start >= made.candidates) return 0;
  const auto& lineage = winner(state)->candidate.lineage;
  if (lineage.parent.value_or(candidate::kSeed) == candidate::kSeed) return 0;
  return winner(state)->scored()->baseline_seconds / made.best_from_start;
}

std::string baselines_text(const Baselines& baselines) {
  if (baselines.found_at == 0 || baselines.candidates < kLeastCandidates) return {};
  std::string text = fmt::format(
      "as fast as the winner within 1 % after {} of {} candidates; drawn at random from the same, "
      "after {} (median)",
      baselines.found_at, baselines.candidates, baselines.drawn_at);
  if (baselines.from_start > 0 && baselines.from_start < baselines.candidates &&
      baselines.best_from_start > 0) {
    text += fmt::format("; best of the {} made from the seed: {:.2f}x", baselines.from_start,
                        baselines.best_from_start);
  }
  return text;
}

}  // namespace cuco::report
