// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evaluator: what the search knows of the judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "candidate/rung.h"
#include "design/rules.h"

namespace cuco::candidate {

/// Where candidates run, for reports and for the design rules.
struct Target {
  TargetKind kind = TargetKind::Virtual;
  std::string name;      ///< "virtual cluster".
  std::string hardware;  ///< "4 x H200"; never empty.
  std::string topology;
  design::TopologyFacts facts;

  [[nodiscard]] bool predicted() const { return is_predicted(kind); }
};

/// What verdicts depend on beside the candidate and the rung: contents by hash, tools by version.
/// Two evaluators with the same provenance give the same verdicts, on whatever machine they run.
struct Provenance {
  std::string workload;  ///< Hash of every file in its folder that is compiled or read.
  std::string hardware;  ///< Hash of the GPU description; on a real GPU its name.
  std::string topology;
  std::string nvcc;
  std::string nccl;
  std::string cuco;
  bool operator==(const Provenance&) const = default;
};

/// One line for each part that differs: "nvcc was 13.0.88 and is 13.1.12 now".
[[nodiscard]] std::vector<std::string> differences(const Provenance& then, const Provenance& now);

/// Judges candidates. Its functions may be called from several threads at once.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  [[nodiscard]] virtual Target target() const = 0;
  [[nodiscard]] virtual Provenance provenance() const = 0;

  /// Builds what evaluate() will need, so that compilers work while others are judged. An error
  /// counts for nothing here: evaluate() meets it again. What it became, if it has passed all that
  /// is asked of its text and that is known: another with the same may get the same time.
  virtual std::optional<MachineCode> build(const Candidate& /*candidate*/, Rung /*rung*/) {
    return std::nullopt;
  }

  /// A verdict on the candidate is an Outcome, whatever it is; an Error means that the evaluation
  /// itself could not be done (nvcc missing, disk full) and says nothing about the candidate.
  /// Depends on the candidate's source, the rung and the provenance alone.
  [[nodiscard]] virtual Result<Outcome> evaluate(const Candidate& candidate, Rung rung) = 0;

  /// Runs both side by side until it is known whether the challenger is faster. Only measured
  /// targets need it: predicted times have no noise, and their verdicts decide.
  [[nodiscard]] virtual Result<Comparison> compare(const Candidate& challenger,
                                                   const Candidate& incumbent,
                                                   Rung rung);
};

}  // namespace cuco::candidate
