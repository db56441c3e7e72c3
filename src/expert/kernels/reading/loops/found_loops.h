// SPDX-License-Identifier: Apache-2.0
/// \file
/// All element loops of a kernel, each with what it does to memory or why that is not understood.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/loops/loop_accesses.h"

namespace cuco::expert::kernels {

struct FoundLoop {
  ElementLoop loop;
  Result<LoopAccesses> accesses;
};

struct FoundLoops {
  std::vector<FoundLoop> loops;
  std::string why_not;  ///< About the last loop that is none, or cannot be used; may be empty.
};

[[nodiscard]] FoundLoops find_element_loops(const KernelBody& kernel, std::string_view text);

}  // namespace cuco::expert::kernels
