// SPDX-License-Identifier: Apache-2.0
#include "candidate/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "candidate/pipeline/twins.h"
#include "candidate/stored_exchanges.h"

namespace cuco::candidate {

Pipeline::Pipeline(Run& run, std::optional<Rung> rung)
    : run_(run),
      rung_(rung),
      seen_(run.next_),
      recorded_(run.next_),
      judges_(std::max(run.settings_.jobs, 1)),
      builders_(std::max(run.settings_.jobs / 2, 1)) {}

Pipeline::Work& Pipeline::work_of(Decision decision) {
  CUCO_ASSERT(decision >= seen_);
  return works_[static_cast<std::size_t>(decision - seen_)];
}

void Pipeline::hand_over(std::function<Result<void>()> what) {
  // Under the lock: whoever is woken may destroy this pipeline.
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(what));
  came_.notify_one();
}

Result<void> Pipeline::handle_one() {
  std::function<Result<void>()> next;
  {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return !inbox_.empty(); });
    next = std::move(inbox_.front());
    inbox_.pop_front();
  }
  --under_way_;
  return next();
}

Result<void> Pipeline::drain() {
  while (under_way_ > 0)
    CUCO_TRY(handle_one());
  return {};
}

Result<void> Pipeline::pursue(Strategy& strategy) {
  for (;;) {
    // Exactly what this decision may see, however far the others are.
    CUCO_TRY_ASSIGN(const bool ready,
                    see_up_to(run_.next_ - std::max(run_.settings_.window, 1), strategy));
    if (!ready) return drain();
    auto assignment = strategy.next(run_.next_ - seen_);
    if (!assignment) {
      CUCO_TRY_ASSIGN(const bool all, see_up_to(run_.next_ - 1, strategy));
      if (!all) return drain();
      assignment = strategy.next(0);
      if (!assignment) return {};
    }
    CUCO_TRY(begin(*std::move(assignment)));
  }
}

Result<bool> Pipeline::see_up_to(Decision last, Strategy& strategy) {
  while (seen_ <= last) {
    while (!works_.front().done && under_way_ > 0)
      CUCO_TRY(handle_one());
    if (!works_.front().done) return false;
    const Work work = std::move(works_.front());
    works_.pop_front();
    ++seen_;
    if (work.candidate && rung_) {
      const auto& outcomes = run_.entry(*work.candidate).outcomes;
      if (const auto known = outcomes.find(*rung_); known != outcomes.end())
        run_.show(*work.candidate, &known->second);
    }
    CUCO_TRY(strategy.see(
        {work.asked.proposer, work.candidate, work.set_aside, work.reason, work.asked_before}));
  }
  return true;
}

Result<void> Pipeline::begin(Assignment assignment) {
  const Decision decision = run_.next_++;
  works_.push_back({.asked = std::move(assignment)});
  Work& work = works_.back();
  const auto* known = run_.stored(decision);
  const bool told = known != nullptr && !known->proposer.empty();
  work.asked.task.turn =
      run_.turns_[{told ? known->proposer : work.asked.proposer->name(), work.asked.task.phase}]++;
  if (known != nullptr) {
    work.asked_before = known->proposer;
    work.candidate = known->candidate;
    work.set_aside = known->set_aside;
    work.reason = known->reason;
    if (known->candidate) {
      const auto& outcomes = run_.entry(*known->candidate).outcomes;
      const auto rejected = outcomes.find(Rung{});
      const bool no_candidate =
          rejected != outcomes.end() && std::holds_alternative<ProposalRejected>(rejected->second);
      run_.show(*known->candidate, no_candidate ? &rejected->second : nullptr);
    }
    ++recorded_;
    recorded(decision, work);
    return {};
  }
  // Candidates of decisions that it may not see yet are not in its history.
  auto visible = run_.known_.size();
  for (const Work& other : works_) {
    if (other.candidate) visible = std::min(visible, static_cast<std::size_t>(*other.candidate));
  }
  work.asked.task.history =
      History({run_.known_.begin(), run_.known_.begin() + static_cast<std::ptrdiff_t>(visible)});
  work.asked.task.as_of = seen_;
  work.asked.task.seed = run_.settings_.seed + static_cast<std::uint64_t>(decision);
  ask(decision, work);
  return {};
}

void Pipeline::ask(Decision decision, Work& work) {
  auto& lane = askers_[work.asked.proposer];
  // More than the window are never under way.
  if (!lane)
    lane = std::make_unique<Lane>(
        std::clamp(work.asked.proposer->in_flight(), 1, std::max(run_.settings_.window, 1)));
  ++under_way_;
  lane->add([this, decision, proposer = work.asked.proposer, task = work.asked.task] {
    StoredExchanges log(run_, decision);
    auto answer = proposer->propose(task, log);
    for (int tries = 1;
         !answer && tries < run_.settings_.tries && !log.budget_spent() && !run_.stop_requested();
         ++tries) {
      log.start_over();
      answer = proposer->propose(task, log);
    }
    // Without money a proposer has no ideas; nothing is wrong with it.
    if (!answer && log.budget_spent()) answer = std::optional<ProposerAnswer>();
    hand_over([this, decision, answer = std::move(answer)]() mutable -> Result<void> {
      work_of(decision).answer = std::move(answer);
      return record_answers();
    });
  });
}

Result<void> Pipeline::record_answers() {
  while (recorded_ < run_.next_) {
    const Decision decision = recorded_;
    Work& work = work_of(decision);
    if (!work.answer) break;
    auto& answer = *work.answer;
    // A proposer that failed while everything ends has not failed: it is asked again next time.
    if (!answer && run_.stop_requested()) break;
    if (!answer) {
      work.set_aside = true;
      work.reason = answer.error().message();
    }
    ++recorded_;
    CUCO_TRY_ASSIGN(work.candidate, run_.record(decision, work.asked, std::move(answer)));
    recorded(decision, work);
  }
  return {};
}

void Pipeline::recorded(Decision decision, Work& work) {
  work.done = true;
  if (work.candidate && rung_) run_.reveal(*work.candidate, *rung_);
  if (!work.candidate || !rung_ || !run_.is_open(*work.candidate, *rung_)) return;
  work.done = false;
  judging_[*work.candidate] = decision;
  judge(*work.candidate);
}

Result<void> Pipeline::evaluate(std::span<const Number> numbers) {
  for (const auto number : numbers) {
    run_.reveal(number, rung());
    if (run_.is_open(number, rung())) judge(number);
  }
  return drain();
}

void Pipeline::judge(Number number) {
  ++under_way_;
  building_.push_back({.candidate = number});
  builders_.add([this, candidate = run_.entry(number).candidate] {
    std::optional<MachineCode> code;
    if (!run_.stop_requested()) code = run_.evaluator_->build(candidate, rung());
    hand_over([this, number = candidate.number, code = std::move(code)]() mutable {
      return built(number, std::move(code));
    });
  });
}

Result<void> Pipeline::built(Number number, std::optional<MachineCode> code) {
  const auto found = std::ranges::find(building_, number, &Building::candidate);
  CUCO_ASSERT(found != building_.end());
  found->done = true;
  found->code = std::move(code);
  // In their order: who is the first with a code must not depend on whose build was quicker.
  while (!building_.empty() && building_.front().done) {
    const Building first = std::move(building_.front());
    building_.pop_front();
    CUCO_TRY(go_on(first.candidate, first.code));
  }
  return {};
}

Result<void> Pipeline::go_on(Number number, const std::optional<MachineCode>& code) {
  const Number first = code ? run_.twins_.first(number, rung(), *code) : number;
  if (first != number) {
    if (const auto judging = judged_.find(first); judging != judged_.end()) {
      judging->second.push_back({number, code});
      return {};
    }
    // Only times are shared: what is wrong with a program is told in lines of its own.
    if (const Scored* time = run_.scored(first, rung())) {
      CUCO_TRY(run_.append(Evaluated{
          .candidate = number,
          .rung = rung(),
          .outcome = for_twin(*time, run_.entry(first).candidate, run_.entry(number).candidate),
          .code = code,
          .same_as = first}));
      decided(number);
      return {};
    }
  }
  ++under_way_;
  judged_[number];
  judges_.add([this, candidate = run_.entry(number).candidate, code] {
    hand_over([this, verdict = verdict_on(candidate, code)]() mutable {
      return take(std::move(verdict));
    });
  });
  return {};
}

Pipeline::Verdict Pipeline::verdict_on(const Candidate& candidate,
                                       std::optional<MachineCode> code) const {
  Verdict verdict{.candidate = candidate.number, .code = std::move(code), .outcome = std::nullopt};
  const auto start = run_.clock_->now();
  for (int tries = 0; tries < std::max(run_.settings_.tries, 1); ++tries) {
    if (run_.stop_requested()) break;
    if (verdict.outcome.emplace(run_.evaluator_->evaluate(candidate, rung()))) break;
  }
  // What fails while everything ends says nothing.
  if (verdict.outcome && !*verdict.outcome && run_.stop_requested()) verdict.outcome.reset();
  verdict.wall_seconds = std::chrono::duration<double>(run_.clock_->now() - start).count();
  return verdict;
}

const Rung& Pipeline::rung() const {
  CUCO_ASSERT(rung_.has_value());
  return *rung_;
}

Result<void> Pipeline::take(Verdict verdict) {
  const Number number = verdict.candidate;
  const auto waiting = std::move(judged_.extract(number).mapped());
  if (!verdict.outcome) return {};
  // Everything is compared with the seed: without it there is nothing to go on with.
  if (number == kSeed && !*verdict.outcome) return verdict.outcome->error();
  if (auto& outcome = *verdict.outcome) {
    CUCO_TRY(run_.append(Evaluated{.candidate = number,
                                   .rung = rung(),
                                   .outcome = *std::move(outcome),
                                   .wall_seconds = verdict.wall_seconds,
                                   .code = verdict.code}));
  } else {
    if (verdict.code) run_.twins_.forget(number, rung(), *verdict.code);
    CUCO_TRY(run_.append(SetAside{.decision = run_.entry(number).decision,
                                  .candidate = number,
                                  .rung = rung(),
                                  .tries = run_.settings_.tries,
                                  .reason = outcome.error().message()}));
  }
  decided(number);
  for (const Waiting& twin : waiting)
    CUCO_TRY(go_on(twin.candidate, twin.code));
  return {};
}

void Pipeline::decided(Number number) {
  if (const auto decision = judging_.extract(number); !decision.empty())
    work_of(decision.mapped()).done = true;
}

}  // namespace cuco::candidate
