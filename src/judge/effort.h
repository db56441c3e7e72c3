// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a fidelity means to the judge. The only place where it asks for one.
#pragma once

#include <algorithm>

#include "candidate/evaluator.h"

namespace cuco::judge {

struct Effort {
  bool every_shape = true;    ///< Or the first check shape and the first timed one.
  bool hidden_shapes = true;  ///< And on a real GPU the full ones, checked and timed.
  int schedules = 4;          ///< Adversarial ones, on each check shape.
  bool profile = true;        ///< Where the time of each timed shape goes.
  bool device_only = false;   ///< Only what differs from the seed may be compiled.

  /// Disturbed iterations among the timed ones.
  [[nodiscard]] int surprises() const { return std::min(schedules, 2); }
};

[[nodiscard]] inline Effort effort_of(candidate::Fidelity fidelity) {
  using candidate::Fidelity;
  if (fidelity == Fidelity::Quick) {
    return {.every_shape = false,
            .hidden_shapes = false,
            .schedules = 0,
            .profile = false,
            .device_only = true};
  }
  if (fidelity == Fidelity::Standard)
    return {.hidden_shapes = false, .schedules = 1, .device_only = true};
  // What is found worthy in the end is built as its user will build it.
  return {};
}

}  // namespace cuco::judge
