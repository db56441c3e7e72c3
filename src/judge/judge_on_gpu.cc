// SPDX-License-Identifier: Apache-2.0
// The cascade on a real GPU: correctness, then interleaved pairs against the seed.
#include <algorithm>

#include "judge/judge.h"
#include "judge/score.h"

namespace cuco::judge {

using candidate::Outcome;

Result<Outcome> Judge::run_on_gpu(const system::Path& object, const Effort& effort) {
  candidate::Scored scored;
  auto shapes = workload().shapes_for(workload::Use::Check);
  if (effort.hidden_shapes) {
    const auto hidden = workload().shapes_for(workload::Use::Hidden);
    scored.checked_hidden_shapes = static_cast<int>(hidden.size());
    shapes.insert(shapes.end(), hidden.begin(), hidden.end());
  }
  scored.checked_shapes = static_cast<int>(shapes.size()) - scored.checked_hidden_shapes;
  scored.checked_schedules = 1;
  for (const workload::Shape* shape : shapes) {
    CUCO_TRY_ASSIGN(TrialResult result, trials_.plain(object, *shape));
    if (auto* outcome = std::get_if<Outcome>(&result)) return std::move(*outcome);
  }
  // Real time costs the same at full size, so the full shapes are timed, too.
  auto timed = workload().shapes_for(workload::Use::Time);
  if (effort.hidden_shapes) {
    CUCO_TRY_ASSIGN(auto outcome, check_full_shapes(object, &scored));
    if (outcome) return *std::move(outcome);
    for (const workload::Shape* shape : workload().shapes_for(workload::Use::Full)) {
      const bool known = std::find(timed.begin(), timed.end(), shape) != timed.end();
      if (!known) timed.push_back(shape);
    }
  }
  CUCO_TRY_ASSIGN(const system::Path seed, build_seed());
  for (const workload::Shape* shape : timed) {
    CUCO_TRY_ASSIGN(auto outcome, time_on_gpu(seed, object, *shape, &scored));
    if (outcome) return *std::move(outcome);
  }
  return score(std::move(scored));
}

Result<std::optional<Outcome>> Judge::time_on_gpu(const system::Path& seed,
                                                  const system::Path& object,
                                                  const workload::Shape& shape,
                                                  candidate::Scored* scored) {
  CUCO_TRY_ASSIGN(PairResult result, trials_.pairs(seed, object, shape));
  if (auto* outcome = std::get_if<Outcome>(&result)) return std::optional(std::move(*outcome));
  auto& pairs = std::get<PairTimes>(result);
  CUCO_TRY_ASSIGN(const measure::Bound bound, this->bound(shape));
  const double seconds = median(pairs.candidate.seconds);
  if (measure::is_too_fast(seconds, bound.seconds)) {
    return std::optional<Outcome>(candidate::Quarantined{seconds, bound.seconds, shape.name});
  }
  scored->shapes.push_back(shape_time(shape, seconds, median(pairs.incumbent.seconds), bound));
  const std::lock_guard lock(measured_mutex_);
  measured_.push_back({shape.name, std::move(pairs)});
  return std::optional<Outcome>();
}

}  // namespace cuco::judge
