// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the blocks of one launch touch of one buffer, in one direction, and whether a rule says it:
/// a tile per block whose place is affine in the block's index, cut off where the array ends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/trace/affine.h"
#include "vcluster/record/byte_ranges.h"

namespace cuco::analysis {

enum class TileForm {
  Nothing,   ///< No block touches it.
  Affine,    ///< One tile a block, its place affine in the index.
  Tiles,     ///< One tile a block, all alike, but in another order: a swizzled index.
  Same,      ///< Affine, and every block touches the same.
  OneBlock,  ///< One block of several touches it.
  Other,     ///< Nothing of that: grid-stride with a rest, data-dependent rows, …
};
[[nodiscard]] std::string_view name(TileForm form);

/// Bytes count from where the kernel's pointer points.
struct TileMap {
  TileForm form = TileForm::Nothing;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  Affine first;             ///< Of Affine and Same: a tile's first byte.
  std::int64_t bytes = 0;   ///< Of a row of a whole tile; of Same and OneBlock: of what it is.
  std::int64_t rows = 1;    ///< Of a whole tile.
  std::int64_t pitch = 0;   ///< Between rows; 0: there is one.
  std::size_t pieces = 1;   ///< Rectangles that a tile is made of; if several, `bytes` is of all.
  bool is_clipped = false;  ///< Tiles at the edge are smaller.
  bool one_each = true;     ///< No byte is touched by two blocks.
  bool is_gapless = true;   ///< What all touch together has no holes.
  std::int64_t begin = 0, end = 0;  ///< What all touch lies in there.
  std::size_t blocks = 0;           ///< That touch it at all.
};

/// A block's ranges: sorted, apart from each other; from where the pointer points.
using SignedRange = std::pair<std::int64_t, std::int64_t>;
using BlockRanges = std::vector<std::vector<SignedRange>>;

/// `blocks`: all of the grid, x fastest.
[[nodiscard]] TileMap find_tiles(const std::array<std::uint32_t, 3>& grid,
                                 const BlockRanges& blocks);

/// Of a block's number, x fastest.
[[nodiscard]] BlockIndex index_of(std::size_t block, const std::array<std::uint32_t, 3>& grid);

}  // namespace cuco::analysis
