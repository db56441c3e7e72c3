// SPDX-License-Identifier: Apache-2.0
/// \file
/// The design space of one program on one machine: all five dimensions together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "design/rules.h"

namespace cuco::design {

/// Directives that differ only in issuer and chunk are one family.
struct Family {
  Backend backend = Backend::Host;
  Placement placement = Placement::HostOrdered;
  SyncScope sync = SyncScope::GlobalBarrier;
  std::vector<std::string> issuers, chunks;
  std::vector<std::string> costs;
};

struct Space {
  int valid = 0;
  int all = 0;
  std::vector<Family> families;           ///< With at least one valid directive.
  std::map<std::string, int> refusals;    ///< Reason, and how many directives have it.
  std::vector<std::string> kernel_moves;  ///< What may change where nothing is communicated.
};

/// Chunks in bytes stand for all sizes.
[[nodiscard]] Space enumerate_space(const ProgramFacts& program,
                                    const TopologyFacts& topology,
                                    NcclVersion nccl);

/// Each dimension with its values; a value that no valid directive has is listed with the reason.
[[nodiscard]] std::string describe_space(const ProgramFacts& program,
                                         const TopologyFacts& topology,
                                         NcclVersion nccl);

}  // namespace cuco::design
