// SPDX-License-Identifier: Apache-2.0
/// \file
/// Problem: what all prompts of a run say of the program and its target.
#pragma once

#include <map>
#include <string>

#include "design/rules.h"

namespace cuco::agents {

/// Texts may be empty: their section is left out.
struct Problem {
  std::string summary;   ///< The workload in a sentence or two.
  std::string contract;  ///< The header, tolerances and shapes that the program is judged by.
  std::string target;    ///< Machine, limits, rates, costs.
  std::string analysis;  ///< analysis::to_text() of the seed.
  std::string blocks;    ///< What blocks were seen to touch.
  std::string api;       ///< See api.h.
  design::ProgramFacts program;
  design::TopologyFacts topology;
  design::NcclVersion nccl;
  /// Templates of the workload's own, by role; they stand in for ours.
  std::map<std::string, std::string, std::less<>> templates;
  int most_tokens = 24000;  ///< Of a prompt; see prompt.h for what goes first.
};

}  // namespace cuco::agents
