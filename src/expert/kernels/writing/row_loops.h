// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of loops over the same elements that share registers. A batch is so many rounds at
/// once: its loads are all under way before the first is used. Where one batch is the whole row, it
/// is loaded once for all loops; longer rows are loaded batch by batch in each loop. A kernel that
/// need not handle both has fewer registers and fewer instructions in front of its first load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/loops/row_groups.h"
#include "expert/kernels/writing/loop_text.h"

namespace cuco::expert::kernels {

/// Who knows that one batch is the whole row.
enum class Whole {
  Tested,    ///< The kernel finds out.
  Argument,  ///< It is a template over it.
  Always,    ///< Its launches have threads for all of the row.
};

struct RowLoopNames {
  std::string length;  ///< Elements in a vector.
  std::string rounds;  ///< Of a batch.
  Whole when = Whole::Tested;
  std::string whole;  ///< Where it is tested or an argument.
  VectorNames vectors;
};

struct RowLoops {
  std::string before;              ///< Belongs in front of all loops of the group.
  std::vector<std::string> loops;  ///< One for each.
};

/// `everywhere` are the replacements that other moves make in the kernel.
[[nodiscard]] RowLoops emit_row_loops(const RowGroup& group,
                                      const Sharing& sharing,
                                      const std::vector<Replacement>& everywhere,
                                      const KernelBody& kernel,
                                      std::string_view text,
                                      const RowLoopNames& names,
                                      FreshNames& fresh);

}  // namespace cuco::expert::kernels
