// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores into memory that is sent go straight to the receivers, from inside the kernels that make
/// the data, for any messages: see emit/device/cuco_forward.cuh for how and why it is safe.
///
/// What is sent is known before the kernels start, so the exchange's own code runs once more to
/// plan it, without doing anything. At its place it is compared with the plan and ended. The rest
/// of the program's communication becomes kernels of its own. All moves are edits of one text, so
/// they compose: a launch gets its lane and its plan, and a run is recorded with both.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::expert::forward {

struct ForwardDesign {
  bool by_producers = true;  ///< Kernels send what they make, where they can.
  bool leaves = false;       ///< What they send does not stay, where nobody here reads it.
  bool straight = false;     ///< Else the exchange stores straight into the receivers' memory.
  /// Sites that store straight although their producers could send, by their places in the graph.
  std::set<std::size_t> kept_from_producers = {};
  bool laned = false;     ///< What nothing orders runs side by side: see lanes/.
  bool recorded = false;  ///< A workload's run is recorded as one CUDA graph.
  int blocks = 32;        ///< Of an exchange that stores, at most.
};

struct Forwarded {
  std::string program;  ///< One file.
  int sites = 0;        ///< Exchanges that kernels do.
  /// Of each of those, the sites of the graph that its text stands for.
  std::vector<std::set<std::size_t>> by_producers;
  int straight = 0;                  ///< That store straight themselves.
  int leaving = 0;                   ///< Of the sites: what they send does not stay.
  std::vector<std::string> refused;  ///< The others, with the reasons.
};

/// Fails where no exchange can be done in that way, with the reasons.
[[nodiscard]] Result<Forwarded> forward_sends(const analysis::CommunicationGraph& graph,
                                              std::string_view text,
                                              const ForwardDesign& design = {});

}  // namespace cuco::expert::forward
