// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which kernels may be launched with other grids and blocks, and what changes in them then.
#pragma once

#include <string_view>
#include <vector>

#include "expert/kernels/reading/distinct_memory.h"
#include "expert/kernels/reading/kernel_facts.h"
#include "expert/kernels/reading/launch_text.h"
#include "expert/kernels/reading/loops/found_loops.h"
#include "expert/kernels/reading/tree_reduction.h"
#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {

/// All that is known about a kernel and its launches.
struct KernelReading {
  const KernelBody& kernel;
  const std::vector<LaunchText>& launches;  ///< All of the program; none: not all are known.
  std::string_view text;
  KernelFacts facts;
  FoundLoops loops;
  std::vector<TreeReduction> trees;
};

/// Whether several blocks may share the work of one. If so, what only the first of them does gets
/// a guard.
[[nodiscard]] Result<std::vector<Replacement>> split_rows(const KernelReading& reading);

/// Whether one block may do the work of several, in its y dimension.
[[nodiscard]] Result<void> check_joined_rows(const KernelReading& reading);

/// What other moves have changed in the kernel.
struct MovesBefore {
  bool shuffles = false;                 ///< Replace its trees.
  std::set<const ElementLoop*> strided;  ///< Bounds checks that are loops now.
};

/// Whether its blocks may have another number of threads, because it only shares loops among them
/// and reduces over them.
[[nodiscard]] Result<void> check_block_size(const KernelReading& reading,
                                            int threads,
                                            const MovesBefore& before);

/// Whether all launches give a grid and a block that are numbers.
[[nodiscard]] Result<void> check_launches(const KernelReading& reading);

}  // namespace cuco::expert::kernels
