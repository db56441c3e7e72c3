// SPDX-License-Identifier: Apache-2.0
#include "search/evolve/evolution.h"

#include <algorithm>

#include <fmt/format.h>

#include "search/evolve/notes.h"
#include "search/selection/parents.h"

namespace cuco::search {
namespace {
using candidate::Number;
using candidate::Operation;

constexpr std::string_view kExplore = "explore";
constexpr std::string_view kExploit = "exploit";
constexpr std::size_t kMostInspirations = 3;

constexpr std::size_t kLeastDesigns = 12;  ///< Fewer are no ground for turning anything down.
constexpr double kHopeless = 0.6;          ///< Of the leader's speed, at best.
constexpr double kAudited = 0.25;          ///< Are judged whatever is expected.

/// Its answer may be of any design; what others do keeps the parent's, and is no news.
bool makes_designs(Operation operation) {
  return operation == Operation::Rewrite || operation == Operation::Jump;
}

bool is_free(const candidate::Entry& entry) {
  return entry.was_skipped() && entry.exchanges.empty();
}

constexpr int kForWholeRounds = 32;  ///< A smaller budget has smaller rounds.

/// Whoever has few tries has to hear what full shapes say of one before the next.
int decisions_of_round(int budget, int window, int most) {
  return std::min(std::max({budget * most / kForWholeRounds, window, 1}), most);
}

void add_once(Number number, const candidate::Task& task, std::vector<Number>* list) {
  const bool known = number == task.parent || number == candidate::kSeed ||
                     std::find(list->begin(), list->end(), number) != list->end();
  if (!known && list->size() < kMostInspirations) list->push_back(number);
}

}  // namespace

Evolution::Evolution(candidate::Run& run,
                     Roster& roster,
                     Spending& spending,
                     Incumbent& incumbent,
                     const Policy& policy,
                     Background background)
    : run_(run),
      roster_(roster),
      spending_(spending),
      incumbent_(incumbent),
      policy_(policy),
      background_(std::move(background)),
      notes_(background_.notes),
      memory_(run, incumbent.rung(), policy, spending.left(), background_.prior),
      explore_(static_cast<int>(policy.explore_share * spending.left() + 0.5)),
      most_(decisions_of_round(spending.left(), run.window(), policy.round)) {}

std::optional<candidate::Assignment> Evolution::ends(std::string reason) {
  over_ = true;
  reason_ = std::move(reason);
  return std::nullopt;
}

Rng Evolution::rng(Draw what) const {
  return keyed_rng(run_.seed(), static_cast<std::uint64_t>(run_.next_decision()), what);
}

void Evolution::choose_phase() {
  const bool stuck = policy_.stagnation > 0 && memory_.islands.since_gain() >= policy_.stagnation;
  if (given_ >= explore_ || stuck) exploiting_ = true;
}

bool Evolution::is_possible(Operation operation) const {
  switch (operation) {
    case Operation::Repair:
      return policy_.repair && memory_.has_near_miss();
    case Operation::Crossover: {
      std::size_t cells = 0;
      for (std::size_t i = 0; i < memory_.islands.size(); ++i)
        cells = std::max(cells, memory_.islands[i].archive.cells());
      return policy_.inspirations && cells > 1;
    }
    case Operation::Rewrite:
      return !exploiting_;
    case Operation::Jump:
      return policy_.forecast && memory_.designs.known().size() > 1;
    case Operation::Edit:
    case Operation::Tune:
      return true;
  }
  return false;
}

std::vector<std::pair<candidate::Proposer*, Arm>> Evolution::arms() const {
  std::vector<std::pair<candidate::Proposer*, Arm>> list;
  for (candidate::Proposer* proposer : roster_.all()) {
    const std::size_t before = list.size();
    const auto operations = proposer->operations();
    const auto add = [&](Operation operation) {
      list.push_back(
          {proposer,
           {proposer->name(), operation, std::string(exploiting_ ? kExploit : kExplore)}});
    };
    for (const Operation operation : operations) {
      if (is_possible(operation)) add(operation);
    }
    // One that can do nothing else goes on with what it can.
    if (list.size() == before && !operations.empty() && operations.front() == Operation::Rewrite)
      add(Operation::Rewrite);
  }
  return list;
}

std::size_t Evolution::choose(std::span<const std::pair<candidate::Proposer*, Arm>> choices) {
  // A whole design was lost to a word that the compiler names.
  for (std::size_t i = 0; i < choices.size() && memory_.has_slip(); ++i) {
    if (choices[i].second.operation == Operation::Repair) return i;
  }
  if (!policy_.bandit) return turn_++ % choices.size();
  std::vector<Arm> list;
  for (const auto& [proposer, arm] : choices)
    list.push_back(arm);
  Rng random = rng(Draw::Arm);
  return memory_.bandit.choose(list, random);
}

std::optional<candidate::Assignment> Evolution::next(int unseen) {
  over_ = false;  // what was on its way may have given less than it could
  if (run_.stop_requested()) return ends("interrupted");
  if (auto over = spending_.over(unseen)) return ends(*std::move(over));
  if (roster_.empty()) return ends(roster_.why_empty());
  if (round_ >= most_) return std::nullopt;
  choose_phase();
  const auto choices = arms();
  if (choices.empty()) return ends("no more ideas");
  const auto& [proposer, arm] = choices[choose(choices)];
  Pending pending{.arm = arm, .island = memory_.islands.choose()};
  candidate::Assignment assignment{.proposer = proposer};
  assignment.task.phase = arm.phase;
  assignment.task.operation = arm.operation;
  assignment.task.notes = notes_;
  aim(&assignment.task, &pending);
  assignment.task.island = memory_.islands[pending.island].name;
  if (policy_.inspirations) inspire(&assignment.task, pending.island);
  if (policy_.forecast && makes_designs(assignment.task.operation))
    assignment.expect = expectation();
  memory_.begin(pending, assignment.task.parent);
  pending_.push_back(std::move(pending));
  ++round_;
  return assignment;
}

std::function<std::optional<candidate::Forecast>(const design::Directive&)> Evolution::expectation()
    const {
  const Member* best = memory_.islands.best();
  const double leader = best == nullptr ? 1 : std::max(best->fitness, 1.0);
  const bool audit = rng(Draw::Audit).uniform() < kAudited;
  // A copy: what becomes known before the answer comes must not decide.
  return [designs = memory_.designs, leader, audit](const design::Directive& directive) {
    std::optional<candidate::Forecast> made;
    if (designs.known().size() < kLeastDesigns || designs.known().contains(directive)) return made;
    made = designs.expect(directive);
    const bool hopeless = made->high < kHopeless * leader;
    made->judged = audit || !hopeless;
    made->audited = audit && hopeless;
    return made;
  };
}

void Evolution::aim(candidate::Task* task, Pending* pending) {
  if (task->operation == Operation::Repair) {
    if (const auto miss = memory_.take_near_miss()) {
      task->parent = miss->number;
      pending->island = std::min(miss->island, memory_.islands.size() - 1);
      pending->repairs = miss->repairs + 1;
      pending->promise = miss->promise;
      pending->follows = memory_.plan_of(miss->number);
      if (pending->follows) task->plan = memory_.plans[*pending->follows].plan;
      return;
    }
  }
  task->parent = parent_on(pending->island);
  if (task->operation == Operation::Rewrite && policy_.plans) follow_plan(task, pending);
  if (task->operation == Operation::Jump) jump(task, pending);
}

void Evolution::jump(candidate::Task* task, Pending* pending) {
  const auto to = best_jump(memory_.designs, jumps_, background_.is_valid);
  if (!to) {
    task->operation = Operation::Edit;
    return;
  }
  jumps_.insert(to->directive);
  task->parent = to->parent;
  candidate::Plan plan{
      .parent = memory_.plan_of(to->parent),
      .directive = to->directive,
      .reason = fmt::format("the designs so far let expect {:.2f}x ({:.2f}x to "
                            "{:.2f}x)",
                            to->forecast.speedup, to->forecast.low, to->forecast.high),
      .expected_gain = to->forecast.speedup};
  plan.number = candidate::kNotStored;
  task->plan = plan;
  pending->made = std::move(plan);
}

void Evolution::follow_plan(candidate::Task* task, Pending* pending) {
  const auto choice = memory_.plans.choose();
  if (!choice) return;
  pending->follows = choice->plan;
  const PlanBook::Node& node = memory_.plans[choice->plan];
  if (!choice->implement) {
    task->parent = *node.best;
    return;
  }
  task->plan = node.plan;
  const auto from = node.plan.parent;
  task->parent = from ? memory_.plans[*from].best.value_or(task->parent) : incumbent_.start();
  if (!node.failed) return;
  task->inspirations.push_back(*node.failed);
  if (const auto* outcome = run_.entry(*node.failed).latest()) {
    task->notes.push_back(fmt::format("this plan was tried before, as #{}, and failed: {}",
                                      *node.failed, candidate::summary(*outcome)));
  }
}

Number Evolution::parent_on(std::size_t island) const {
  if (policy_.parents == ParentRule::Start) return incumbent_.start();
  if (policy_.parents == ParentRule::Best) return incumbent_.to_improve();
  const Number start = incumbent_.start();
  std::vector<ParentChoice> choices = {{start, memory_.fitness(start), memory_.children(start)}};
  for (const Member& member : memory_.islands[island].archive.members()) {
    if (member.number != start)
      choices.push_back({member.number, member.fitness, memory_.children(member.number)});
  }
  Rng random = rng(Draw::Parent);
  return choices[draw(parent_weights(policy_.parents, choices), random)].number;
}

void Evolution::inspire(candidate::Task* task, std::size_t island) const {
  const Region region = region_of(run_.entry(task->parent).candidate.directive);
  auto& list = task->inspirations;
  // A failure teaches most where the same is tried again.
  if (const auto failure = memory_.failure_in(region)) add_once(*failure, *task, &list);
  // Where its time goes, whoever is improved.
  if (const Member* fastest = memory_.islands.best()) add_once(fastest->number, *task, &list);
  // The best of another kind: what a crossover is with.
  std::vector<Number> others;
  const Member* best = nullptr;
  const auto elites = memory_.islands[island].archive.elites();
  for (const Member& elite : elites) {
    if (elite.cell.region == region) continue;
    others.push_back(elite.number);
    if (best == nullptr || elite.fitness > best->fitness) best = &elite;
  }
  if (best != nullptr) add_once(best->number, *task, &list);
  Rng random = rng(Draw::Inspiration);
  if (!others.empty()) add_once(others[random.below(others.size())], *task, &list);
}

Result<void> Evolution::see(const candidate::Seen& seen) {
  roster_.see(seen);
  const Pending pending = std::move(pending_.front());
  pending_.pop_front();
  if (!seen.candidate) {
    memory_.abandon(pending);
    return {};
  }
  ++given_;
  if (is_free(run_.entry(*seen.candidate))) {
    spending_.add_skipped();
  } else {
    spending_.add_candidate();
  }
  CUCO_TRY(incumbent_.challenge(*seen.candidate));
  return memory_.see(pending, *seen.candidate);
}

Result<void> Evolution::end_round() {
  round_ = 0;
  memory_.reassess();
  std::vector<std::string> learnt = notes_from(run_, incumbent_.rung(), memory_);
  if (learnt.empty()) return {};
  notes_ = background_.notes;
  notes_.insert(notes_.end(), learnt.begin(), learnt.end());
  return run_.record_notes(std::move(learnt));
}

}  // namespace cuco::search
