// SPDX-License-Identifier: Apache-2.0
/// \file
/// The judge: the cascade from source to score, on the virtual cluster.
///
///   screen -> build -> object screen -> check shapes -> [hidden shapes] -> timed shapes -> score
///
/// Check and hidden shapes are run plainly, with ranks held back, with late deliveries and under
/// adversarial schedules; each element of each iteration is compared with the fp64 reference. On
/// timed shapes that is a secret sample, and every element is compared with the seed's.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/evaluator.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "judge/oracle/oracle_trust.h"
#include "judge/pairs.h"
#include "judge/trial.h"
#include "toolchain/object_builder.h"
#include "workload/secret.h"
#include "workload/workload.h"

namespace cuco::judge {

struct JudgeOptions {
  system::Path workload;
  system::Path cache;  ///< Built objects and the machine's secret; must outlive runs.
  std::uint64_t seed = 0;
  system::Tier tier = system::Tier::Hostile;
  std::string topology;  ///< Empty: the workload's.
  bool on_gpu = false;   ///< This machine's GPU instead of virtual ones; single-GPU workloads.
  bool full = false;     ///< Check the full shapes too; on a real GPU that is always done.
  bool check = false;    ///< Watch every access on check and hidden shapes: races become verdicts.
  std::uint64_t server_memory = std::uint64_t{8} << 30U;  ///< Of each virtual cluster.
};

/// What a shape needs of one GPU's memory.
struct ShapeMemory {
  std::string shape;
  std::uint64_t bytes = 0;  ///< Of all buffer sets, with their guard zones.
  std::uint64_t capacity = 0;
};

class Judge final : public candidate::Evaluator {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Judge>> create(const JudgeOptions& options);

  [[nodiscard]] candidate::Target target() const override;
  [[nodiscard]] Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                                    candidate::Fidelity fidelity) override;
  /// The same for a bare program text.
  [[nodiscard]] Result<candidate::Outcome> judge(const std::string& program,
                                                 candidate::Fidelity fidelity);

  /// Only whether it is right on the check shapes, plainly: nothing if it is.
  [[nodiscard]] Result<std::optional<candidate::Outcome>> check(const std::string& program);

  /// Whether the oracle tells right from wrong, on the check shapes.
  [[nodiscard]] Result<std::vector<OracleTest>> test_oracle() const;

  [[nodiscard]] Result<std::vector<ShapeMemory>> memory_of_shapes() const;
  /// How each timed shape was decided on a real GPU.
  [[nodiscard]] const std::vector<MeasuredShape>& measured() const { return measured_; }

  [[nodiscard]] const workload::Workload& workload() const { return workload_; }
  /// Where the time went, all judgements together.
  [[nodiscard]] std::map<std::string, double> stages() const { return stages_.seconds(); }
  /// The seed's seconds on a timed shape, measured once.
  Result<double> baseline(const workload::Shape& shape);

 private:
  Judge(workload::Workload workload, workload::Secret secret)
      : workload_(std::move(workload)), secret_(secret) {}

  /// Screen, build, object screen: the object, or why not.
  using Built = std::variant<system::Path, candidate::Outcome>;
  Result<void> build_reference();
  /// `device_only`: see BuildSettings.
  Result<Built> build(const std::string& program, Stages* stages, bool device_only);
  /// What is known about the seed on one timed shape.
  struct Seed {
    double seconds = 0;
    TrialOutputs outputs;
  };
  /// Timed as candidates are, with as many surprises: what an iteration takes may depend a little
  /// on those before it.
  Result<const Seed*> seed(const workload::Shape& shape, int surprises);
  TrialSpec trial_spec(const system::Path& object, const workload::Shape& shape);
  /// Of a check without an adversarial schedule.
  [[nodiscard]] targets::ClusterSpec plain_cluster() const;
  /// Starts what so many plain checks will need, so that it is there when the compiler is done.
  Result<void> prepare(std::size_t trials);
  Result<Surroundings> take_standby();
  Result<TrialResult> run_in_new_surroundings(const TrialSpec& spec);
  Result<TrialResult> check_trial(const system::Path& object,
                                  const workload::Shape& shape,
                                  std::uint64_t schedule_seed);
  Result<TrialResult> time_trial(const system::Path& object,
                                 const workload::Shape& shape,
                                 const TrialOutputs* like,
                                 int surprises);
  /// Plain, and then under so many adversarial schedules.
  Result<std::optional<candidate::Outcome>> check_shape(const system::Path& object,
                                                        const workload::Shape& shape,
                                                        int schedules);
  /// Adds to a wrong result what the checker sees in the same shape.
  void explain(const system::Path& object,
               const workload::Shape& shape,
               candidate::Outcome* outcome);
  /// Correctness and interleaved pairs against the seed on a real GPU.
  Result<candidate::Outcome> run_on_gpu(const system::Path& object, candidate::Fidelity fidelity);
  /// Pairs on one shape: adds its time to `scored`, or the outcome.
  Result<std::optional<candidate::Outcome>> time_on_gpu(const system::Path& seed,
                                                        const system::Path& object,
                                                        const workload::Shape& shape,
                                                        candidate::Scored* scored);
  /// Every element against the trusted GPU reference.
  Result<TrialResult> full_trial(const system::Path& object, const workload::Shape& shape);
  /// All full shapes, if there is a reference; counts them.
  Result<std::optional<candidate::Outcome>> check_full_shapes(const system::Path& object,
                                                              candidate::Scored* scored);
  /// One more iteration, looked at from inside: where the time goes.
  Result<void> add_profile(const system::Path& object,
                           const workload::Shape& shape,
                           candidate::ShapeTime* time);
  /// Correctness, then time.
  Result<candidate::Outcome> run(const system::Path& object, candidate::Fidelity fidelity);
  Result<candidate::Outcome> score(candidate::Scored scored);
  Result<measure::Bound> bound(const workload::Shape& shape) const;

  workload::Workload workload_;
  workload::Secret secret_;
  toolchain::BuildSettings build_settings_;
  targets::ClusterSpec cluster_;
  bool check_ = false;
  system::Tier tier_ = system::Tier::Hostile;
  hardware::GpuDescription gpu_;
  fabric::Topology topology_;
  system::Path oracle_;
  std::optional<system::Path> reference_;  ///< Built, if full shapes are wanted.
  std::vector<MeasuredShape> measured_;
  Stages stages_;
  std::mutex standby_mutex_;
  std::vector<Surroundings> standby_;
  std::mutex seeds_mutex_;
  std::map<std::pair<std::string, int>, Seed> seeds_;  ///< By shape name and surprises.
};

}  // namespace cuco::judge
