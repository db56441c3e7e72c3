// SPDX-License-Identifier: Apache-2.0
/// \file
/// The judge: the cascade from source to score.
///
///   screen -> build -> object screen -> check shapes -> [hidden] -> timed -> [near timed] -> score
///
/// Every shape is run plainly, with ranks held back, with late deliveries and under adversarial
/// schedules, and at the highest fidelity the checker sees every access. On check and hidden shapes
/// each element of each iteration is compared with the fp64 reference; on timed ones that is a
/// secret sample, and every element is compared with the seed's. All but the timed and full shapes
/// are drawn by the secret.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "judge/builder.h"
#include "judge/effort.h"
#include "judge/program_judge.h"
#include "judge/real_place.h"
#include "judge/seed_times.h"
#include "judge/trial/bench.h"
#include "judge/trial/trials.h"
#include "workload/secret.h"
#include "workload/workload.h"

namespace cuco::judge {

/// What a judge is made of. Compiler and benches are interfaces: tests put their own there.
struct JudgeParts {
  workload::Workload workload;
  workload::Secret secret;
  fabric::Topology topology;
  hardware::GpuDescription gpu;  ///< What bounds are computed for, and virtual GPUs imitate.
  targets::VirtualSpec machine;
  system::Tier tier = system::Tier::Hostile;
  bool check = false;     ///< The checker watches at every fidelity, not only at the highest.
  bool profile = false;   ///< Where the time goes is asked at every fidelity.
  bool small = false;     ///< Full shapes are not timed, whatever the fidelity.
  double scale = 0;       ///< What full shapes are divided by; 0: by what their emulation costs.
  int threads = 1;        ///< Trials at a time.
  system::Path timeline;  ///< A trace of seed and candidate goes there; empty: none.
  candidate::Provenance provenance;
  std::optional<RealPlace> real_gpu = {};  ///< Absent: times are predicted.
  std::optional<system::Path> reference;   ///< Built, if full shapes are wanted.
  std::unique_ptr<Builder> builder;
  std::unique_ptr<BenchMaker> benches;
  OnProgress on_progress = {};
};

/// A shape that is to be timed.
struct PlannedTime {
  workload::Shape shape;
  measure::Bound bound;  ///< Of the full shape, where this is a scale model.
  Effort effort;
  std::string full;       ///< The name of that shape; empty: it is timed as it is.
  std::string why_alone;  ///< Why there is no smaller model of it beside this one.
};

/// Trials that did not end in time and need not, in words. May be used from several threads.
class Unfinished {
 public:
  void add(const std::string& trial) {
    const std::lock_guard lock(mutex_);
    trials_.insert(trial);
  }
  [[nodiscard]] const std::set<std::string>& trials() const { return trials_; }

 private:
  std::mutex mutex_;
  std::set<std::string> trials_;
};

class OrderedSteps;

/// What was seen of a timed shape beside its time.
struct Watched {
  Profile profile;
  double seconds = 0;  ///< Of an iteration under the eyes of the checker; 0: there was none.
};

class Judge final : public ProgramJudge {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Judge>> create(const JudgeOptions& options);
  explicit Judge(JudgeParts parts);

  [[nodiscard]] candidate::Target target() const override;
  [[nodiscard]] Result<candidate::Outcome> judge(const std::string& program,
                                                 candidate::Fidelity fidelity) override;
  std::optional<candidate::MachineCode> build_only(const std::string& program,
                                                   candidate::Fidelity fidelity) override;
  [[nodiscard]] candidate::Provenance provenance() const override { return parts_.provenance; }
  /// On a real GPU: interleaved pairs on every timed shape.
  [[nodiscard]] Result<candidate::Comparison> compare(const candidate::Candidate& challenger,
                                                      const candidate::Candidate& incumbent,
                                                      candidate::Rung rung) override;
  /// On the check shapes, plainly.
  [[nodiscard]] Result<std::optional<candidate::Outcome>> check(
      const std::string& program) override;
  /// Shapes, oracle, seed; what cannot be tried has failed, and the rest is still tried.
  [[nodiscard]] std::vector<WorkloadTest> test_workload(bool run_seed) override;

  [[nodiscard]] std::string name() const override { return parts_.workload.name; }
  [[nodiscard]] std::string basis(const candidate::Scored& scored) const override;
  [[nodiscard]] std::string_view verdict(const candidate::Outcome& outcome) const override {
    return candidate::verdict(outcome);
  }
  [[nodiscard]] std::map<std::string, double> stages() const override { return stages_.seconds(); }
  [[nodiscard]] double host_seconds() const override { return stages_.host(); }
  [[nodiscard]] std::vector<MeasuredShape> measured() const override;

  [[nodiscard]] const workload::Workload& workload() const { return parts_.workload; }
  /// One more shape that candidates are checked on, from now on. Not while one is judged.
  void add_check_shape(workload::Shape shape) {
    parts_.workload.shapes.push_back(std::move(shape));
  }
  /// The seed's seconds on a timed shape, measured once.
  Result<double> baseline(const workload::Shape& shape);

 private:
  using OptionalOutcome = std::optional<candidate::Outcome>;

  [[nodiscard]] bool is_measured() const { return parts_.real_gpu.has_value(); }
  [[nodiscard]] Result<measure::Bound> bound(const workload::Shape& shape) const;
  Result<system::Path> build_seed();
  /// A candidate that has passed before; an Error if it does not build now.
  Result<system::Path> build_passed(const candidate::Candidate& candidate);
  Result<const SeedTime*> seed(const workload::Shape& shape, int surprises);

  // workload_tests.cc
  void test_memory(std::vector<WorkloadTest>& tests) const;
  void test_oracle(std::vector<WorkloadTest>& tests) const;
  void test_seed(std::vector<WorkloadTest>& tests);

  // judge_on_virtual.cc: correctness, then predicted time.
  Result<candidate::Outcome> run_on_virtual(const system::Path& object,
                                            const Effort& effort,
                                            const StepWatch& watch);
  /// Tells whoever waits how far the judgement of this program is.
  [[nodiscard]] StepWatch watch_of(const std::string& program) const;
  /// Everything but the timed shapes, in the order of the cascade.
  void add_checks(const system::Path& object,
                  const Effort& effort,
                  OrderedSteps* steps,
                  candidate::Scored* scored,
                  Unfinished* unfinished);
  /// And what is asked of a timed shape beyond its time.
  /// How long the long run on this shape is: a secret, and as long as it may be dear.
  [[nodiscard]] Result<int> long_iterations(const workload::Shape& shape) const;
  void add_checks_of_timed(const system::Path& object,
                           const PlannedTime& planned,
                           OrderedSteps* steps,
                           Watched* watched,
                           Unfinished* unfinished);
  /// Plain, or under adversarial schedule 1, 2, …; one on a large shape may fail to end in time,
  /// and so may a brief one.
  /// `seconds`: of an undisturbed iteration.
  Result<OptionalOutcome> check_shape(const system::Path& object,
                                      const workload::Shape& shape,
                                      int schedule,
                                      Scrutiny scrutiny,
                                      Unfinished* unfinished,
                                      double* seconds = nullptr);
  /// Every element against the reference.
  Result<OptionalOutcome> check_full_shape(const system::Path& object,
                                           const workload::Shape& shape);
  [[nodiscard]] bool watches(const Effort& effort) const { return parts_.check || effort.watch; }
  [[nodiscard]] bool times_full_shapes(const Effort& effort) const {
    return effort.scaled && !parts_.small && !workload().scale.empty();
  }
  /// What this effort does not look at.
  [[nodiscard]] std::vector<std::string> left_out(const Effort& effort) const;
  /// Small shapes first; then two scale models of each full one, the larger first.
  [[nodiscard]] Result<std::vector<PlannedTime>> plan_times(const Effort& effort) const;
  Result<OptionalOutcome> time_shape(const system::Path& object,
                                     const PlannedTime& planned,
                                     candidate::ShapeTime* time,
                                     Profile* profile);
  /// The times of a full shape's two models become one, and what they do not agree on a warning.
  void join_scale_models(const std::vector<PlannedTime>& plan, candidate::Scored* scored) const;
  /// Adds to a wrong result what the checker sees in the same shape.
  void explain(const system::Path& object,
               const workload::Shape& shape,
               candidate::Outcome* outcome);
  /// One more iteration of the seed and of the candidate, beside each other.
  Result<void> write_timeline(const system::Path& object, const workload::Shape& shape);

  // judge_on_gpu.cc: correctness, then interleaved pairs against the seed.
  Result<candidate::Outcome> run_on_gpu(const system::Path& object, const Effort& effort);
  /// Pairs on one shape: adds its time to `scored`, or the outcome.
  Result<OptionalOutcome> time_on_gpu(const system::Path& seed,
                                      const system::Path& object,
                                      const workload::Shape& shape,
                                      candidate::Scored* scored);

  candidate::Outcome score(candidate::Scored scored) const;

  JudgeParts parts_;
  Stages stages_;
  Trials trials_;
  SeedTimes seeds_;
  std::mutex gpu_mutex_;  ///< One trial at a time on a real GPU.
  mutable std::mutex measured_mutex_;
  std::vector<MeasuredShape> measured_;
};

}  // namespace cuco::judge
