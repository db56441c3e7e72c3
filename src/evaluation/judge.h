// SPDX-License-Identifier: Apache-2.0
/// \file
/// The judge: the cascade from source to score, on the virtual cluster.
///
///   screen -> build -> object screen -> check shapes -> [hidden shapes] -> timed shapes -> score
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "candidate/evaluator.h"
#include "evaluation/builder.h"
#include "evaluation/oracle_trust.h"
#include "evaluation/secret.h"
#include "evaluation/trial.h"
#include "evaluation/workload.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"

namespace cuco::evaluation {

struct JudgeOptions {
  system::Path workload;
  system::Path cache;  ///< Built objects and the machine's secret; must outlive runs.
  std::uint64_t seed = 0;
  system::Tier tier = system::Tier::Hostile;
  std::string topology;  ///< Empty: the workload's.
  bool full = false;     ///< Check the full shapes too: for days on a virtual cluster.
  std::uint64_t server_memory = std::uint64_t{8} << 30U;  ///< Of each virtual cluster.
};

/// Where a person's cache is: $XDG_CACHE_HOME/cuco or ~/.cache/cuco.
[[nodiscard]] system::Path default_cache(const system::Environment& environment);

class Judge final : public candidate::Evaluator {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Judge>> create(const JudgeOptions& options);

  [[nodiscard]] candidate::Target target() const override;
  [[nodiscard]] Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                                    candidate::Fidelity fidelity) override;
  /// The same for a bare program text.
  [[nodiscard]] Result<candidate::Outcome> judge(const std::string& program,
                                                 candidate::Fidelity fidelity);

  /// Whether the oracle tells right from wrong, on the check shapes.
  [[nodiscard]] Result<std::vector<OracleTest>> test_oracle() const;

  [[nodiscard]] const Workload& workload() const { return workload_; }

 private:
  Judge(Workload workload, Secret secret) : workload_(std::move(workload)), secret_(secret) {}

  /// Screen, build, object screen: the object, or why not.
  using Built = std::variant<system::Path, candidate::Outcome>;
  Result<Built> build(const std::string& program);
  Result<void> build_reference();
  enum class Purpose { Check, Time, Full };
  Result<TrialResult> trial(const system::Path& object, const Shape& shape, Purpose purpose);
  /// Correctness, then time.
  Result<candidate::Outcome> run(const system::Path& object, candidate::Fidelity fidelity);
  Result<candidate::Outcome> score(candidate::Scored scored);
  /// The seed's seconds on a timed shape, measured once.
  Result<double> baseline(const Shape& shape);
  Result<double> bound(const Shape& shape) const;

  Workload workload_;
  Secret secret_;
  BuildSettings build_settings_;
  ClusterSpec cluster_;
  system::Tier tier_ = system::Tier::Hostile;
  hardware::GpuDescription gpu_;
  fabric::Topology topology_;
  system::Path oracle_;
  std::optional<system::Path> reference_;  ///< Built, if full shapes are wanted.
  std::mutex baseline_mutex_;
  std::map<std::string, double> baselines_;  ///< By shape name.
};

}  // namespace cuco::evaluation
