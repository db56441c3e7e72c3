// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/tile_map.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::analysis {
namespace {

using Grid = std::array<std::uint32_t, 3>;

/// A matrix of elements of one byte.
struct Matrix {
  std::int64_t rows = 0, columns = 0, pitch = 0;
};

/// The part of the matrix that a tile covers, as ranges that do not touch.
std::vector<SignedRange> cut(const Matrix& m,
                             std::int64_t row,
                             std::int64_t column,
                             std::int64_t rows,
                             std::int64_t columns) {
  std::vector<SignedRange> out;
  for (std::int64_t r = row; r < std::min(row + rows, m.rows); ++r) {
    const std::int64_t end = std::min(column + columns, m.columns);
    if (column >= end) continue;
    const std::int64_t at = r * m.pitch + column;
    const std::int64_t to = r * m.pitch + end;
    if (!out.empty() && out.back().second == at) {
      out.back().second = to;
    } else {
      out.emplace_back(at, to);
    }
  }
  return out;
}

template <typename F>
BlockRanges for_grid(const Grid& grid, const F& ranges) {
  BlockRanges out;
  const std::size_t blocks = std::size_t{grid[0]} * grid[1] * grid[2];
  for (std::size_t i = 0; i < blocks; ++i)
    out.push_back(ranges(index_of(i, grid)));
  return out;
}

std::int64_t wide(std::uint32_t index) {
  return static_cast<std::int64_t>(index);
}

TEST(TileMap, FindsTheTilesOfAMatrix) {
  const Matrix m{256, 512, 512};
  const Grid grid{4, 2, 1};
  const TileMap map = find_tiles(grid, for_grid(grid, [&](const BlockIndex& b) {
                                   return cut(m, 128 * wide(b[1]), 128 * wide(b[0]), 128, 128);
                                 }));
  ASSERT_EQ(map.form, TileForm::Affine);
  EXPECT_EQ(map.first.by[0], 128);
  EXPECT_EQ(map.first.by[1], 128 * 512);
  EXPECT_FALSE(map.first.by[2]);
  EXPECT_EQ(map.rows, 128);
  EXPECT_EQ(map.bytes, 128);
  EXPECT_EQ(map.pitch, 512);
  EXPECT_FALSE(map.is_clipped);
  EXPECT_TRUE(map.one_each);
  EXPECT_TRUE(map.is_gapless);
}

TEST(TileMap, RaggedTilesAreCutOffNotOthers) {
  const Matrix m{200, 300, 300};
  const Grid grid{3, 2, 1};
  const TileMap map = find_tiles(grid, for_grid(grid, [&](const BlockIndex& b) {
                                   return cut(m, 128 * wide(b[1]), 128 * wide(b[0]), 128, 128);
                                 }));
  ASSERT_EQ(map.form, TileForm::Affine);
  EXPECT_TRUE(map.is_clipped);
  EXPECT_EQ(map.rows, 128);
  EXPECT_EQ(map.bytes, 128);
}

TEST(TileMap, EveryMatrixOfABatchHasItsEdge) {
  const Matrix m{100, 90, 90};
  const Grid grid{2, 2, 3};
  const TileMap map = find_tiles(grid, for_grid(grid, [&](const BlockIndex& b) {
                                   auto ranges = cut(m, 64 * wide(b[1]), 64 * wide(b[0]), 64, 64);
                                   for (auto& [begin, end] : ranges) {
                                     begin += wide(b[2]) * 100 * 90;
                                     end += wide(b[2]) * 100 * 90;
                                   }
                                   return ranges;
                                 }));
  ASSERT_EQ(map.form, TileForm::Affine);
  EXPECT_EQ(map.first.by[2], 9000);
  EXPECT_TRUE(map.is_gapless);
}

TEST(TileMap, BlocksBehindTheEdgeTouchNothing) {
  const Grid grid{4, 1, 1};
  const TileMap map = find_tiles(grid, {{{0, 100}}, {{100, 200}}, {{200, 250}}, {}});
  EXPECT_EQ(map.form, TileForm::Affine);
  EXPECT_TRUE(map.is_clipped);
  EXPECT_EQ(map.blocks, 3U);
}

TEST(TileMap, AHoleInTheMiddleIsNoEdge) {
  EXPECT_EQ(find_tiles({4, 1, 1}, {{{0, 100}}, {}, {{200, 300}}, {{300, 400}}}).form,
            TileForm::Tiles);
  EXPECT_EQ(find_tiles({3, 1, 1}, {{{0, 100}}, {{100, 150}}, {{200, 300}}}).form, TileForm::Other);
}

TEST(TileMap, ASwizzledIndexIsNotAffine) {
  const Matrix m{256, 512, 512};
  const Grid grid{8, 1, 1};
  constexpr std::array<std::int64_t, 8> kOrder = {0, 2, 1, 3, 4, 6, 5, 7};
  const TileMap map = find_tiles(grid, for_grid(grid, [&](const BlockIndex& b) {
                                   const std::int64_t tile = kOrder[b[0]];
                                   return cut(m, tile / 4 * 128, tile % 4 * 128, 128, 128);
                                 }));
  EXPECT_EQ(map.form, TileForm::Tiles);
  EXPECT_TRUE(map.one_each);
  EXPECT_EQ(map.rows, 128);
}

TEST(TileMap, AGridStrideLoopHasRowsAtTheGridsDistance) {
  // 3 blocks of 64 bytes go over 500 bytes: the last round is cut off.
  const Grid grid{3, 1, 1};
  const TileMap map = find_tiles(grid, for_grid(grid, [](const BlockIndex& b) {
                                   std::vector<SignedRange> out;
                                   for (std::int64_t at = 64 * wide(b[0]); at < 500; at += 3 * 64)
                                     out.emplace_back(at, std::min<std::int64_t>(at + 64, 500));
                                   return out;
                                 }));
  ASSERT_EQ(map.form, TileForm::Affine);
  EXPECT_EQ(map.pitch, 3 * 64);
  EXPECT_EQ(map.first.by[0], 64);
  EXPECT_TRUE(map.is_clipped);
}

TEST(TileMap, RowsThatDataChoosesAreNotAffine) {
  const TileMap map =
      find_tiles({3, 1, 1}, {{{0, 64}, {640, 704}}, {{128, 192}}, {{64, 128}, {320, 400}}});
  EXPECT_EQ(map.form, TileForm::Other);
  EXPECT_TRUE(map.one_each);
}

TEST(TileMap, AReductionsBlocksAllReadTheSame) {
  const TileMap map = find_tiles({3, 1, 1}, {{{0, 64}}, {{0, 64}}, {{0, 64}}});
  EXPECT_EQ(map.form, TileForm::Same);
  EXPECT_FALSE(map.one_each);
  EXPECT_EQ(map.first.by[0], 0);
}

TEST(TileMap, OneBlockOfSeveralIsSaid) {
  EXPECT_EQ(find_tiles({3, 1, 1}, {{}, {{16, 64}}, {}}).form, TileForm::OneBlock);
  EXPECT_EQ(find_tiles({2, 1, 1}, {{}, {}}).form, TileForm::Nothing);
}

TEST(TileMap, BytesOfTwoBlocksAreSeen) {
  const TileMap map = find_tiles({3, 1, 1}, {{{0, 66}}, {{64, 130}}, {{128, 194}}});
  EXPECT_EQ(map.form, TileForm::Affine);
  EXPECT_FALSE(map.one_each);
}

TEST(TileMap, TilesOfSeveralPiecesMoveAsOne) {
  const TileMap map = find_tiles({2, 1, 1}, {{{0, 8}, {16, 32}}, {{100, 108}, {116, 132}}});
  ASSERT_EQ(map.form, TileForm::Affine);
  EXPECT_EQ(map.pieces, 2U);
  EXPECT_EQ(map.bytes, 24);
  EXPECT_EQ(map.first.by[0], 100);
}

/// Whatever affine tiling a kernel has, and wherever its array ends, it is found again.
TEST(TileMap, FindsRandomAffineMaps) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const auto draw = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(1 + rng.below(most));
    };
    const std::int64_t rows = draw(12);
    const std::int64_t columns = draw(24);
    const Grid grid{static_cast<std::uint32_t>(1 + draw(4)),
                    static_cast<std::uint32_t>(1 + draw(4)), 1};
    // At least one whole tile, and at least one byte of the last.
    Matrix m;
    m.rows = rows * (grid[1] - 1) + draw(static_cast<std::uint64_t>(rows));
    m.columns = columns * (grid[0] - 1) + draw(static_cast<std::uint64_t>(columns));
    m.pitch = m.columns + static_cast<std::int64_t>(rng.below(3)) * 8;
    const bool swaps = rng.below(2) == 1;  // x goes along rows
    const Grid turned = swaps ? Grid{grid[1], grid[0], 1} : grid;
    const TileMap map = find_tiles(turned, for_grid(turned, [&](const BlockIndex& b) {
                                     const std::int64_t r = wide(b[swaps ? 0 : 1]);
                                     const std::int64_t c = wide(b[swaps ? 1 : 0]);
                                     return cut(m, rows * r, columns * c, rows, columns);
                                   }));
    SCOPED_TRACE(testing::Message()
                 << "round " << round << ": tiles of " << rows << " x " << columns << " in "
                 << m.rows << " x " << m.columns << ", pitch " << m.pitch);
    ASSERT_EQ(map.form, TileForm::Affine);
    EXPECT_EQ(map.first.constant, 0);
    EXPECT_EQ(map.first.by[swaps ? 1 : 0], columns);
    EXPECT_EQ(map.first.by[swaps ? 0 : 1], rows * m.pitch);
    EXPECT_TRUE(map.one_each);
  }
}

/// And what is not affine is never taken for it: one block that is elsewhere is enough.
TEST(TileMap, OneBlockElsewhereIsNotAffine) {
  Rng rng(8);
  for (int round = 0; round < 100; ++round) {
    const Grid grid{4, 4, 1};
    const Matrix m{64, 64, 64};
    auto blocks = for_grid(grid, [&](const BlockIndex& b) {
      return cut(m, 16 * wide(b[1]), 16 * wide(b[0]), 16, 16);
    });
    const std::size_t a = rng.below(16);
    const std::size_t b = (a + 1 + rng.below(15)) % 16;
    std::swap(blocks[a], blocks[b]);
    EXPECT_EQ(find_tiles(grid, blocks).form, TileForm::Tiles) << a << " and " << b;
  }
}

}  // namespace
}  // namespace cuco::analysis
