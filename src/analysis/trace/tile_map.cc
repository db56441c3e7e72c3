// SPDX-License-Identifier: Apache-2.0
// A hypothesis is made from the block that touches most, which has a whole tile, and from where
// all blocks begin. Then every block is compared with what the hypothesis says, byte by byte: it
// holds for all of them, or there is no rule.
#include "analysis/trace/tile_map.h"

#include <algorithm>
#include <limits>

namespace cuco::analysis {
namespace {

using Ranges = std::vector<SignedRange>;

std::int64_t bytes_in(const Ranges& ranges) {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : ranges)
    sum += end - begin;
  return sum;
}

/// A whole tile, from its first byte on.
struct Tile {
  Ranges ranges;
  std::int64_t bytes = 0;  ///< Of a row.
  std::int64_t rows = 0;
  std::int64_t pitch = 0;  ///< 0: one row, or no rectangle.
  [[nodiscard]] bool is_rectangle() const { return rows > 0; }
};

Tile tile_of(const Ranges& ranges) {
  Tile tile;
  for (const auto& [begin, end] : ranges)
    tile.ranges.emplace_back(begin - ranges.front().first, end - ranges.front().first);
  tile.bytes = tile.ranges.front().second;
  tile.rows = static_cast<std::int64_t>(tile.ranges.size());
  if (tile.rows > 1) tile.pitch = tile.ranges[1].first;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const auto& [begin, end] = tile.ranges[static_cast<std::size_t>(row)];
    if (begin == row * tile.pitch && end - begin == tile.bytes) continue;
    tile.rows = 0;
    tile.pitch = 0;
    break;
  }
  if (!tile.is_rectangle()) tile.bytes = bytes_in(tile.ranges);
  return tile;
}

/// Where the array ends: its last byte, the end of a row (0: rows do not end), and the ends of
/// larger parts, such as the matrices of a batch.
struct Edge {
  std::int64_t end = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t row_end = 0;
  struct Slab {
    std::int64_t stride = 0;
    std::int64_t end = 0;
  };
  std::vector<Slab> slabs = {};
};

std::int64_t column(std::int64_t at, std::int64_t pitch) {
  return (at % pitch + pitch) % pitch;
}

Ranges placed(const Tile& tile, std::int64_t first, const Edge& edge) {
  Ranges out;
  for (const auto& [begin, end] : tile.ranges) {
    const std::int64_t at = first + begin;
    std::int64_t length = end - begin;
    if (edge.row_end > 0) length = std::min(length, edge.row_end - column(at, tile.pitch));
    for (const Edge::Slab& slab : edge.slabs)
      length = std::min(length, slab.end - (column(first, slab.stride) + begin));
    length = std::min(length, edge.end - at);
    if (length <= 0) continue;
    if (!out.empty() && out.back().second == at) {
      out.back().second = at + length;
    } else {
      out.emplace_back(at, at + length);
    }
  }
  return out;
}

/// Does every block touch what the tile at its place covers, within the edge?
bool holds(const std::array<std::uint32_t, 3>& grid,
           const BlockRanges& blocks,
           const Tile& tile,
           const Affine& first,
           const Edge& edge) {
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (placed(tile, first.at(index_of(block, grid)), edge) != blocks[block]) return false;
  }
  return true;
}

/// The end of a row, as far as it can be seen: the furthest column of all blocks.
std::int64_t row_end_of(const BlockRanges& blocks, std::int64_t pitch) {
  std::int64_t furthest = 0;
  for (const Ranges& ranges : blocks) {
    for (const auto& [begin, end] : ranges)
      furthest = std::max(furthest, column(begin, pitch) + (end - begin));
  }
  return std::min(furthest, pitch);
}

/// Of parts that lie `stride` apart: how far into its own any block reaches.
std::int64_t slab_end_of(const BlockRanges& blocks, std::int64_t stride) {
  std::int64_t furthest = 0;
  for (const Ranges& ranges : blocks) {
    if (ranges.empty()) continue;
    const std::int64_t first = ranges.front().first;
    furthest = std::max(furthest, column(first, stride) + ranges.back().second - first);
  }
  return std::min(furthest, stride);
}

/// What may cut tiles off, from nothing on.
std::vector<Edge> edges_of(const BlockRanges& blocks,
                           const Tile& tile,
                           std::int64_t end,
                           const std::optional<Affine>& first) {
  std::vector<Edge> edges = {{}, {.end = end}};
  Edge edge{.end = end};
  if (tile.pitch > 0) {
    edge.row_end = row_end_of(blocks, tile.pitch);
    edges.push_back(edge);
  }
  for (const std::size_t axis : {0U, 1U, 2U}) {
    const std::int64_t stride = first ? first->by[axis].value_or(0) : 0;
    if (stride <= tile.bytes || stride == tile.pitch) continue;
    // Whatever lies further apart has to leave a block where it is in its part.
    const bool is_whole = std::ranges::all_of(
        first->by, [&](const auto& by) { return by.value_or(0) <= stride || *by % stride == 0; });
    if (is_whole) edge.slabs.push_back({stride, slab_end_of(blocks, stride)});
  }
  if (!edge.slabs.empty()) edges.push_back(edge);
  return edges;
}

std::optional<Affine> fit_first(const std::array<std::uint32_t, 3>& grid,
                                const BlockRanges& blocks) {
  std::vector<AffineSample> samples;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (!blocks[block].empty())
      samples.push_back({index_of(block, grid), blocks[block].front().first});
  }
  return fit_affine(samples);
}

void note_extent(const BlockRanges& blocks, TileMap& map) {
  std::vector<std::pair<SignedRange, std::size_t>> all;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (!blocks[block].empty()) ++map.blocks;
    for (const SignedRange& range : blocks[block])
      all.emplace_back(range, block);
  }
  std::ranges::sort(all);
  map.begin = all.empty() ? 0 : all.front().first.first;
  map.end = map.begin;
  for (const auto& [range, block] : all) {
    if (range.first < map.end) map.one_each = false;
    if (range.first > map.end) map.is_gapless = false;
    map.end = std::max(map.end, range.second);
  }
}

void take(const Tile& tile, TileMap& map) {
  map.bytes = tile.bytes;
  map.rows = tile.is_rectangle() ? tile.rows : 1;
  map.pitch = tile.pitch;
  map.pieces = tile.is_rectangle() ? 1 : tile.ranges.size();
}

/// Several blocks, and all at the same place.
bool is_constant(const Affine& first, std::size_t blocks) {
  return blocks > 1 &&
         std::ranges::all_of(first.by, [](const auto& by) { return by.value_or(0) == 0; });
}

/// All alike, or cut off at the edge; wherever they lie.
bool are_tiles(const BlockRanges& blocks, const Tile& tile, std::span<const Edge> edges) {
  return std::ranges::any_of(edges, [&](const Edge& edge) {
    return std::ranges::all_of(blocks, [&](const Ranges& ranges) {
      return ranges.empty() || placed(tile, ranges.front().first, edge) == ranges;
    });
  });
}

}  // namespace

std::string_view name(TileForm form) {
  switch (form) {
    case TileForm::Nothing:
      return "nothing";
    case TileForm::Affine:
      return "affine";
    case TileForm::Tiles:
      return "tiles in another order";
    case TileForm::Same:
      return "the same for every block";
    case TileForm::OneBlock:
      return "one block";
    case TileForm::Other:
      break;
  }
  return "not affine";
}

BlockIndex index_of(std::size_t block, const std::array<std::uint32_t, 3>& grid) {
  const std::size_t x = std::max(1U, grid[0]);
  const std::size_t y = std::max(1U, grid[1]);
  return {static_cast<std::uint32_t>(block % x), static_cast<std::uint32_t>(block / x % y),
          static_cast<std::uint32_t>(block / x / y)};
}

TileMap find_tiles(const std::array<std::uint32_t, 3>& grid, const BlockRanges& blocks) {
  TileMap map;
  map.grid = grid;
  note_extent(blocks, map);
  if (map.blocks == 0) return map;
  const auto largest = std::ranges::max_element(
      blocks, [](const Ranges& a, const Ranges& b) { return bytes_in(a) < bytes_in(b); });
  const Tile tile = tile_of(*largest);
  take(tile, map);
  map.form = TileForm::Other;
  if (map.blocks == 1 && blocks.size() > 1) {
    map.form = TileForm::OneBlock;
    map.first.constant = map.begin;
    return map;
  }
  const auto first = fit_first(grid, blocks);
  const std::vector<Edge> edges = edges_of(blocks, tile, map.end, first);
  if (first) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (!holds(grid, blocks, tile, *first, edges[i])) continue;
      map.form = is_constant(*first, blocks.size()) ? TileForm::Same : TileForm::Affine;
      map.first = *first;
      map.is_clipped = i > 0;
      return map;
    }
  }
  if (map.one_each && are_tiles(blocks, tile, edges)) map.form = TileForm::Tiles;
  return map;
}

}  // namespace cuco::analysis
