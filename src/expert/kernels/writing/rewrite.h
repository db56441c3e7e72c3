// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program with its kernels rewritten to a design: vectors, shuffles, geometry, in any
/// combination. Works on what the kernels do, not on what they are called.
#pragma once

#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "design/kernel_design.h"

namespace cuco::expert::kernels {

/// What designs are derived from; both numbers are 0 where no kernel shares a loop among its
/// threads.
struct LaunchFacts {
  int threads = 0;                ///< Of a block, as the program has it.
  int elements = 0;               ///< Of its smallest type, in 16 bytes.
  design::KernelDesign together;  ///< All that fits at once, without geometry of its own.
};
[[nodiscard]] LaunchFacts find_launch_facts(const analysis::CommunicationGraph& graph,
                                            std::string_view text);

/// Every kernel that a dimension of the design fits gets it. The error says in one sentence why a
/// dimension fits none.
[[nodiscard]] Result<std::string> rewrite_kernels(const analysis::CommunicationGraph& graph,
                                                  std::string_view text,
                                                  const design::KernelDesign& design);

}  // namespace cuco::expert::kernels
