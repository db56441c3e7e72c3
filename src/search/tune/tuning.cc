// SPDX-License-Identifier: Apache-2.0
#include "search/tune/tuning.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "search/race/rung_race.h"

namespace cuco::search {
namespace {
using candidate::Advisor;
using candidate::Fidelity;
using candidate::Number;
using candidate::Operation;
using candidate::Outcome;
using candidate::Plan;
using candidate::Run;
using candidate::Scored;
using candidate::Task;

constexpr std::string_view kPhase = "tune";

class Tuning {
 public:
  Tuning(Run& run, const Team& team, const TuneOptions& options)
      : run_(run), team_(team), options_(options), race_(run, options.rounds * options.plans) {}

  Result<TuneResult> run() {
    CUCO_TRY(ask_tester());
    std::string reason =
        fmt::format("{} round{}", options_.rounds, options_.rounds == 1 ? "" : "s");
    for (int round = 1; round <= options_.rounds; ++round) {
      if (run_.stop_requested()) return TuneResult{.reason = "interrupted"};
      CUCO_TRY_ASSIGN(const bool goes_on, take_round(round));
      if (goes_on) continue;
      reason = "no more ideas";
      break;
    }
    if (run_.stop_requested()) return TuneResult{.reason = "interrupted"};
    CUCO_TRY_ASSIGN(const auto winner, race_.confirm());
    if (run_.stop_requested()) reason = "interrupted";
    return TuneResult{winner, reason};
  }

 private:
  /// Full shapes are what counts, and where the profile of each is known.
  [[nodiscard]] candidate::Rung rung() const { return race_.rung(Fidelity::Scaled); }

  [[nodiscard]] Task task() const {
    Task made{.phase = std::string(kPhase), .parent = best_};
    made.notes = notes_;
    return made;
  }

  /// What the advisor says; nothing where there is none or nobody could be asked.
  Result<std::optional<std::string>> consult(Advisor* advisor, Task task) {
    if (advisor == nullptr || run_.stop_requested()) return std::optional<std::string>();
    return run_.consult(*advisor, std::move(task));
  }

  Result<void> ask_tester() {
    CUCO_TRY_ASSIGN(const auto answer, consult(team_.tester, task()));
    if (!answer) return {};
    const auto added = team_.add_shapes(*answer);
    return run_.record_step(
        {"tester", added.has_value(), added ? *added : added.error().message()});
  }

  /// False: nobody has an idea any more.
  Result<bool> take_round(int round) {
    CUCO_TRY(run_.evaluate(std::span(&best_, 1), rung()));
    const Number before = best_;
    Task about = task();
    CUCO_TRY_ASSIGN(const auto profile, consult(team_.profiler, about));
    if (profile) about.notes.push_back("the profiler says: " + team_.read_words(*profile));
    CUCO_TRY_ASSIGN(const auto plans, plans_for(about));
    int tried = 0;
    for (const auto& plan : plans) {
      if (run_.stop_requested()) return true;
      about.plan = plan;
      about.operation = plan ? Operation::Rewrite : Operation::Edit;
      CUCO_TRY_ASSIGN(const auto made, try_plan(about));
      if (!made) break;
      ++tried;
      // A plan was made for the program that was the best then.
      if (best_ != before && team_.planner != nullptr) break;
    }
    if (run_.stop_requested()) return true;
    CUCO_TRY(run_.record_step({fmt::format("tune: round {}", round), best_ != before,
                               best_ != before ? gain_text(before) : "no gain"}));
    CUCO_TRY(sum_up());
    return tried > 0;
  }

  [[nodiscard]] std::string gain_text(Number before) const {
    return fmt::format("#{} is {:.2f}x as fast as #{}", best_, gain(best_, before), before);
  }

  [[nodiscard]] double gain(Number number, Number over) const {
    return run_.speedup(number, rung()) / run_.speedup(over, rung());
  }

  /// What the coder is asked for, one after the other: plans, or its own ideas.
  Result<std::vector<std::optional<Plan>>> plans_for(const Task& about) {
    const std::vector<std::optional<Plan>> own(static_cast<std::size_t>(options_.plans));
    if (team_.planner == nullptr) return own;
    CUCO_TRY_ASSIGN(const auto answer, consult(team_.planner, about));
    const std::vector<std::optional<Plan>> one(1);
    if (!answer) return one;
    auto plans = team_.read_plans(*answer);
    if (!plans) {
      CUCO_TRY(run_.record_step({"tune: planner", false, plans.error().message()}));
      return one;
    }
    std::stable_sort(plans->begin(), plans->end(), [](const Plan& a, const Plan& b) {
      return a.expected_gain > b.expected_gain;
    });
    std::vector<std::optional<Plan>> made;
    for (Plan& plan : *plans) {
      if (made.size() >= static_cast<std::size_t>(options_.plans)) break;
      CUCO_TRY_ASSIGN(plan.number, run_.record_plan(plan));
      made.emplace_back(std::move(plan));
    }
    return made;
  }

  /// One candidate and its repairs; nothing if the coder has no idea. The best one stays the best.
  Result<std::optional<Number>> try_plan(Task about) {
    CUCO_TRY_ASSIGN(std::optional<Number> number, run_.ask(*team_.coder, about));
    for (int repair = 0; number; ++repair) {
      const auto outcome = run_.evaluate(*number, rung());
      if (!outcome) break;  // set aside, or stopped
      if (std::holds_alternative<Scored>(*outcome)) {
        CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(*number, best_, rung()));
        if (faster && gain(*number, best_) > candidate::kLeastSpeedup) {
          best_ = *number;
          CUCO_TRY(run_.set_best(best_));
        }
        break;
      }
      if (team_.planner == nullptr || repair >= options_.repairs || run_.stop_requested()) break;
      about.operation = Operation::Repair;
      about.parent = *number;
      if (repair > 0) {
        CUCO_TRY_ASSIGN(const auto diagnosis, consult(team_.explainer, about));
        if (diagnosis) about.notes.push_back("a diagnosis: " + team_.read_words(*diagnosis));
      }
      CUCO_TRY_ASSIGN(const auto mended, run_.ask(*team_.coder, about));
      if (!mended) break;
      number = mended;
    }
    return number;
  }

  Result<void> sum_up() {
    CUCO_TRY_ASSIGN(const auto answer, consult(team_.summariser, task()));
    if (!answer) return {};
    auto notes = team_.read_notes(*answer);
    if (!notes) return run_.record_step({"tune: summariser", false, notes.error().message()});
    notes_ = *std::move(notes);
    return run_.record_notes(notes_);
  }

  Run& run_;
  const Team& team_;
  TuneOptions options_;
  Race race_;
  Number best_ = candidate::kSeed;
  std::vector<std::string> notes_;
};

}  // namespace

Result<TuneResult> tune(Run& run, const Team& team, const TuneOptions& options) {
  return Tuning(run, team, options).run();
}

}  // namespace cuco::search
