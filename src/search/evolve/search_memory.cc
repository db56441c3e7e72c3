// SPDX-License-Identifier: Apache-2.0
#include "search/evolve/search_memory.h"

#include <algorithm>
#include <cmath>

namespace cuco::search {
namespace {
using candidate::Number;
using candidate::Outcome;
using candidate::PlanNumber;

constexpr int kMostRepairs = 2;  ///< In a row.
constexpr std::size_t kMostNearMisses = 16;

/// With few candidates more islands would only divide them.
int islands_for(const Policy& policy, int budget) {
  if (policy.islands > 0) return policy.islands;
  return budget < 24 ? 1 : budget < 120 ? 2 : 4;
}

IslandRules island_rules(const Policy& policy, int budget) {
  return {.count = islands_for(policy, budget),
          .migration = policy.migration,
          .stagnation = policy.islands == 1 ? 0 : policy.stagnation};
}

/// Its finding says what is wrong, and code is there to mend.
bool can_be_mended(const Outcome& outcome) {
  return std::holds_alternative<candidate::BuildFailed>(outcome) ||
         std::holds_alternative<candidate::Crashed>(outcome) ||
         std::holds_alternative<candidate::Deadlock>(outcome) ||
         std::holds_alternative<candidate::WrongResult>(outcome) ||
         std::holds_alternative<candidate::Findings>(outcome) ||
         std::holds_alternative<candidate::ScreenRejected>(outcome);
}

double tokens_of(const candidate::Entry& entry) {
  double tokens = 0;
  for (const auto& exchange : entry.exchanges)
    tokens += exchange.prompt_tokens + exchange.answer_tokens;
  return tokens;
}

}  // namespace

Memory::Memory(candidate::Run& run,
               candidate::Rung rung,
               const Policy& policy,
               int budget,
               DesignForecast::Prior prior)
    : islands(island_rules(policy, budget)),
      run_(run),
      rung_(rung),
      policy_(policy),
      prior_(std::move(prior)),
      speed_(run, rung) {}

double Memory::fitness(Number number) const {
  return speed_.of(number);
}

std::optional<Member> Memory::member(Number number) const {
  for (const candidate::Rung rung : {speed_.full(), rung_}) {
    if (const candidate::Scored* scored = run_.scored(number, rung)) {
      const auto& directive = run_.entry(number).candidate.directive;
      return Member{number, cell_of(directive, *scored, run_.scored(candidate::kSeed, rung)),
                    fitness(number)};
    }
  }
  return std::nullopt;
}

Result<void> Memory::start() {
  reassess();
  std::vector<Member> survivors;
  for (Number number = candidate::kSeed + 1; number < run_.candidates(); ++number) {
    if (auto known = member(number)) survivors.push_back(*known);
    CUCO_TRY(take_plan(number, std::nullopt));
  }
  islands.start_from(std::move(survivors));
  return {};
}

void Memory::begin(const Pending& pending, Number parent) {
  ++children_[parent];
  bandit.begin(pending.arm);
  if (pending.follows) plans.begin(*pending.follows);
}

void Memory::abandon(const Pending& pending) {
  bandit.abandon(pending.arm);
  if (pending.follows) plans.abandon(*pending.follows);
}

Result<void> Memory::see(const Pending& pending, Number number) {
  const candidate::Entry& entry = run_.entry(number);
  const auto known = member(number);
  const double reached = known ? known->fitness : 0;
  // By the name that is stored: in a resumed run somebody else may have been asked.
  Arm arm = pending.arm;
  if (!entry.candidate.lineage.proposer.empty()) arm.proposer = entry.candidate.lineage.proposer;
  if (arm != pending.arm) bandit.abandon(pending.arm);
  if (arm != pending.arm) bandit.begin(arm);
  learn_design(number);
  const auto parent = entry.candidate.lineage.parent;
  const double before = std::max({parent ? fitness(*parent) : 1.0, pending.promise, 1.0});
  bandit.end(arm, reached > before ? std::log(reached / before) : 0, tokens_of(entry));
  if (pending.follows) plans.end(*pending.follows, reached);
  islands.see(pending.island, known);
  CUCO_TRY(take_plan(number, pending.follows));
  if (pending.made && !known && !entry.was_skipped()) CUCO_TRY(keep_open(*pending.made, number));
  if (!known) take_failure(number, pending);
  return {};
}

Result<void> Memory::keep_open(candidate::Plan plan, Number number) {
  if (!policy_.plans || plans.find(plan.directive) != nullptr) return {};
  CUCO_TRY_ASSIGN(const PlanNumber stored, store(std::move(plan)));
  plans.implemented(stored, number, 0);
  return {};
}

void Memory::learn_design(Number number) {
  const candidate::Entry& entry = run_.entry(number);
  if (entry.candidate.source.empty() || entry.latest() == nullptr || entry.was_skipped()) return;
  designs.learn(entry.candidate.directive, number, fitness(number));
}

Result<PlanNumber> Memory::store(candidate::Plan plan) {
  // What nobody could implement is nothing to go on from.
  if (plan.parent && !plans[*plan.parent].best) plan.parent = plans[*plan.parent].plan.parent;
  CUCO_TRY_ASSIGN(plan.number, run_.record_plan(plan));
  const PlanNumber number = plan.number;
  plans.add(std::move(plan));
  return number;
}

Result<void> Memory::take_plan(Number number, std::optional<PlanNumber> follows) {
  const candidate::Candidate& candidate = run_.entry(number).candidate;
  if (!policy_.plans || candidate.source.empty() || run_.entry(number).was_skipped()) return {};
  const PlanBook::Node* known = plans.find(candidate.directive);
  PlanNumber plan = 0;
  if (known != nullptr) {
    plan = known->plan.number;
  } else {
    CUCO_TRY_ASSIGN(plan, store({.parent = follows,
                                 .directive = candidate.directive,
                                 .reason = candidate.lineage.because}));
  }
  plan_of_[number] = plan;
  plans.implemented(plan, number, fitness(number));
  return {};
}

void Memory::take_failure(Number number, const Pending& pending) {
  const candidate::Entry& entry = run_.entry(number);
  const Outcome* outcome = entry.latest();
  if (outcome == nullptr || entry.candidate.source.empty() || entry.was_skipped()) return;
  failures_[region_of(entry.candidate.directive)] = number;
  if (!can_be_mended(*outcome) || pending.repairs >= kMostRepairs) return;
  const auto parent = entry.candidate.lineage.parent;
  near_misses_.push_back({number, pending.island, pending.repairs, parent ? fitness(*parent) : 1.0,
                          std::holds_alternative<candidate::BuildFailed>(*outcome)});
  if (near_misses_.size() > kMostNearMisses) near_misses_.erase(near_misses_.begin());
}

void Memory::reassess() {
  speed_.learn();
  designs = DesignForecast(prior_);
  designs.learn(run_.entry(candidate::kSeed).candidate.directive, candidate::kSeed, 1);
  for (Number number = candidate::kSeed + 1; number < run_.candidates(); ++number)
    learn_design(number);
  for (std::size_t i = 0; i < islands.size(); ++i) {
    for (const Member& old : islands[i].archive.members()) {
      if (const auto known = member(old.number)) islands.reassess(*known);
    }
  }
}

std::optional<NearMiss> Memory::take_near_miss() {
  if (near_misses_.empty()) return std::nullopt;
  const auto best = std::max_element(
      near_misses_.begin(), near_misses_.end(), [](const NearMiss& a, const NearMiss& b) {
        return std::pair(a.slip, a.promise) < std::pair(b.slip, b.promise);
      });
  const NearMiss taken = *best;
  near_misses_.erase(best);
  return taken;
}

bool Memory::has_slip() const {
  return std::ranges::any_of(near_misses_, &NearMiss::slip);
}

int Memory::children(Number number) const {
  const auto found = children_.find(number);
  return found == children_.end() ? 0 : found->second;
}

std::optional<PlanNumber> Memory::plan_of(Number number) const {
  const auto found = plan_of_.find(number);
  return found == plan_of_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Number> Memory::failure_in(const Region& region) const {
  const auto found = failures_.find(region);
  return found == failures_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace cuco::search
