// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/moves.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/tokens.h"

namespace cuco::expert::kernels {

using candidate::History;
using design::KernelDesign;

namespace {

constexpr std::size_t kMostListed = 160;
constexpr double kAll = 1.2;         ///< What all that fits at once may be hoped to gain,
constexpr double kAsked = 1.1;       ///< and what the profile asks for.
constexpr double kAStepMore = 0.97;  ///< A design that is further away gains as much, at best.

}  // namespace

std::vector<Moves::Known> Moves::known_designs(const History& history) {
  std::vector<Known> known;
  for (const candidate::Judged& judged : history) {
    design::Directive communication = judged.candidate.directive;
    communication.kernel = {};
    const bool seed = judged.candidate.number == candidate::kSeed;
    const bool kernels_only = communication == design::Directive{} &&
                              !(judged.candidate.directive.kernel == KernelDesign{});
    if (!seed && !kernels_only) continue;
    const auto* scored =
        judged.outcome ? std::get_if<candidate::Scored>(&*judged.outcome) : nullptr;
    double speedup = seed ? 1 : 0;
    if (!seed && scored != nullptr && scored->seconds > 0)
      speedup = scored->baseline_seconds / scored->seconds;
    known.push_back({judged.candidate.directive.kernel, &judged, speedup});
  }
  return known;
}

const Moves::Rewritten& Moves::rewritten(const KernelDesign& design) {
  const auto [found, added] = rewritten_.try_emplace(design);
  if (added) {
    auto source = rewrite_kernels(graph_, text_, design);
    if (source) {
      found->second.source = *std::move(source);
      found->second.hash =
          program::normalised_hash(program::single_file("program.cu", found->second.source));
    } else {
      found->second.refusal = source.error().message();
    }
  }
  return found->second;
}

std::optional<Move> Moves::best_step(std::span<const Known> known, Offered& offered) {
  std::vector<Known> sorted(known.begin(), known.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Known::speedup);
  if (sorted.empty()) sorted.push_back({{}, nullptr, 1});
  // When all around the best one is known, another hill may be higher.
  constexpr std::size_t kHills = 3;
  for (std::size_t i = 0; i < std::min(kHills, sorted.size()); ++i) {
    const auto* judged = sorted[i].judged;
    const bool profiled = judged != nullptr && judged->outcome;
    const auto limit = profiled ? limit_of(*judged->outcome) : Limit::Unknown;
    for (const auto& step : steps_from(sorted[i].design, limit, facts_)) {
      if (!offered.designs.insert(step.design).second) continue;
      const auto& made = rewritten(step.design);
      // Other settings that give the same code are no other candidate.
      if (!made.refusal.empty() || !offered.hashes.insert(made.hash).second) continue;
      return Move{step.design, judged == nullptr ? candidate::kSeed : judged->candidate.number,
                  fmt::format("{}: {}", to_text(step.design), step.because), made.source};
    }
  }
  return std::nullopt;
}

const std::vector<Listed>& Moves::list(const candidate::Judged& seed) {
  const std::lock_guard lock(mutex_);
  if (!list_.empty()) return list_;
  const Limit limit = seed.outcome ? limit_of(*seed.outcome) : Limit::Unknown;
  std::set<KernelDesign> known = {{}};
  std::set<std::string> hashes = {seed.candidate.code_hash};
  const auto add_from = [&](const Listed& from, bool first) {
    for (const Step& step : steps_from(from.design, limit, facts_)) {
      if (list_.size() >= kMostListed) return;
      if (!known.insert(step.design).second) continue;
      const Rewritten& made = rewritten(step.design);
      if (!made.refusal.empty() || !hashes.insert(made.hash).second) continue;
      const bool all = list_.empty() && step.asked;
      const double promise = !first       ? kAStepMore * from.promise
                             : all        ? kAll
                             : step.asked ? kAsked
                                          : 1;
      list_.push_back({step.design, step.because, promise, made.hash});
    }
  };
  add_from({}, true);
  for (std::size_t i = 0; i < list_.size() && list_.size() < kMostListed; ++i)
    add_from(Listed(list_[i]), false);
  return list_;
}

std::string Moves::source_of(const KernelDesign& design) {
  const std::lock_guard lock(mutex_);
  return rewritten(design).source;
}

std::optional<Move> Moves::next(const History& history, int unseen) {
  const std::lock_guard lock(mutex_);
  const auto known = known_designs(history);
  Offered offered;
  for (const auto& entry : known) {
    offered.designs.insert(entry.design);
    offered.hashes.insert(entry.judged->candidate.code_hash);
    // Two designs may be one program: blocks of 256 threads, and the usual ones.
    if (!(entry.design == KernelDesign{})) offered.hashes.insert(rewritten(entry.design).hash);
  }
  // The moves that are on their way were chosen when less was known: a verdict less each.
  std::optional<Move> move;
  for (auto ago = static_cast<std::size_t>(std::max(0, unseen)) + 1; ago-- > 0;) {
    const auto seen =
        known.size() > ago ? known.size() - ago : std::min<std::size_t>(1, known.size());
    move = best_step(std::span(known).first(seen), offered);
    if (!move) break;
  }
  return move;
}

std::vector<std::string> Moves::refusals() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  // A tree has room for the threads that the program gives it.
  const KernelDesign fitted{.shuffles = facts_.together.shuffles, .fitted = true};
  for (const auto& step : {KernelDesign{.vector_bytes = 16}, KernelDesign{.shuffles = true},
                           KernelDesign{.fast_math = true}, KernelDesign{.read_only = true}, fitted,
                           KernelDesign{.threads = 512}, KernelDesign{.blocks_per_row = 8},
                           KernelDesign{.rows_per_block = 8}}) {
    const auto& made = rewritten(step);
    if (!made.refusal.empty()) found.push_back(made.refusal);
  }
  return found;
}

}  // namespace cuco::expert::kernels
