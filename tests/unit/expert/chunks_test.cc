// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/chunks.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "expert/chunks/chunk_ideas.h"
#include "expert/chunks/tile_text.h"
#include "program/regions.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert::chunks {
namespace {

using analysis::ObservedMap;
using analysis::SeenQuantity;
using ::testing::HasSubstr;

const system::Path kRoot = CUCO_SOURCE_DIR;

SeenQuantity seen(std::int64_t factor, std::vector<std::string> parameters = {}) {
  const analysis::ShapeFormula formula{factor, 1, std::move(parameters)};
  return {.formula = formula, .in_kernel = formula, .last = factor, .shapes = 3};
}

/// Rows of n elements in square tiles, columns of blocks along x.
ObservedMap matrix(const std::string& kernel, std::int64_t tile) {
  ObservedMap map;
  map.kernel = kernel;
  map.parameter = 2;
  map.name = "c";
  map.writes = true;
  map.form = analysis::TileForm::Affine;
  for (const auto quantity : {analysis::Row, analysis::Column, analysis::RowX, analysis::ColumnY})
    map.quantities[quantity] = seen(0);
  for (const auto quantity : {analysis::RowY, analysis::Rows, analysis::ColumnX, analysis::Columns})
    map.quantities[quantity] = seen(tile);
  map.quantities[analysis::Pitch] = seen(1, {"n"});
  return map;
}

TEST(TileText, SaysAMatrixInTheKernelsTerms) {
  EXPECT_EQ(*tile_text(matrix("gemm", 128)),
            "{(size_t)n, 128, 128, blockIdx.y, blockIdx.x, gridDim.y, gridDim.x}");
}

TEST(TileText, SaysAVectorAsOneColumn) {
  ObservedMap map = matrix("scale", 1);
  for (const auto quantity : {analysis::RowY, analysis::Pitch})
    map.quantities[quantity] = {};
  map.quantities[analysis::Rows] = seen(1);
  map.quantities[analysis::ColumnX] = map.quantities[analysis::Columns] = seen(4, {"blockDim.x"});
  EXPECT_EQ(*tile_text(map), "{1, (size_t)(4 * blockDim.x), 1, blockIdx.x, 0, gridDim.x, 1}");
}

TEST(TileText, RefusesWhatIsNoRule) {
  const auto why = [](auto change) {
    ObservedMap map = matrix("gemm", 128);
    change(map);
    const auto text = tile_text(map);
    return text ? *text : text.error().message();
  };
  EXPECT_THAT(why([](auto& map) { map.form = analysis::TileForm::Tiles; }), HasSubstr("affine"));
  EXPECT_THAT(why([](auto& map) { map.one_each = false; }), HasSubstr("by several blocks"));
  EXPECT_THAT(why([](auto& map) { map.pieces = 2; }), HasSubstr("more than one tile"));
  // Every second row of blocks: what lies between is nobody's.
  EXPECT_THAT(why([](auto& map) { map.quantities[analysis::RowY] = seen(256); }),
              HasSubstr("tile by tile"));
  // Fitted on two shapes, with no third to agree.
  EXPECT_THAT(why([](auto& map) { map.quantities[analysis::Pitch].shapes = 2; }),
              HasSubstr("do not follow from the kernel's parameters"));
  EXPECT_THAT(why([](auto& map) { map.quantities[analysis::Pitch].in_kernel.reset(); }),
              HasSubstr("do not follow from the kernel's parameters"));
  EXPECT_THAT(why([](auto& map) { map.quantities[analysis::Column] = seen(8); }),
              HasSubstr("does not begin where"));
}

class ChunksOnGemm : public testing::Test {
 protected:
  // Parsing takes a second: once for all tests.
  static void SetUpTestSuite() {
    seed_ = *system::read_file(kRoot / "workloads/gemm_allgather/program.cu");
    auto graph = analysis::analyse("program.cu", seed_, {.include_paths = {kRoot / "include"}});
    if (graph) graph_ = *std::move(graph);
  }
  void SetUp() override { CUCO_NEEDS("libclang", !graph_.sites.empty(), "nothing was parsed"); }

  static inline std::string seed_;
  static inline analysis::CommunicationGraph graph_;
  const std::vector<ObservedMap> maps_ = {matrix("gemm_fp32", 64), matrix("gemm_bf16", 128)};
};

TEST_F(ChunksOnGemm, SendsFromBothKernels) {
  const auto made = gather_in_producers(graph_, maps_, seed_, {});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->sites, 1);
  EXPECT_THAT(made->program, HasSubstr("cuco_sender.block_done(c, {(size_t)n, 64, 64, "));
  EXPECT_THAT(made->program, HasSubstr("cuco_sender.block_done(c, {(size_t)n, 128, 128, "));
  const auto frozen = program::find_frozen_edit(seed_, made->program);
  ASSERT_TRUE(frozen) << frozen.error().message();
  EXPECT_FALSE(frozen->has_value()) << (*frozen)->line << ": " << (*frozen)->is;
  const auto anew =
      analysis::analyse("program.cu", made->program, {.include_paths = {kRoot / "include"}});
  ASSERT_TRUE(anew) << anew.error().message();
  EXPECT_TRUE(anew->collectives.empty());
  EXPECT_TRUE(anew->problems.empty()) << anew->problems[0];
}

TEST_F(ChunksOnGemm, RefusesAKernelThatNoRunHasShown) {
  const auto made = gather_in_producers(graph_, {maps_.data(), 1}, seed_, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("no run has shown which blocks of gemm_bf16"));
}

TEST_F(ChunksOnGemm, RefusesAKernelThatChangesWhatTheRuleSpeaksOf) {
  std::string text = seed_;
  const std::string begin = "const int row0 = blockIdx.y * kTileBf16;\n";
  text.insert(text.find(begin), "c += 0;\n  ");
  const auto graph = analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
  ASSERT_TRUE(graph) << graph.error().message();
  const auto made = gather_in_producers(*graph, maps_, text, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("gemm_bf16 changes its parameter 'c'"));
}

TEST_F(ChunksOnGemm, ReplaysWhatItRecordsOnce) {
  const auto made = gather_in_producers(graph_, maps_, seed_, {.recorded = true});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->program, HasSubstr("cudaGraphLaunch(state.replays[set], stream)"));
  EXPECT_THAT(made->program, HasSubstr("cuco_sender.block_done(c, {(size_t)n, 128, 128, "));
  const auto frozen = program::find_frozen_edit(seed_, made->program);
  ASSERT_TRUE(frozen) << frozen.error().message();
  EXPECT_FALSE(frozen->has_value()) << (*frozen)->line << ": " << (*frozen)->is;
  const auto anew =
      analysis::analyse("program.cu", made->program, {.include_paths = {kRoot / "include"}});
  ASSERT_TRUE(anew) << anew.error().message();
  EXPECT_TRUE(anew->problems.empty()) << anew->problems[0];
}

TEST_F(ChunksOnGemm, ComesWithAndWithoutAGraph) {
  const auto read = [](const std::string&) -> Result<analysis::CommunicationGraph> {
    return Error{ErrorKind::InvalidInput, "nothing is read"};
  };
  const auto made = make_chunk_ideas(
      graph_, maps_, seed_, {.ranks = 4, .lsa_ranks = 4, .gin = true, .multimem = true}, {}, read);
  std::set<std::string> codes, families;
  for (const Idea& idea : made.ideas) {
    EXPECT_TRUE(codes.insert(code_hash(idea)).second) << idea.because;
    families.insert(idea.family);
    // One flag for all that a rank sends is a signal by that rank.
    const bool signal = idea.directive.chunk.kind == design::ChunkKind::PerTile;
    EXPECT_EQ(idea.directive.sync,
              signal ? design::SyncScope::PerPeerSignal : design::SyncScope::PerChunkFlag);
  }
  EXPECT_THAT(families, ::testing::ElementsAre("chunks from the producers",
                                               "chunks from the producers in a CUDA graph"));
}

TEST_F(ChunksOnGemm, GoesThroughTheNetworkBetweenNodes) {
  const auto read = [](const std::string& text) {
    return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
  };
  const auto near =
      make_chunk_ideas(graph_, maps_, seed_, {.ranks = 4, .lsa_ranks = 4, .gin = true}, {}, read);
  const auto far =
      make_chunk_ideas(graph_, maps_, seed_, {.ranks = 4, .lsa_ranks = 2, .gin = true}, {}, read);
  ASSERT_FALSE(near.ideas.empty());
  ASSERT_FALSE(far.ideas.empty());
  EXPECT_EQ(near.ideas.front().directive.backend, design::Backend::Lsa);
  EXPECT_EQ(far.ideas.front().directive.backend, design::Backend::Hybrid);
  std::set<std::string> codes;
  for (const Idea& idea : far.ideas)
    EXPECT_TRUE(codes.insert(code_hash(idea)).second) << idea.because;
}

}  // namespace
}  // namespace cuco::expert::chunks
