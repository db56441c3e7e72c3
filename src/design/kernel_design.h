// SPDX-License-Identifier: Apache-2.0
/// \file
/// What may change in a kernel by itself: the dimensions of the design space that are not about
/// communication. A dimension at its default is left as the program has it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace cuco::design {

struct KernelDesign {
  int vector_bytes = 0;    ///< Bytes that a thread loads and stores at once.
  int rounds = 0;          ///< Rounds of a loop whose vectors are in registers at once.
  bool shuffles = false;   ///< Blocks reduce with shuffles, not with a tree in shared memory.
  bool fast_math = false;  ///< Approximate division, exponential and logarithm.
  bool read_only = false;  ///< Loads of what nobody writes go past the coherent path.
  bool fitted = false;     ///< Each launch gets a grid and blocks that fit its sizes.
  int threads = 0;         ///< Of a block, along x.
  int blocks_per_row = 0;  ///< Blocks that share what was one block's.
  int rows_per_block = 0;  ///< Blocks of the original that one block now does.
  auto operator<=>(const KernelDesign&) const = default;
};

/// "16-byte vectors · shuffles · 512 threads"; empty for the default.
[[nodiscard]] std::string to_text(const KernelDesign& design);

/// Reads one of the parts that to_text() writes into `design`, in any case, with ' ' for '-';
/// whether it was one.
[[nodiscard]] bool read_part(std::string_view part, KernelDesign& design);

}  // namespace cuco::design
