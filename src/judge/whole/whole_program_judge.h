// SPDX-License-Identifier: Apache-2.0
/// \file
/// The judge of whole programs: each is built and run on the virtual cluster, in a sandbox, under
/// the plain schedule and adversarial ones, with other inputs than its own where its seed takes
/// them, and compared with what its seed does. In the end the checker watches it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "judge/program_judge.h"
#include "judge/whole/other_inputs.h"
#include "judge/whole/whole_program.h"
#include "targets/virtual/kept_run.h"
#include "toolchain/object_builder.h"
#include "workload/secret.h"

namespace cuco::judge {

class WholeProgramJudge final : public ProgramJudge {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WholeProgramJudge>> create(
      WholeProgram program, const JudgeOptions& options);

  [[nodiscard]] candidate::Target target() const override;
  [[nodiscard]] Result<candidate::Outcome> judge(const std::string& program,
                                                 candidate::Fidelity fidelity) override;
  std::optional<candidate::MachineCode> build_only(const std::string& program,
                                                   candidate::Fidelity fidelity) override;
  [[nodiscard]] candidate::Provenance provenance() const override { return provenance_; }
  [[nodiscard]] Result<std::optional<candidate::Outcome>> check(
      const std::string& program) override;
  [[nodiscard]] std::vector<WorkloadTest> test_workload(bool run_seed) override;

  [[nodiscard]] std::string name() const override { return program_.name; }
  [[nodiscard]] std::string basis(const candidate::Scored& scored) const override;
  [[nodiscard]] std::string_view verdict(const candidate::Outcome& outcome) const override;
  [[nodiscard]] std::string_view note() const override { return kWholeProgramMark; }

 private:
  WholeProgramJudge(WholeProgram program, workload::Secret secret)
      : program_(std::move(program)), secret_(secret) {}

  using OptionalOutcome = std::optional<candidate::Outcome>;
  using Built = std::variant<system::Path, candidate::Outcome>;
  Result<Built> build_text(const std::string& text) const;
  struct Circumstances {
    int schedule = 0;  ///< 0: the plain one.
    bool is_watched = false;
    vcluster::InputVariation variation;
  };
  Result<targets::KeptRun> run(const system::Path& built, const Circumstances& how) const;
  struct Seed {
    targets::KeptRun plain;  ///< Of the plain schedule, with the inputs that candidates get.
    Taken other_inputs = Taken::Refused;
    vcluster::InputVariation variation;
  };
  /// Made once.
  Result<const Seed*> seed();
  Result<Seed> run_seed() const;
  /// What the checker finds in a candidate and not in its seed.
  Result<std::vector<candidate::Finding>> watch(const system::Path& built, const Seed& beside);
  Result<std::vector<candidate::Finding>> findings_in(const system::Path& built,
                                                      const Seed& beside) const;
  /// The seed's copies by type: "2 fp32, 1 exact".
  std::string compared_as() const;
  /// The plain schedule and so many others; `report`: of the run under the plain one.
  Result<OptionalOutcome> run_beside_seed(const std::string& text,
                                          int schedules,
                                          bool is_watched,
                                          std::string* report);

  WholeProgram program_;
  workload::Secret secret_;
  bool always_watches_ = false;
  hardware::GpuDescription gpu_;
  fabric::Topology topology_;
  targets::ServerOptions server_;
  system::Path timeline_;  ///< Empty: none.
  OnProgress on_progress_;
  candidate::Provenance provenance_;
  toolchain::BuildSettings build_;
  mutable std::mutex mutex_;
  std::optional<Seed> seed_;
  std::optional<std::vector<candidate::Finding>> seed_findings_;
};

}  // namespace cuco::judge
