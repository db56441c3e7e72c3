// SPDX-License-Identifier: Apache-2.0
/// \file
/// What follows from the facts about a machine. Pure: tested with machines that do not exist.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/machine.h"

namespace cuco::cli {

/// One line of `cuco doctor`.
struct Finding {
  enum class State { Good, Absent, Bad };

  std::string topic;
  std::string found;
  State state = State::Good;
  std::string advice;  ///< What follows, and the command that gets it.
};

/// Whether a target can be used, and if not, why.
struct TargetState {
  std::string name;
  bool usable = false;
  std::string reason;
};

struct Diagnosis {
  std::vector<Finding> findings;
  std::vector<TargetState> targets;
  std::string default_target;  ///< Empty if none is usable.
};

[[nodiscard]] Diagnosis diagnose(const Machine& machine, std::string_view wanted_target);

}  // namespace cuco::cli
