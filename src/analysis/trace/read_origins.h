// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who made what the blocks of a launch read.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/trace/observed_map.h"

namespace cuco::analysis {

/// By step of the record, and by buffer.
[[nodiscard]] std::vector<std::map<std::uint64_t, ReadOrigins>> origins_of(
    const vcluster::BlockRecord& record);

}  // namespace cuco::analysis
