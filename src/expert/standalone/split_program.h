// SPDX-License-Identifier: Apache-2.0
/// \file
/// A split workload with its own collectives. Like a whole program's, with two differences: its
/// communicator is given to it, so set-up opens and teardown closes it; and a candidate is one file
/// with frozen text, so the header stands in an evolve region and nothing outside them changes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analysis/communication_graph.h"
#include "base/result.h"
#include "expert/standalone/collectives_header.h"

namespace cuco::expert {

struct SplitStandalone {
  std::string infrastructure;  ///< The communicator is open, and the host still calls NCCL.
  std::string program;         ///< Every call is given to the program's own function.
  std::map<std::string, int> replaced;  ///< NCCL's functions, and how often they were named.
};

/// `additions` go to the program only. Fails where there is no such version, with the reason.
[[nodiscard]] Result<SplitStandalone> split_with_own_collectives(
    const analysis::CommunicationGraph& graph,
    std::string_view text,
    const OwnDesign& design,
    const Additions* additions = nullptr);

}  // namespace cuco::expert
