// SPDX-License-Identifier: Apache-2.0
/// \file
/// A judge of one workload, whichever kind it is: what commands ask beyond what the search knows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "candidate/evaluator.h"
#include "candidate/rung.h"
#include "judge/judge_progress.h"
#include "judge/trial/pairs.h"
#include "system/jobs/job.h"

namespace cuco::judge {

struct JudgeOptions {
  system::Path workload;
  system::Path cache;     ///< Built objects and the machine's secret; must outlive runs.
  system::Path timeline;  ///< A trace of seed and candidate goes there; empty: none.
  std::uint64_t seed = 0;
  std::string secret;  ///< Instead of the machine's: a recorded run has the same on every machine.
  system::Tier tier = system::Tier::Hostile;
  std::string topology;  ///< Empty: the workload's.
  /// Where candidates run. A real GPU is this machine's, for workloads of one rank.
  candidate::TargetKind on = candidate::TargetKind::Virtual;
  bool full = false;     ///< Check the full shapes too; on a real GPU that is always done.
  bool check = false;    ///< Watch every access at lower fidelities, too; the highest always does.
  bool profile = false;  ///< Say where the time goes at every fidelity: models want to know.
  bool exact = false;    ///< Compare a whole program with its seed bit by bit.
  bool small = false;    ///< Leave full shapes out, whatever the fidelity.
  double scale = 0;      ///< What full shapes are divided by; 0: by what their emulation costs.
  int threads = 1;       ///< Trials at a time; the verdict is the same.
  std::uint64_t server_memory = std::uint64_t{8} << 30U;  ///< Of each virtual cluster.
  OnProgress on_progress = {};
};

/// One thing that a workload must have right.
struct WorkloadTest {
  std::string what;
  bool passed = false;
  std::string detail;
};

class ProgramJudge : public candidate::Evaluator {
 public:
  /// program.cu of the candidate.
  [[nodiscard]] Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                                    candidate::Rung rung) final;
  /// Compiles it, if it passes the screens; the compiler's cache keeps the object for evaluate().
  std::optional<candidate::MachineCode> build(const candidate::Candidate& candidate,
                                              candidate::Rung rung) final;
  /// The same for a bare program text.
  [[nodiscard]] virtual Result<candidate::Outcome> judge(const std::string& program,
                                                         candidate::Fidelity fidelity) = 0;
  /// Only the compiler's part of judge(). What it became, if it may be run and that is known.
  virtual std::optional<candidate::MachineCode> build_only(const std::string& program,
                                                           candidate::Fidelity fidelity) = 0;
  /// Only whether it is right, without a time: nothing if it is.
  [[nodiscard]] virtual Result<std::optional<candidate::Outcome>> check(
      const std::string& program) = 0;
  /// Whether the workload itself is fit to judge by. `run_seed`: also whether its seed passes.
  [[nodiscard]] virtual std::vector<WorkloadTest> test_workload(bool run_seed) = 0;

  [[nodiscard]] virtual std::string name() const = 0;
  /// What a passed candidate has shown: "correct: 3 shapes, …".
  [[nodiscard]] virtual std::string basis(const candidate::Scored& scored) const = 0;
  /// A stable word for reports.
  [[nodiscard]] virtual std::string_view verdict(const candidate::Outcome& outcome) const = 0;
  /// What every report has to say about this kind of workload; empty: nothing.
  [[nodiscard]] virtual std::string_view note() const { return {}; }
  /// Where the time went, all judgements together.
  [[nodiscard]] virtual std::map<std::string, double> stages() const { return {}; }
  /// The most processor time that a rank of a candidate has used in one cuco_run.
  [[nodiscard]] virtual double host_seconds() const { return 0; }
  /// How each timed shape was decided on a real GPU, all judgements together.
  [[nodiscard]] virtual std::vector<MeasuredShape> measured() const { return {}; }
};

/// What a verdict does not say as firmly as it may seem, a line each: "\n  left out: …".
[[nodiscard]] std::string reservations(const candidate::Scored& scored);

/// For the folder's workload, split or whole. The error names everything that is wrong with its
/// files, one line each.
[[nodiscard]] Result<std::unique_ptr<ProgramJudge>> open_judge(const JudgeOptions& options);

}  // namespace cuco::judge
