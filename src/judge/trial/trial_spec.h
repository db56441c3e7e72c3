// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a trial is asked, and what it answers.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "candidate/outcome.h"
#include "judge/stages.h"
#include "judge/trial/trial_profile.h"
#include "measure/samples.h"
#include "targets/virtual/virtual_target.h"
#include "workload/secret.h"
#include "workload/workload.h"

namespace cuco::judge {

class GpuReference;

/// Bytes by iteration, rank and output.
using TrialOutputs = std::map<std::tuple<int, int, std::size_t>, std::string>;

struct TrialSpec {
  const workload::Workload& workload;
  const workload::Shape& shape;
  const workload::Secret& secret;
  system::Path candidate;        ///< The shared object.
  targets::VirtualSpec machine;  ///< What virtual GPUs imitate.
  system::Tier tier = system::Tier::Hostile;
  /// Hold a rank back in every iteration but the last: one that does not wait for it is done
  /// before its data is there; and once more deliver everything late. Not for timing.
  bool hold_back = false;
  /// The same for timing: so many iterations more, at secret places among the timed ones, in which
  /// a rank is held back or deliveries are late. They are checked, not timed.
  int surprises = 0;
  std::size_t check_limit = ~0U;      ///< Elements of each output that are checked; see compare().
  GpuReference* reference = nullptr;  ///< If there is one, it checks the others too.
  bool keep_outputs = false;
  /// Another program's outputs from the same inputs, to compare every element with where the
  /// reference sees a sample.
  const TrialOutputs* like = nullptr;
  int iterations = 0;  ///< 0: as the workload's budget says.
  int sets = 0;        ///< The same of the buffers.
  /// No run is waited for longer than this, whatever the budget says.
  std::chrono::duration<double> run_limit = std::chrono::hours(24);
  Stages* stages = nullptr;

  /// A secret of this workload, shape and iteration.
  [[nodiscard]] int wanted_iterations() const {
    return iterations > 0 ? iterations : workload.budget.iterations;
  }
  [[nodiscard]] int wanted_sets() const { return sets > 0 ? sets : workload.budget.sets; }
  [[nodiscard]] std::uint64_t key(std::string_view purpose, int iteration) const {
    return secret.key(fmt::format("{} {}/{} {}", purpose, workload.name, shape.name, iteration));
  }
  /// The buffers of an iteration: not known before, and the same for all programs, however their
  /// iterations are ordered.
  [[nodiscard]] int set_of(int iteration) const {
    return static_cast<int>(key("order", iteration) % static_cast<std::uint64_t>(wanted_sets()));
  }
};

/// Right in every iteration; the slowest rank's seconds of each.
struct TrialTimes {
  std::vector<double> seconds;
  std::vector<measure::Sample> samples;  ///< The same on a real GPU, with what was seen around it.
  double undisturbed = 0;                ///< Of the last one that nothing disturbed, on the GPUs.
  std::vector<int> iterations;           ///< So many were timed together; `seconds` are of each.
  TrialOutputs outputs;                  ///< If they were to be kept.
  candidate::Filling filling;            ///< Of all ranks' kernels, the longest.
  Profile profile;                       ///< Of the last iteration, if it was to be profiled.
};

/// Of iterations that were timed alone, or of those that were timed together with others.
[[nodiscard]] inline std::vector<double> seconds_of(const TrialTimes& times, bool together) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < times.seconds.size(); ++i) {
    if ((times.iterations[i] > 1) == together) seconds.push_back(times.seconds[i]);
  }
  return seconds;
}
/// What decides: the time among others, where there is one, for it has less of the launch in it.
[[nodiscard]] inline std::vector<double> deciding_seconds(const TrialTimes& times) {
  auto together = seconds_of(times, true);
  return together.empty() ? times.seconds : std::move(together);
}

using TrialResult = std::variant<TrialTimes, candidate::Outcome>;

}  // namespace cuco::judge
