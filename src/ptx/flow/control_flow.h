// SPDX-License-Identifier: Apache-2.0
/// \file
/// The basic blocks of a function, who follows whom, and where paths meet again.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace cuco::ptx {

inline constexpr std::uint32_t kNoBlock = UINT32_MAX;

/// Instructions begin … end - 1, entered only at the first and left only at the last.
struct BasicBlock {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;  ///< Each once; leaving the function is not in it.
  bool leaves = false;                    ///< The function may end here: ret, exit, trap, its end.
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;       ///< In the order of the text; the first is the entry.
  std::vector<std::uint32_t> block_of;  ///< By instruction.
};

[[nodiscard]] ControlFlow control_flow(const Function& function);

}  // namespace cuco::ptx
