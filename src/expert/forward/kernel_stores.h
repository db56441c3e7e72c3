// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels whose stores go to the receivers.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "expert/edit.h"

namespace cuco::expert::forward {

/// The kernel gets one more parameter, cuco_forward: what the host gives who sends. The error says
/// why its text cannot change.
[[nodiscard]] Result<void> add_forward_parameter(std::string_view text,
                                                 const analysis::Kernel& kernel,
                                                 Edits& edits);

/// Every store through a parameter goes through a forwarder, in all instantiations of a template:
/// the kernel gets one more parameter. The error says which store cannot.
[[nodiscard]] Result<void> forward_stores(const analysis::CommunicationGraph& graph,
                                          std::string_view text,
                                          const analysis::Kernel& kernel,
                                          Edits& edits);

/// The kernel announces what may come before others send: it gets the same parameter.
[[nodiscard]] Result<void> open_first(std::string_view text,
                                      const analysis::Kernel& kernel,
                                      Edits& edits);

/// Launches, by their operation.
struct PlannedLaunches {
  std::set<int> producers;  ///< Make what is sent.
  std::set<int> openers;    ///< Run before them.
  bool side_by_side = false;
};

/// All launches of the kernel, with its new argument: the plan where the launch is one of those.
[[nodiscard]] Result<void> pass_forward(const analysis::CommunicationGraph& graph,
                                        std::string_view text,
                                        const analysis::Kernel& kernel,
                                        const PlannedLaunches& launches,
                                        Edits& edits);

}  // namespace cuco::expert::forward
