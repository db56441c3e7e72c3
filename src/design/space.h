// SPDX-License-Identifier: Apache-2.0
/// \file
/// The design space of one program on one machine, in words.
#pragma once

#include <string>

#include "design/rules.h"

namespace cuco::design {

/// Each dimension with its values; a value that no valid directive has is listed with the reason.
[[nodiscard]] std::string describe_space(const ProgramFacts& program,
                                         const TopologyFacts& topology,
                                         NcclVersion nccl);

}  // namespace cuco::design
