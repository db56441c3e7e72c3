// SPDX-License-Identifier: Apache-2.0
/// \file
/// Communication that a program names where the walk from its entry points did not come by: through
/// pointers, tables or libraries. Whoever says that a program does not communicate asks here first.
#pragma once

#include <string>
#include <vector>

#include "analysis/communication_graph.h"

namespace cuco::analysis {

/// A call of NCCL, or its name given away, that is no collective of the graph.
struct Unfollowed {
  std::string name;
  int line = 0;
  auto operator<=>(const Unfollowed&) const = default;
};

/// By line. What only code names that nothing refers to is left out: it never runs.
[[nodiscard]] std::vector<Unfollowed> unfollowed(const CommunicationGraph& graph);

/// "ncclSend (line 40), ncclRecv (line 41)".
[[nodiscard]] std::string names_of(const std::vector<Unfollowed>& calls);

/// It names other ways than collectives for bytes to get from one GPU to another: copies between
/// peers, MPI, or kernels that communicate themselves.
[[nodiscard]] bool has_other_traffic(const CommunicationGraph& graph);

}  // namespace cuco::analysis
