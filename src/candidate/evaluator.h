// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evaluator: what the search knows of the judge.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "design/rules.h"

namespace cuco::candidate {

/// How much an evaluation may cost. A higher one includes what the lower ones check.
enum class Fidelity {
  Quick,     ///< Build, one small check shape, time on the smallest timed shape.
  Standard,  ///< Every check shape, time on every timed shape.
  Final,     ///< Also hidden shapes and adversarial schedules.
};

[[nodiscard]] std::string_view name(Fidelity fidelity);

/// Where candidates run, for reports and for the design rules.
struct Target {
  std::string name;      ///< "virtual cluster".
  std::string hardware;  ///< "4 x H200"; never empty.
  std::string topology;
  bool predicted = true;
  design::TopologyFacts facts;
};

/// Judges candidates. evaluate() may be called from several threads at once.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  [[nodiscard]] virtual Target target() const = 0;

  /// A verdict on the candidate is an Outcome, whatever it is; an Error means that the evaluation
  /// itself could not be done (nvcc missing, disk full) and says nothing about the candidate.
  /// The same candidate, fidelity and evaluator give the same outcome.
  [[nodiscard]] virtual Result<Outcome> evaluate(const Candidate& candidate, Fidelity fidelity) = 0;
};

}  // namespace cuco::candidate
