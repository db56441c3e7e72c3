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

/// All launches of the kernel, with its new argument: the plan where the launch makes what is sent.
[[nodiscard]] Result<void> pass_forward(const analysis::CommunicationGraph& graph,
                                        std::string_view text,
                                        const analysis::Kernel& kernel,
                                        const std::set<int>& producers,
                                        Edits& edits);

}  // namespace cuco::expert::forward
