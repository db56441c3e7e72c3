// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops of a kernel that go over the same elements, thread by thread: what one of them has loaded
/// or stored, the next may find in registers, and what a later one reads may be loaded before all
/// of them, if nobody stores to it in between.
#pragma once

#include <string>
#include <vector>

#include "expert/kernels/reading/distinct_memory.h"
#include "expert/kernels/reading/loops/found_loops.h"

namespace cuco::expert::kernels {

struct GroupedLoop {
  const FoundLoop* found = nullptr;
  /// For each of its accesses, the group's that it shares; -1: it makes it by itself.
  std::vector<int> shared;
};

/// The first loop of a group has all its accesses in the group.
struct RowGroup {
  std::vector<GroupedLoop> loops;
  std::vector<VectorAccess> accesses;  ///< `read`: before any of the loops stores to it.
  std::size_t at = 0;  ///< Where the loads may stand: in front of what only makes values.
};

struct RowGroups {
  std::vector<RowGroup> groups;  ///< Of all loops with known accesses, in the order of the text.
  std::string why_apart;         ///< Why a loop reads again what one before has read; may be empty.
};

[[nodiscard]] RowGroups find_row_groups(const KernelBody& kernel,
                                        const FoundLoops& loops,
                                        const DistinctMemory& memory);

}  // namespace cuco::expert::kernels
