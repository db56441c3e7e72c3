// SPDX-License-Identifier: Apache-2.0
// The cascade on virtual GPUs: check shapes, hidden shapes, full shapes, timed shapes.
#include <fmt/format.h>

#include "judge/judge.h"
#include "judge/score.h"

namespace cuco::judge {

using candidate::Outcome;

Result<Outcome> Judge::run_on_virtual(const system::Path& object, const Effort& effort) {
  auto checks = workload().shapes_for(workload::Use::Check);
  auto timed = workload().shapes_for(workload::Use::Time);
  std::vector<const workload::Shape*> hidden;
  if (!effort.every_shape) {
    checks.resize(1);
    timed.resize(1);
  }
  if (effort.hidden_shapes) hidden = workload().shapes_for(workload::Use::Hidden);
  candidate::Scored scored;
  scored.checked_shapes = static_cast<int>(checks.size());
  scored.checked_hidden_shapes = static_cast<int>(hidden.size());
  // Held back, slow, late deliveries; and the adversarial ones.
  scored.checked_schedules =
      (workload().ranks > 1 ? workload().budget.iterations + 1 : 1) + effort.schedules;

  for (const workload::Shape* shape : checks) {
    CUCO_TRY_ASSIGN(auto outcome, check_shape(object, *shape, effort.schedules));
    if (outcome) return *std::move(outcome);
  }
  for (const workload::Shape* shape : hidden) {
    CUCO_TRY_ASSIGN(auto outcome, check_shape(object, *shape, 1));
    if (outcome) return *std::move(outcome);
  }
  CUCO_TRY_ASSIGN(auto wrong_at_size, check_full_shapes(object, &scored));
  if (wrong_at_size) return *std::move(wrong_at_size);
  for (const workload::Shape* shape : timed) {
    CUCO_TRY_ASSIGN(auto outcome, time_shape(object, *shape, effort, &scored));
    if (outcome) return *std::move(outcome);
  }
  return score(std::move(scored));
}

Result<std::optional<Outcome>> Judge::check_shape(const system::Path& object,
                                                  const workload::Shape& shape,
                                                  int schedules) {
  for (int i = 0; i <= schedules; ++i) {
    // Which schedules is a secret of the run, too; 0 is the plain one.
    const std::uint64_t seed =
        i == 0
            ? 0
            : 1 + parts_.secret.key(fmt::format("schedule {} {}", shape.name, i)) % 1'000'000'000;
    CUCO_TRY_ASSIGN(TrialResult result, trials_.check(object, shape, seed));
    if (auto* outcome = std::get_if<Outcome>(&result)) {
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

Result<std::optional<Outcome>> Judge::time_shape(const system::Path& object,
                                                 const workload::Shape& shape,
                                                 const Effort& effort,
                                                 candidate::Scored* scored) {
  CUCO_TRY_ASSIGN(const SeedTime* known, seed(shape, effort.surprises()));
  CUCO_TRY_ASSIGN(TrialResult result,
                  trials_.time(object, shape, &known->outputs, effort.surprises()));
  if (auto* outcome = std::get_if<Outcome>(&result)) {
    explain(object, shape, outcome);
    return std::optional(std::move(*outcome));
  }
  CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(shape));
  const auto& times = std::get<TrialTimes>(result);
  candidate::ShapeTime time = shape_time(shape, median(times.seconds), known->seconds, bound);
  time.samples = times.seconds;
  if (measure::is_too_fast(time.seconds, time.bound_seconds)) {
    return std::optional<Outcome>(
        candidate::Quarantined{time.seconds, time.bound_seconds, shape.name});
  }
  if (effort.profile) CUCO_TRY(add_profile(object, shape, &time));
  scored->shapes.push_back(std::move(time));
  return std::optional<Outcome>();
}

void Judge::explain(const system::Path& object, const workload::Shape& shape, Outcome* outcome) {
  auto* wrong = std::get_if<candidate::WrongResult>(outcome);
  if (wrong == nullptr || is_measured() || parts_.check) return;
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
