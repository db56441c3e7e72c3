// SPDX-License-Identifier: Apache-2.0
// The cascade on a real GPU: correctness, then interleaved pairs against the seed.
#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
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
    for (const workload::Shape* shape : workload().shapes_for(workload::Use::Full)) {
      if (parts_.reference) {
        CUCO_TRY_ASSIGN(auto outcome, check_full_shape(object, *shape));
        if (outcome) return *std::move(outcome);
        ++scored.checked_shapes;
      }
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
  const std::vector<double> times = deciding_seconds(pairs.candidate);
  const double seconds = median(times);
  if (measure::is_too_fast(seconds, bound.seconds)) {
    return std::optional<Outcome>(candidate::Quarantined{seconds, bound.seconds, shape.name});
  }
  auto time = shape_time(shape, seconds, median(deciding_seconds(pairs.incumbent)), bound);
  time.samples = times;
  time.speedup = {pairs.speedup.low, pairs.speedup.high};
  scored->shapes.push_back(std::move(time));
  const std::lock_guard lock(measured_mutex_);
  measured_.push_back({shape.name, std::move(pairs)});
  return std::optional<Outcome>();
}

Result<system::Path> Judge::build_passed(const candidate::Candidate& candidate) {
  const auto file = candidate.source.find("program.cu");
  CUCO_ASSERT(file != nullptr);
  CUCO_TRY_ASSIGN(Built built,
                  build_screened(*parts_.builder, workload().program, file->text, false, nullptr));
  if (const auto* object = std::get_if<system::Path>(&built)) return *object;
  return Error{ErrorKind::Unavailable,
               fmt::format("#{} passed before and does not build now: {}", candidate.number,
                           candidate::summary(std::get<Outcome>(built)))};
}

Result<candidate::Comparison> Judge::compare(const candidate::Candidate& challenger,
                                             const candidate::Candidate& incumbent,
                                             candidate::Rung rung) {
  if (!is_measured()) return ProgramJudge::compare(challenger, incumbent, rung);
  CUCO_TRY_ASSIGN(const system::Path before, build_passed(incumbent));
  CUCO_TRY_ASSIGN(const system::Path after, build_passed(challenger));
  const std::lock_guard one_at_a_time(gpu_mutex_);
  candidate::Comparison comparison;
  std::vector<candidate::Interval> intervals;
  bool promoted = false;
  for (const workload::Shape* shape : workload().shapes_for(workload::Use::Time)) {
    CUCO_TRY_ASSIGN(PairResult result, trials_.pairs(before, after, *shape));
    const auto* pairs = std::get_if<PairTimes>(&result);
    if (pairs == nullptr) return comparison;  // it does not pass every time: no gain
    const std::vector<double> then = deciding_seconds(pairs->incumbent);
    const std::vector<double> now = deciding_seconds(pairs->candidate);
    for (std::size_t i = 0; i < std::min(then.size(), now.size()); ++i)
      comparison.samples.push_back(then[i] / now[i]);
    intervals.push_back({pairs->speedup.low, pairs->speedup.high});
    promoted = promoted || pairs->decision == measure::Decision::Promote;
  }
  comparison.speedup = mean_of(intervals);
  // Some shape gained for certain, and all together did not lose.
  comparison.faster = promoted && comparison.speedup.low > 1;
  return comparison;
}

}  // namespace cuco::judge
