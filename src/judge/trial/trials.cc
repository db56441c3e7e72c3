// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/trials.h"

#include <chrono>

#include "judge/effort.h"
#include "judge/oracle/gpu_reference.h"
#include "judge/trial/trial.h"

namespace cuco::judge {
namespace {

// Of a timed shape's outputs: so many elements each are compared with the fp64 reference.
constexpr std::size_t kTimedCheckLimit = 16384;
constexpr std::size_t kCheckAll = ~std::size_t{0};
constexpr std::size_t kMostStarts = 12;
// Of a full shape's or its scale model's, where an element is a long sum: the GPU reference, or the
// seed's outputs, see to the rest.
constexpr std::size_t kFullCheckLimit = 2048;
// For the checker to say why a result is wrong: the verdict does not wait for it longer.
constexpr std::chrono::seconds kWhyLimit{30};
// For an adversarial schedule on a shape as large as a timed one: what does not end is left out.
constexpr std::chrono::seconds kLargeScheduleLimit{20};
// For an iteration of the larger scale model under the eyes of the checker: the same.
constexpr std::chrono::seconds kBriefWatchLimit{40};

targets::VirtualSpec watched(targets::VirtualSpec machine) {
  machine.check = true;
  return machine;
}

}  // namespace

Trials::Trials(const TrialSetting& setting, BenchMaker& maker)
    : setting_(setting),
      maker_(maker),
      plain_(maker, setting.machine),
      watched_(maker, watched(setting.machine)) {}

TrialSpec Trials::spec(const system::Path& object, const workload::Shape& shape) const {
  TrialSpec spec{.workload = setting_.workload,
                 .shape = shape,
                 .secret = setting_.secret,
                 .candidate = object,
                 .machine = setting_.machine,
                 .tier = setting_.tier,
                 .stages = setting_.stages};
  spec.machine.divisor = shape.divisor;
  return spec;
}

Result<TrialResult> Trials::run_on_new_bench(const TrialSpec& spec) {
  CUCO_TRY_ASSIGN(Bench bench, start_bench(maker_, spec.machine));
  return run_trial(spec, std::move(bench), maker_);
}

Result<TrialResult> Trials::plain(const system::Path& object, const workload::Shape& shape) {
  return run_on_new_bench(spec(object, shape));
}

Result<TrialResult> Trials::check(const system::Path& object,
                                  const workload::Shape& shape,
                                  const Scrutiny& scrutiny) {
  TrialSpec wanted = spec(object, shape);
  wanted.hold_back = !scrutiny.brief;
  const bool scaled = shape.divisor != hardware::Divisor{};
  wanted.check_limit = scaled ? kFullCheckLimit : scrutiny.large ? kTimedCheckLimit : kCheckAll;
  wanted.like = scrutiny.like;
  const bool adversarial = scrutiny.schedule_seed != 0;
  wanted.iterations = scrutiny.iterations;
  if (scrutiny.large) wanted.iterations = adversarial ? 1 : Effort::kLargeIterations;
  if (adversarial) {
    // The relation of what is ordered does not depend on the schedule: it is watched once.
    wanted.machine.schedule_seed = scrutiny.schedule_seed;
    if (scrutiny.large) wanted.run_limit = kLargeScheduleLimit;
    return run_on_new_bench(wanted);
  }
  wanted.machine.check = scrutiny.watch;
  if (scrutiny.brief) {
    // Who counts its calls does not know how many of them are watched.
    wanted.iterations += static_cast<int>(setting_.secret.key("watched " + shape.name) % 2);
    wanted.run_limit = kBriefWatchLimit;
  }
  if (scrutiny.large) {
    wanted.machine.seed = 0;  // the machine that it is timed on
    return run_on_new_bench(wanted);
  }
  CUCO_TRY_ASSIGN(Bench bench, (scrutiny.watch ? watched_ : plain_).take());
  return run_trial(wanted, std::move(bench), maker_);
}

Result<TrialResult> Trials::time(const system::Path& object,
                                 const workload::Shape& shape,
                                 const TrialOutputs* like,
                                 Timing timing) {
  TrialSpec wanted = spec(object, shape);
  wanted.check_limit = kTimedCheckLimit;
  wanted.machine.seed = 0;  // one machine for all: its jitter is not the candidate's
  wanted.like = like;
  wanted.surprises = setting_.workload.ranks > 1 ? timing.surprises : 0;
  wanted.machine.profile = timing.profile;
  if (shape.divisor != hardware::Divisor{}) {
    wanted.iterations = Effort::kScaledIterations;
    wanted.check_limit = kFullCheckLimit;
  }
  if (like == nullptr) {  // the seed itself
    wanted.keep_outputs = true;
    wanted.stages = nullptr;
  }
  return run_on_new_bench(wanted);
}

Result<TrialResult> Trials::full(const system::Path& object,
                                 const workload::Shape& shape,
                                 const system::Path& reference) {
  TrialSpec wanted = spec(object, shape);
  wanted.check_limit = kFullCheckLimit;
  CUCO_TRY_ASSIGN(const auto running, GpuReference::start(wanted, reference, maker_));
  wanted.reference = running.get();
  return run_on_new_bench(wanted);
}

Result<TrialResult> Trials::profile(const system::Path& object,
                                    const workload::Shape& shape,
                                    bool timeline) {
  TrialSpec wanted = spec(object, shape);
  wanted.check_limit = kTimedCheckLimit;
  wanted.stages = nullptr;
  wanted.iterations = 2;  // the first loads the code
  wanted.machine.seed = 0;
  wanted.machine.profile = true;
  wanted.machine.timeline = timeline;
  return run_on_new_bench(wanted);
}

Result<TrialResult> Trials::watch(const system::Path& object, const workload::Shape& shape) {
  TrialSpec wanted = spec(object, shape);
  wanted.stages = nullptr;
  wanted.hold_back = true;
  wanted.check_limit = kTimedCheckLimit;
  wanted.machine.check = true;
  wanted.run_limit = kWhyLimit;
  return run_on_new_bench(wanted);
}

namespace {

/// Small buffers are had many times, so that short kernels are timed many at a time.
constexpr std::size_t kSmallSet = std::size_t{8} << 20U;
constexpr int kSetsOfSmall = 16;

Result<std::size_t> bytes_of_set(const TrialSpec& spec) {
  std::size_t bytes = 0;
  for (const auto* buffers : {&spec.workload.inputs, &spec.workload.outputs}) {
    CUCO_TRY_ASSIGN(const auto described, spec.workload.buffers(*buffers, spec.shape));
    for (const workload::Buffer& buffer : described)
      bytes += buffer.bytes();
  }
  return bytes;
}

}  // namespace

Result<PairResult> Trials::pairs(const system::Path& seed,
                                 const system::Path& object,
                                 const workload::Shape& shape) {
  TrialSpec incumbent = spec(seed, shape);
  TrialSpec candidate = spec(object, shape);
  incumbent.check_limit = candidate.check_limit = kTimedCheckLimit;
  CUCO_TRY_ASSIGN(const std::size_t bytes, bytes_of_set(incumbent));
  if (bytes <= kSmallSet) incumbent.sets = candidate.sets = kSetsOfSmall;
  PairRules rules;
  rules.test.maximum_pairs = kMostStarts;
  // Inputs of a full shape take some seconds to make.
  if (!shape.uses.contains(workload::Use::Time)) rules.pairs_per_start = 1;
  return run_pairs(incumbent, candidate, maker_, rules);
}

}  // namespace cuco::judge
