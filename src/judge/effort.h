// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a fidelity means to the judge. The only place where it asks for one.
#pragma once

#include "candidate/evaluator.h"

namespace cuco::judge {

struct Effort {
  bool every_shape = true;    ///< Or the first check shape and the first timed one.
  bool hidden_shapes = true;  ///< And on a real GPU the full ones, checked and timed.
  int schedules = 4;          ///< Adversarial ones, on each check shape.
  int few_schedules = 1;      ///< On each other shape: hidden, near and timed.
  bool recheck_timed = true;  ///< Timed shapes are checked like hidden ones.
  bool watch = true;          ///< The checker sees every access, on every shape.
  bool watch_briefly =
      false;             ///< It sees undisturbed iterations of a timed shape, if they end in time.
  bool long_run = true;  ///< Many iterations of a check shape: counts and epochs go on.
  bool profile = true;   ///< Where the time of each timed shape goes.
  bool device_only = false;  ///< Only what differs from the seed may be compiled.
  bool scaled = true;        ///< Full shapes as scale models: they are the score.

  /// On shapes of the size of the timed ones: plain, a rank held back, and late deliveries.
  static constexpr int kLargeIterations = 2;

  /// Of a long run: at least so many, and fewer than twice as many, which nobody knows before. An
  /// epoch of a byte comes round.
  static constexpr int kLongIterations = 257;
  /// Where a check shape is dear, fewer: what may be emulated in so many seconds, about.
  static constexpr double kLongSeconds = 10;
  static constexpr int kLeastLongIterations = 16;

  /// Of a full shape as a scale model: the first loads the code, the second is its time.
  static constexpr int kScaledIterations = 2;
  /// What one of these iterations may cost in processor time, about.
  static constexpr double kScaledSeconds = 3;

  /// Disturbed iterations among the timed ones.
  [[nodiscard]] int surprises() const { return schedules > 0 ? 2 : 0; }
  /// An undisturbed run is timed and profiled at once.
  [[nodiscard]] bool profiles_while_timing() const { return profile && surprises() == 0; }
  /// On the larger of a full shape's two scale models, which is as large as time allows: where
  /// timed shapes are checked, a late rank and late deliveries come between the timed iterations,
  /// and an adversarial schedule after them. The checker sees the calm iterations only: all would
  /// take too long.
  [[nodiscard]] Effort on_larger_models() const {
    return {.schedules = recheck_timed ? 1 : 0,
            .few_schedules = few_schedules,
            .recheck_timed = recheck_timed,
            .watch = false,
            .watch_briefly = watch,
            .profile = false};
  }
  /// On the smaller one, whose time is only compared, everything else is looked at: late ranks and
  /// late deliveries, under the eyes of the checker, adversarial schedules, and where its time
  /// goes.
  [[nodiscard]] Effort on_smaller_models() const {
    return {.schedules = 0,
            .few_schedules = few_schedules,
            .recheck_timed = recheck_timed,
            .watch = watch,
            .profile = profile};
  }
};

[[nodiscard]] inline Effort effort_of(candidate::Fidelity fidelity) {
  using candidate::Fidelity;
  if (fidelity == Fidelity::Quick) {
    return {.every_shape = false,
            .hidden_shapes = false,
            .schedules = 0,
            .few_schedules = 0,
            .recheck_timed = false,
            .watch = false,
            .long_run = false,
            .profile = false,
            .device_only = true,
            .scaled = false};
  }
  if (fidelity == Fidelity::Standard || fidelity == Fidelity::Scaled) {
    return {.hidden_shapes = false,
            .schedules = 1,
            .few_schedules = 0,
            .recheck_timed = false,
            .watch = false,
            .long_run = false,
            .device_only = true,
            .scaled = fidelity == Fidelity::Scaled};
  }
  // What is found worthy in the end is built as its user will build it.
  return {};
}

}  // namespace cuco::judge
