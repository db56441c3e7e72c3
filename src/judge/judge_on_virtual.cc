// SPDX-License-Identifier: Apache-2.0
// The cascade on virtual GPUs: check, hidden, full and timed shapes, and those near the timed ones.
#include <algorithm>

#include <fmt/format.h>

#include "judge/judge.h"
#include "judge/ordered_steps.h"
#include "judge/score.h"
#include "targets/virtual/run_trace.h"
#include "workload/shrink.h"

namespace cuco::judge {

using candidate::Outcome;

namespace {

void show_profile(Profile profile, candidate::ShapeTime* time) {
  time->phases = std::move(profile.phases);
  time->hot_spots = std::move(profile.hot_spots);
  time->wire_bytes = profile.wire_bytes;
}

}  // namespace

Result<Outcome> Judge::run_on_virtual(const system::Path& object,
                                      const Effort& effort,
                                      const StepWatch& watch) {
  candidate::Scored scored;
  scored.left_out = left_out(effort);
  CUCO_TRY_ASSIGN(const auto plan, plan_times(effort));
  scored.shapes.resize(plan.size());
  std::vector<Watched> watched(plan.size());  // apart: steps run side by side
  Unfinished unfinished;
  OrderedSteps steps;
  add_checks(object, effort, &steps, &scored, &unfinished);
  for (std::size_t i = 0; i < plan.size(); ++i)
    steps.add(
        [&, i] { return time_shape(object, plan[i], &scored.shapes[i], &watched[i].profile); });
  for (std::size_t i = 0; i < plan.size(); ++i)
    add_checks_of_timed(object, plan[i], &steps, &watched[i], &unfinished);
  if (effort.hidden_shapes) {
    for (const workload::Shape* shape : workload().shapes_for(workload::Use::Near)) {
      const Scrutiny scrutiny{.watch = watches(effort), .large = true};
      for (int i = 0; i <= effort.few_schedules; ++i)
        steps.add([=, this, &object, &unfinished] {
          return check_shape(object, *shape, i, scrutiny, &unfinished);
        });
    }
  }
  CUCO_TRY_ASSIGN(auto wrong, steps.run(parts_.threads, watch));
  if (wrong) return *std::move(wrong);
  for (const std::string& trial : unfinished.trials())
    scored.left_out.push_back(trial + ", which did not end in time");
  for (std::size_t i = 0; i < plan.size(); ++i) {
    show_profile(std::move(watched[i].profile), &scored.shapes[i]);
    const double slower = watched[i].seconds / scored.shapes[i].seconds;
    auto warning = count_watched(watched[i].seconds, &scored.shapes[i]);
    if (!warning) continue;
    scored.warnings.push_back(*std::move(warning));
    // Where the larger of two scale models was too slow to be watched, what the smaller one does
    // counts for both.
    if (!plan[i].full.empty() && i > 0 && plan[i - 1].full == plan[i].full &&
        watched[i - 1].seconds == 0)
      (void)count_watched(slower * scored.shapes[i - 1].seconds, &scored.shapes[i - 1]);
  }
  join_scale_models(plan, &scored);
  // The last one is a full shape's, if those are timed.
  if (!parts_.timeline.empty()) CUCO_TRY(write_timeline(object, plan.back().shape));
  return score(std::move(scored));
}

void Judge::add_checks(const system::Path& object,
                       const Effort& effort,
                       OrderedSteps* steps,
                       candidate::Scored* scored,
                       Unfinished* unfinished) {
  auto checks = workload().shapes_for(workload::Use::Check);
  std::vector<const workload::Shape*> hidden;
  if (!effort.every_shape) checks.resize(1);
  if (effort.hidden_shapes) hidden = workload().shapes_for(workload::Use::Hidden);
  const std::size_t near =
      effort.hidden_shapes ? workload().shapes_for(workload::Use::Near).size() : 0;
  scored->checked_shapes = static_cast<int>(checks.size());
  scored->checked_hidden_shapes = static_cast<int>(hidden.size() + near);
  // Held back, slow, late deliveries; and the adversarial ones.
  scored->checked_schedules =
      (workload().ranks > 1 ? workload().budget.iterations + 1 : 1) + effort.schedules;
  const auto add = [&](const workload::Shape* shape, int schedules) {
    for (int i = 0; i <= schedules; ++i)
      steps->add([=, this, &object, scrutiny = Scrutiny{.watch = watches(effort)}] {
        return check_shape(object, *shape, i, scrutiny, unfinished);
      });
  };
  for (const workload::Shape* shape : checks)
    add(shape, effort.schedules);
  if (effort.long_run) {
    steps->add([=, this, &object, shape = checks.front()]() -> Result<OptionalOutcome> {
      CUCO_TRY_ASSIGN(const int iterations, long_iterations(*shape));
      return check_shape(object, *shape, 0, {.iterations = iterations}, unfinished);
    });
  }
  for (const workload::Shape* shape : hidden)
    add(shape, effort.few_schedules);
  if (!parts_.reference) return;
  for (const workload::Shape* shape : workload().shapes_for(workload::Use::Full)) {
    ++scored->checked_shapes;
    steps->add([=, this, &object] { return check_full_shape(object, *shape); });
  }
}

Result<int> Judge::long_iterations(const workload::Shape& shape) const {
  CUCO_TRY_ASSIGN(const double seconds, workload::emulation_seconds(workload(), shape));
  const double most = Effort::kLongSeconds / std::max(seconds, 1e-9);
  const int least = static_cast<int>(
      std::clamp<double>(most, Effort::kLeastLongIterations, Effort::kLongIterations));
  return least + static_cast<int>(parts_.secret.key("long run") % static_cast<unsigned>(least));
}

// What is timed is what is checked: the same program, on the same shape.
void Judge::add_checks_of_timed(const system::Path& object,
                                const PlannedTime& planned,
                                OrderedSteps* steps,
                                Watched* watched,
                                Unfinished* unfinished) {
  const Effort& effort = planned.effort;
  if (effort.watch_briefly) {
    steps->add([=, this, &object, &planned]() -> Result<OptionalOutcome> {
      CUCO_TRY_ASSIGN(const SeedTime* known, seed(planned.shape, planned.effort.surprises()));
      return check_shape(object, planned.shape, 0,
                         {.watch = true, .large = true, .like = &known->outputs, .brief = true},
                         unfinished, &watched->seconds);
    });
  }
  // The plain run is the checker's: without it late ranks and deliveries are in the timed one.
  for (int i = effort.watch ? 0 : 1; effort.recheck_timed && i <= effort.few_schedules; ++i) {
    steps->add([=, this, &object, &planned]() -> Result<OptionalOutcome> {
      CUCO_TRY_ASSIGN(const SeedTime* known, seed(planned.shape, planned.effort.surprises()));
      return check_shape(object, planned.shape, i,
                         {.watch = watches(planned.effort), .large = true, .like = &known->outputs},
                         unfinished, i == 0 ? &watched->seconds : nullptr);
    });
  }
  if (!effort.profile || effort.profiles_while_timing()) return;
  steps->add([=, this, &object, &planned]() -> Result<OptionalOutcome> {
    const Stages::Lap lap(&stages_, "profile");
    CUCO_TRY_ASSIGN(TrialResult result, trials_.profile(object, planned.shape));
    if (auto* times = std::get_if<TrialTimes>(&result))  // or it does not pass every time
      watched->profile = std::move(times->profile);
    return OptionalOutcome();
  });
}

std::vector<std::string> Judge::left_out(const Effort& effort) const {
  std::vector<std::string> list;
  if (!effort.every_shape) list.emplace_back("all check and timed shapes but the first");
  if (!effort.hidden_shapes) list.emplace_back("hidden shapes, and those near the timed ones");
  if (effort.hidden_shapes && workload().ranges.empty()) {
    list.emplace_back("shapes that are not listed: workload.toml has no [range] to draw them from");
  }
  if (!watches(effort)) list.emplace_back("the checker");
  if (effort.schedules == 0) list.emplace_back("adversarial schedules");
  if (effort.scaled && !times_full_shapes(effort)) list.emplace_back("times of full shapes");
  if (effort.watch && times_full_shapes(effort))
    list.emplace_back("the checker on all but two or three iterations of the larger scale models");
  if (effort.few_schedules < effort.schedules) {
    list.push_back(fmt::format(
        "{} of {} adversarial schedules on shapes other than check shapes{}",
        effort.schedules - effort.few_schedules, effort.schedules,
        effort.few_schedules == 0
            ? ""
            : fmt::format(", and all but {} iterations of the checked runs on those as large as "
                          "the timed ones",
                          Effort::kLargeIterations)));
  }
  return list;
}

Result<std::optional<Outcome>> Judge::check_shape(const system::Path& object,
                                                  const workload::Shape& shape,
                                                  int schedule,
                                                  Scrutiny scrutiny,
                                                  Unfinished* unfinished,
                                                  double* seconds) {
  // Which schedules is a secret of the run, too; 0 is the plain one.
  if (schedule > 0) {
    scrutiny.schedule_seed =
        1 + parts_.secret.key(fmt::format("schedule {} {}", shape.name, schedule)) % 1'000'000'000;
  }
  CUCO_TRY_ASSIGN(TrialResult result, trials_.check(object, shape, scrutiny));
  auto* outcome = std::get_if<Outcome>(&result);
  if (outcome == nullptr) {
    if (seconds != nullptr) *seconds = std::get<TrialTimes>(result).undisturbed;
    return OptionalOutcome();
  }
  const bool late = std::holds_alternative<candidate::TimedOut>(*outcome);
  if (late && (scrutiny.brief || (scrutiny.large && schedule > 0))) {
    unfinished->add(scrutiny.brief ? "the checker on " + shape.name
                                   : "an adversarial schedule on " + shape.name);
    return OptionalOutcome();
  }
  explain(object, shape, outcome);
  return OptionalOutcome(std::move(*outcome));
}

Result<std::optional<Outcome>> Judge::check_full_shape(const system::Path& object,
                                                       const workload::Shape& shape) {
  CUCO_TRY_ASSIGN(TrialResult result, trials_.full(object, shape, *parts_.reference));
  if (auto* outcome = std::get_if<Outcome>(&result)) return OptionalOutcome(std::move(*outcome));
  return OptionalOutcome();
}

Result<std::vector<PlannedTime>> Judge::plan_times(const Effort& effort) const {
  std::vector<PlannedTime> plan;
  for (const workload::Shape* shape : workload().shapes_for(workload::Use::Time)) {
    CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(*shape));
    plan.push_back({*shape, bound, effort});
    if (!effort.every_shape) break;
  }
  if (!times_full_shapes(effort)) return plan;
  for (const workload::Shape* full : workload().shapes_for(workload::Use::Full)) {
    if (full->uses.contains(workload::Use::Time)) continue;  // timed as it is
    double k = parts_.scale;
    if (k == 0) {
      CUCO_TRY_ASSIGN(k, workload::factor_for(workload(), *full, Effort::kScaledSeconds));
      // Two models say more than one that is cheaper.
      if (k > 1 && !workload::shrink(workload(), *full, 2 * k)) k /= 2;
    }
    CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(*full));
    CUCO_TRY_ASSIGN(const workload::Shape large, workload::shrink(workload(), *full, k));
    const auto small = workload::shrink(workload(), *full, 2 * k);
    if (k == 1 || !small) {  // then this one is looked at, too
      plan.push_back({large, bound, effort.on_smaller_models(), full->name,
                      small ? "" : small.error().message()});
      continue;
    }
    plan.push_back({large, bound, effort.on_larger_models(), full->name});
    plan.push_back({*small, bound, effort.on_smaller_models(), full->name});
  }
  return plan;
}

Result<std::optional<Outcome>> Judge::time_shape(const system::Path& object,
                                                 const PlannedTime& planned,
                                                 candidate::ShapeTime* time,
                                                 Profile* profile) {
  const auto& [shape, bound, effort, full, why_alone] = planned;
  CUCO_TRY_ASSIGN(const SeedTime* known, seed(shape, effort.surprises()));
  CUCO_TRY_ASSIGN(TrialResult result,
                  trials_.time(object, shape, &known->outputs,
                               {effort.surprises(), effort.profiles_while_timing()}));
  if (auto* outcome = std::get_if<Outcome>(&result)) {
    explain(object, shape, outcome);
    return OptionalOutcome(std::move(*outcome));
  }
  auto& times = std::get<TrialTimes>(result);
  *time = shape_time(shape, typical(times.seconds, shape), known->seconds, bound);
  time->samples = times.seconds;
  time->scale_model.filling = times.filling;
  if (effort.profiles_while_timing()) *profile = std::move(times.profile);
  if (measure::is_too_fast(time->seconds, time->bound_seconds)) {
    return OptionalOutcome(candidate::Quarantined{time->seconds, time->bound_seconds, shape.name});
  }
  return OptionalOutcome();
}

void Judge::join_scale_models(const std::vector<PlannedTime>& plan,
                              candidate::Scored* scored) const {
  std::vector<candidate::ShapeTime> joined;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    candidate::ShapeTime& time = scored->shapes[i];
    const std::string& full = plan[i].full;
    const double factor = plan[i].shape.divisor.math;
    if (!full.empty() && !joined.empty() && joined.back().shape == full) {
      joined.back().scale_model.smaller_factor = factor;
      joined.back().scale_model.smaller_seconds = time.seconds;
      joined.back().scale_model.smaller_filling = time.scale_model.filling;
      joined.back().phases = std::move(time.phases);
      joined.back().hot_spots = std::move(time.hot_spots);
      joined.back().wire_bytes = time.wire_bytes;
      continue;
    }
    if (!full.empty()) {
      time.shape = full;
      time.scale_model.factor = factor;
      time.scale_model.why_alone = plan[i].why_alone;
    } else if (times_full_shapes(plan[i].effort) &&
               plan[i].shape.uses.contains(workload::Use::Full)) {
      time.scale_model.factor = 1;
    }
    joined.push_back(std::move(time));
  }
  scored->shapes = std::move(joined);
  for (const candidate::ShapeTime& time : scored->shapes) {
    if (auto warning = scale_warning(time)) scored->warnings.push_back(*std::move(warning));
  }
}

void Judge::explain(const system::Path& object, const workload::Shape& shape, Outcome* outcome) {
  auto* wrong = std::get_if<candidate::WrongResult>(outcome);
  if (wrong == nullptr || is_measured()) return;
  const Stages::Lap lap(&stages_, "why wrong");
  // The verdict stands, whatever becomes of this: no findings are no excuse.
  const auto again = trials_.watch(object, shape);
  if (!again) return;
  if (const auto* seen = std::get_if<Outcome>(&*again)) {
    if (const auto* found = std::get_if<candidate::Findings>(seen))
      wrong->findings = found->findings;
  }
}

Result<void> Judge::write_timeline(const system::Path& object, const workload::Shape& shape) {
  const Stages::Lap lap(&stages_, "timeline");
  CUCO_TRY_ASSIGN(const system::Path seed, build_seed());
  std::vector<targets::TracedRun> runs;
  for (const auto& [name, program] : {std::pair("seed", &seed), std::pair("candidate", &object)}) {
    CUCO_TRY_ASSIGN(TrialResult result, trials_.profile(*program, shape, true));
    auto* times = std::get_if<TrialTimes>(&result);
    if (times == nullptr) continue;  // it does not pass every time
    runs.push_back({name, std::move(times->profile.report), times->profile.begin_ps});
  }
  return targets::write_trace(runs, parts_.timeline);
}

}  // namespace cuco::judge
