// SPDX-License-Identifier: Apache-2.0
// The cascade on virtual GPUs: check, hidden, full and timed shapes, and those near the timed ones.
#include <thread>

#include <fmt/format.h>

#include "judge/judge.h"
#include "judge/score.h"
#include "workload/shrink.h"

namespace cuco::judge {

using candidate::Outcome;

Result<Outcome> Judge::run_on_virtual(const system::Path& object, const Effort& effort) {
  candidate::Scored scored;
  scored.left_out = left_out(effort);
  CUCO_TRY_ASSIGN(auto wrong, check_shapes(object, effort, &scored));
  if (wrong) return *std::move(wrong);
  CUCO_TRY_ASSIGN(auto wrong_at_size, check_full_shapes(object, &scored));
  if (wrong_at_size) return *std::move(wrong_at_size);
  CUCO_TRY_ASSIGN(const auto plan, plan_times(effort));
  {
    // The seed's times are wanted, too, and do not need the candidate's.
    const std::jthread ahead([&](const std::stop_token& stop) {
      for (const PlannedTime& planned : plan) {
        if (stop.stop_requested()) return;
        (void)seed(planned.shape, planned.effort.surprises());  // whoever needs it sees the error
      }
    });
    for (const PlannedTime& planned : plan) {
      CUCO_TRY_ASSIGN(auto outcome, time_shape(object, planned, &scored));
      if (outcome) return *std::move(outcome);
    }
  }
  join_scale_models(plan, &scored);
  if (effort.hidden_shapes) {
    for (const workload::Shape* shape : workload().shapes_for(workload::Use::Near)) {
      CUCO_TRY_ASSIGN(auto outcome,
                      check_shape(object, *shape, effort.few_schedules,
                                  {.watch = watches(effort), .large = true}, &scored.left_out));
      if (outcome) return *std::move(outcome);
    }
  }
  return score(std::move(scored));
}

Result<std::optional<Outcome>> Judge::check_shapes(const system::Path& object,
                                                   const Effort& effort,
                                                   candidate::Scored* scored) {
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
  const Scrutiny scrutiny{.watch = watches(effort)};
  for (const workload::Shape* shape : checks) {
    CUCO_TRY_ASSIGN(auto outcome,
                    check_shape(object, *shape, effort.schedules, scrutiny, &scored->left_out));
    if (outcome) return outcome;
  }
  for (const workload::Shape* shape : hidden) {
    CUCO_TRY_ASSIGN(auto outcome,
                    check_shape(object, *shape, effort.few_schedules, scrutiny, &scored->left_out));
    if (outcome) return outcome;
  }
  return std::optional<Outcome>();
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
    list.emplace_back("the checker and adversarial schedules on scale models of full shapes");
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
                                                  int schedules,
                                                  Scrutiny scrutiny,
                                                  std::vector<std::string>* left_out) {
  for (int i = 0; i <= schedules; ++i) {
    // Which schedules is a secret of the run, too; 0 is the plain one.
    if (i > 0) {
      scrutiny.schedule_seed =
          1 + parts_.secret.key(fmt::format("schedule {} {}", shape.name, i)) % 1'000'000'000;
    }
    CUCO_TRY_ASSIGN(TrialResult result, trials_.check(object, shape, scrutiny));
    if (auto* outcome = std::get_if<Outcome>(&result)) {
      const bool late = std::holds_alternative<candidate::TimedOut>(*outcome);
      if (late && scrutiny.large && i > 0) {
        left_out->push_back(
            fmt::format("an adversarial schedule on {}, which did not end in time", shape.name));
        continue;
      }
      explain(object, shape, outcome);
      return std::optional(std::move(*outcome));
    }
  }
  return std::optional<Outcome>();
}

Result<std::optional<Outcome>> Judge::check_full_shapes(const system::Path& object,
                                                        candidate::Scored* scored) {
  if (!parts_.reference) return std::optional<Outcome>();
  for (const workload::Shape* shape : workload().shapes_for(workload::Use::Full)) {
    CUCO_TRY_ASSIGN(TrialResult result, trials_.full(object, *shape, *parts_.reference));
    if (auto* outcome = std::get_if<Outcome>(&result)) return std::optional(std::move(*outcome));
    ++scored->checked_shapes;
  }
  return std::optional<Outcome>();
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
    }
    CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(*full));
    CUCO_TRY_ASSIGN(const workload::Shape large, workload::shrink(workload(), *full, k));
    plan.push_back({large, bound, effort.on_scale_models(), full->name});
    const auto small = workload::shrink(workload(), *full, 2 * k);
    if (k == 1 || !small) continue;
    plan.push_back({*small, bound, effort.on_smaller_models(), full->name});
  }
  return plan;
}

Result<std::optional<Outcome>> Judge::time_shape(const system::Path& object,
                                                 const PlannedTime& planned,
                                                 candidate::Scored* scored) {
  const auto& [shape, bound, effort, full] = planned;
  CUCO_TRY_ASSIGN(const SeedTime* known, seed(shape, effort.surprises()));
  CUCO_TRY_ASSIGN(TrialResult result,
                  trials_.time(object, shape, &known->outputs, effort.surprises()));
  if (auto* outcome = std::get_if<Outcome>(&result)) {
    explain(object, shape, outcome);
    return std::optional(std::move(*outcome));
  }
  const auto& times = std::get<TrialTimes>(result);
  candidate::ShapeTime time =
      shape_time(shape, typical(times.seconds, shape), known->seconds, bound);
  time.samples = times.seconds;
  if (measure::is_too_fast(time.seconds, time.bound_seconds)) {
    return std::optional<Outcome>(
        candidate::Quarantined{time.seconds, time.bound_seconds, shape.name});
  }
  // What is timed is what is checked: the same program, on the same shape.
  if (effort.few_schedules > 0) {
    CUCO_TRY_ASSIGN(auto wrong,
                    check_shape(object, shape, effort.few_schedules,
                                {.watch = watches(effort), .large = true, .like = &known->outputs},
                                &scored->left_out));
    if (wrong) return wrong;
  }
  if (effort.profile) CUCO_TRY(add_profile(object, shape, &time));
  scored->shapes.push_back(std::move(time));
  return std::optional<Outcome>();
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
      joined.back().phases = std::move(time.phases);
      joined.back().hot_spots = std::move(time.hot_spots);
      continue;
    }
    if (!full.empty()) {
      time.shape = full;
      time.scale_model.factor = factor;
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

Result<void> Judge::add_profile(const system::Path& object,
                                const workload::Shape& shape,
                                candidate::ShapeTime* time) {
  const Stages::Lap lap(&stages_, "profile");
  CUCO_TRY_ASSIGN(TrialResult result, trials_.profile(object, shape));
  if (auto* times = std::get_if<TrialTimes>(&result)) {  // or it does not pass every time
    time->phases = std::move(times->profile.phases);
    time->hot_spots = std::move(times->profile.hot_spots);
  }
  return {};
}

}  // namespace cuco::judge
