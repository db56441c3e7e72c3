// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kinds of trial that the cascade is made of, all of one workload on one target.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "judge/trial/bench.h"
#include "judge/trial/pairs.h"
#include "judge/trial/trial_spec.h"

namespace cuco::judge {

/// What all trials have in common.
struct TrialSetting {
  const workload::Workload& workload;
  const workload::Secret& secret;
  targets::VirtualSpec machine;
  system::Tier tier = system::Tier::Hostile;
  Stages* stages = nullptr;
};

/// How closely a check looks.
struct Scrutiny {
  std::uint64_t schedule_seed =
      0;               ///< An adversarial schedule; 0: ranks held back, late deliveries.
  bool watch = false;  ///< Every access is seen by the checker.
  /// The shape is as large as a timed one: fewer iterations, a sample of the elements.
  bool large = false;
  const TrialOutputs* like = nullptr;  ///< The seed's outputs, if they are known.
  int iterations = 0;                  ///< 0: as many as are usual for such a shape.
  bool brief = false;  ///< Nothing is disturbed, and what does not end soon is late.
};

/// How a timed trial is run.
struct Timing {
  int surprises = 0;     ///< Disturbed iterations among the timed ones.
  bool profile = false;  ///< And where the time of the last one goes.
};

class Trials {
 public:
  Trials(const TrialSetting& setting, BenchMaker& maker);

  /// Starts what so many plain checks will need, so that it is there when the compiler is done.
  [[nodiscard]] Result<void> prepare(std::size_t checks, bool watch) {
    return (watch ? watched_ : plain_).fill(checks);
  }

  /// Undisturbed; every element checked.
  [[nodiscard]] Result<TrialResult> plain(const system::Path& object, const workload::Shape& shape);
  /// With ranks held back and late deliveries, or under an adversarial schedule.
  [[nodiscard]] Result<TrialResult> check(const system::Path& object,
                                          const workload::Shape& shape,
                                          const Scrutiny& scrutiny);
  /// `like`: the seed's outputs; null: this is the seed, and its outputs are kept.
  [[nodiscard]] Result<TrialResult> time(const system::Path& object,
                                         const workload::Shape& shape,
                                         const TrialOutputs* like,
                                         Timing timing);
  /// Every element against the trusted GPU reference.
  [[nodiscard]] Result<TrialResult> full(const system::Path& object,
                                         const workload::Shape& shape,
                                         const system::Path& reference);
  /// One more iteration, seen from inside: where the time goes, and for a timeline what it shows.
  [[nodiscard]] Result<TrialResult> profile(const system::Path& object,
                                            const workload::Shape& shape,
                                            bool timeline = false);
  /// With every access watched, to explain a wrong result; not for long.
  [[nodiscard]] Result<TrialResult> watch(const system::Path& object, const workload::Shape& shape);
  /// On a real GPU, until one of the two is known to be faster or not.
  [[nodiscard]] Result<PairResult> pairs(const system::Path& seed,
                                         const system::Path& object,
                                         const workload::Shape& shape);

 private:
  [[nodiscard]] TrialSpec spec(const system::Path& object, const workload::Shape& shape) const;
  Result<TrialResult> run_on_new_bench(const TrialSpec& spec);

  TrialSetting setting_;
  BenchMaker& maker_;
  BenchPool plain_;
  BenchPool watched_;
};

}  // namespace cuco::judge
