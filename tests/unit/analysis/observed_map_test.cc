// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/observed_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/trace/kernel_symbol.h"
#include "analysis/trace/observed_overlap.h"
#include "analysis/trace/read_origins.h"

namespace cuco::analysis {
namespace {

using ::testing::HasSubstr;
using vcluster::BlockRows;
using vcluster::kNoTime;
using vcluster::TracedStep;

/// A graph with one kernel k(float* in, float* out, int width) and one all-gather.
CommunicationGraph graph() {
  CommunicationGraph graph;
  graph.buffers.resize(2);
  graph.buffers[0].name = "d_in";
  graph.buffers[1].name = "d_out";
  Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{"in", "const float *", true, true, false, 0, {}},
                       {"out", "float *", true, false, true, 1, {}},
                       {"width", "int", false, false, false, -1, {}}};
  graph.kernels.push_back(kernel);
  Collective collective;
  collective.name = "ncclAllGather";
  graph.collectives.push_back(collective);
  Site site;
  site.collectives = {0};
  graph.sites.push_back(site);
  return graph;
}

/// k on device 0: block x reads all `n` floats and writes `tile` of them.
TracedStep launch(vcluster::BlockRecord& record, std::uint64_t n, std::uint64_t tile) {
  TracedStep step{.kind = "kernel", .name = "_Z1kPKfPf", .device = 0};
  const std::uint64_t blocks = (n + tile - 1) / tile;
  step.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  step.pointers = {{0, 0, 1, 0}, {1, 0, 2, 256}};
  step.numbers = {{2, static_cast<std::int64_t>(tile)}};
  vcluster::BlockMap in(blocks);
  vcluster::BlockMap out(blocks);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    in[b].read = {{0, 4 * n, 1, 0}};
    out[b].written = {{256 + 4 * tile * b, 4 * std::min(tile, n - tile * b), 1, 0}};
  }
  record.maps.push_back(in);
  record.maps.push_back(out);
  step.touched = {{1, record.maps.size() - 2, true, {}}, {2, record.maps.size() - 1, true, {}}};
  return step;
}

SeenRun run_of(std::uint64_t n, std::uint64_t tile) {
  SeenRun run{"n", {{"n", static_cast<std::int64_t>(n)}}, {}};
  run.record.steps.push_back(launch(run.record, n, tile));
  return run;
}

TEST(KernelSymbol, IsReadAsTheSourceHasIt) {
  EXPECT_EQ(read_symbol("_Z4fillIfEvPT_i").name, "fill");
  EXPECT_EQ(read_symbol("_Z4fillIfEvPT_i").arguments, "<float>");
  EXPECT_EQ(read_symbol("_ZN3lib4packEPf").name, "pack");
  EXPECT_EQ(read_symbol("plain").name, "plain");
}

TEST(ObservedMap, IsSaidInTheKernelsOwnTerms) {
  const auto maps = find_maps(graph(), {run_of(1000, 128), run_of(640, 64), run_of(900, 100)});
  const ObservedMap* out = find_map(maps, 0, 1, true);
  ASSERT_NE(out, nullptr);
  const SeenQuantity& columns = out->quantities[Columns];
  EXPECT_FALSE(columns.formula);  // it does not follow from n
  ASSERT_TRUE(columns.in_kernel);
  EXPECT_EQ(to_text(*columns.in_kernel), "width");
  EXPECT_EQ(columns.shapes, 3U);
}

TEST(ObservedMap, IsFittedOnTwoShapesAndVerifiedOnAThird) {
  const auto maps = find_maps(graph(), {run_of(1000, 128), run_of(640, 128), run_of(900, 128)});
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(to_text(maps[0]), "every block -> elements 0 .. +n");
  EXPECT_EQ(to_text(maps[1]), "block (x) -> elements 128 * x .. +128, cut off at the edge");
  EXPECT_EQ(basis(maps[1]), "fitted on 2 shapes, verified on a third");
  EXPECT_TRUE(maps[1].is_verified);
  EXPECT_TRUE(maps[1].writes);
  EXPECT_TRUE(maps[1].one_each);
  EXPECT_EQ(maps[1].name, "out");
  EXPECT_EQ(maps[1].buffer, "d_out");
}

TEST(ObservedMap, TwoShapesThatAreAlikeInAParameterDoNotHideIt) {
  const auto maps = find_maps(graph(), {run_of(640, 128), run_of(640, 128), run_of(900, 128)});
  EXPECT_EQ(to_text(maps[0]), "every block -> elements 0 .. +n");
  EXPECT_TRUE(maps[0].is_verified);
}

TEST(ObservedMap, AThirdShapeThatDoesNotAgreeTakesTheFormulaAway) {
  const auto maps = find_maps(graph(), {run_of(1000, 128), run_of(640, 128), run_of(900, 100)});
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_FALSE(maps[1].is_verified);
  EXPECT_FALSE(maps[1].quantities[Columns].formula);
  EXPECT_EQ(maps[1].quantities[Columns].last, 100);
  EXPECT_THAT(basis(maps[1]), HasSubstr("no formula"));
}

TEST(ObservedMap, AStepThatOneShapeShowsIsNotVerified) {
  const auto maps = find_maps(graph(), {run_of(128, 128), run_of(100, 128), run_of(900, 128)});
  EXPECT_FALSE(maps[1].is_verified);
  EXPECT_EQ(maps[1].quantities[ColumnX].shapes, 1U);
}

TEST(ObservedMap, AStepThatDiffersBetweenLaunchesIsNotKnown) {
  SeenRun run = run_of(512, 128);
  run.record.steps.push_back(launch(run.record, 512, 128));
  for (std::size_t block = 0; block < 4; ++block)
    run.record.maps[3][block].written[0].first += 256 * block;
  const auto maps = find_maps(graph(), {run, run_of(640, 128)});
  EXPECT_TRUE(maps[1].quantities[ColumnX].differs);
  EXPECT_EQ(to_text(maps[1]), "block (x) -> elements ? * x .. +128");
  EXPECT_THAT(basis(maps[1]), HasSubstr("launches differ"));
}

TEST(ObservedMap, SaysWhereABlockOfAnotherShapeIs) {
  const auto maps = find_maps(graph(), {run_of(1000, 128), run_of(640, 128), run_of(900, 128)});
  const ObservedMap* out = find_map(maps, 0, 1, true);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(find_map(maps, 0, 1, false), nullptr);
  const auto place = place_of(*out, {5, 0, 0}, {{"n", 4096}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->column, 640);
  EXPECT_EQ(place->columns, 128);
  // Nobody has seen a second block along y.
  EXPECT_FALSE(place_of(*out, {0, 1, 0}, {{"n", 4096}}));
  const auto in = place_of(*find_map(maps, 0, 0, false), {5, 0, 0}, {{"n", 4096}});
  ASSERT_TRUE(in);
  EXPECT_EQ(in->columns, 4096);
  EXPECT_THAT(to_text(std::span<const ObservedMap>(maps)),
              HasSubstr("k writes out = d_out: block (x) -> elements 128 * x .. +128"));
}

TEST(ObservedMap, OneRunSaysThatItIsOneShape) {
  const auto maps = find_maps(graph(), {run_of(512, 128)});
  EXPECT_EQ(basis(maps[1]), "one shape");
  EXPECT_FALSE(maps[1].is_verified);
}

TEST(ObservedMap, LaunchesThatDifferHaveNoOneRule) {
  SeenRun run = run_of(512, 128);
  run.record.steps.push_back(launch(run.record, 512, 128));
  // Another order of blocks.
  auto other = run.record.maps[1];
  std::swap(other[1], other[2]);
  run.record.maps.push_back(other);
  run.record.steps[1].touched[1].map = run.record.maps.size() - 1;
  const auto maps = find_maps(graph(), {run});
  EXPECT_EQ(maps[1].form, TileForm::Other);
  EXPECT_THAT(to_text(maps[1]), HasSubstr("not the same in all launches"));
}

TEST(ObservedMap, PointersIntoOneBufferShareItOut) {
  SeenRun run{"", {}, {}};
  TracedStep step{.kind = "kernel", .name = "_Z1kPKfPf", .device = 0};
  step.grid = {2, 1, 1};
  step.pointers = {{0, 0, 1, 0}, {1, 0, 1, 1024}};
  run.record.maps = {
      {BlockRows{{{0, 8, 1, 0}}, {{1024, 8, 1, 0}}}, BlockRows{{{8, 8, 1, 0}}, {{1032, 8, 1, 0}}}}};
  step.touched = {{1, 0, true, {}}};
  run.record.steps = {step};
  const auto maps = find_maps(graph(), {run});
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0].name, "in");
  EXPECT_EQ(to_text(maps[1]), "block (x) -> elements 2 * x .. +2");
  EXPECT_EQ(maps[1].name, "out");
}

TEST(ObservedMap, AWorkloadsBuffersHaveTheirNames) {
  SeenRun run = run_of(512, 128);
  run.given = {"input A", "output C"};
  run.record.steps.push_back(launch(run.record, 512, 128));
  run.record.steps[1].pointers[0].buffer = 3;  // the program's own
  run.record.steps[1].touched[0].buffer = 3;
  const auto maps = find_maps(graph(), {run});
  EXPECT_EQ(maps[0].buffer, "input A, d_in");
  EXPECT_EQ(maps[1].buffer, "output C");
}

TEST(ReadOrigins, ABlocksOwnStateIsToldFromOthersWork) {
  vcluster::BlockRecord record;
  const auto map = [&](std::uint64_t shift) {
    record.maps.push_back({BlockRows{{{shift, 8, 1, 0}}, {{0, 8, 1, 0}}},
                           BlockRows{{{8 - shift, 8, 1, 0}}, {{8, 8, 1, 0}}}});
    return record.maps.size() - 1;
  };
  const auto step = [&](std::size_t number) {
    TracedStep one{.kind = "kernel", .name = "k", .device = 0};
    one.grid = {2, 1, 1};
    one.touched = {{1, number, true, {}}};
    record.steps.push_back(one);
  };
  const std::size_t own = map(0);
  const std::size_t crossed = map(8);
  step(own);
  step(own);
  step(crossed);
  const auto origins = origins_of(record);
  EXPECT_EQ(origins[0].at(1).given, 16U);
  EXPECT_TRUE(origins[1].at(1).is_block_local());
  EXPECT_EQ(origins[1].at(1).own, 16U);
  EXPECT_EQ(origins[2].at(1).others, 16U);
  EXPECT_FALSE(origins[2].at(1).is_block_local());
}

TEST(ReadOrigins, WhatACollectiveBringsHasArrived) {
  vcluster::BlockRecord record;
  record.maps = {{BlockRows{{{0, 100, 1, 0}}, {}}}};
  TracedStep gather{.kind = "collective", .name = "ncclAllGather", .device = 0};
  gather.written = {{1, 40, 40}};
  TracedStep reader{.kind = "kernel", .name = "k", .device = 0};
  reader.touched = {{1, 0, true, {}}};
  record.steps = {gather, reader};
  const auto origins = origins_of(record);
  EXPECT_EQ(origins[1].at(1).arrived, 40U);
  EXPECT_EQ(origins[1].at(1).given, 60U);
}

/// A maker from 0 to 100 us whose four chunks are final at 25, 50, 75 and 100 us, then 40 us of
/// communication, then a user that needs them at once or one by one.
vcluster::BlockRecord chunked(bool user_needs_all_at_once) {
  constexpr std::int64_t kUs = 1'000'000;
  vcluster::BlockRecord record;
  record.maps = {{BlockRows{}}};
  TracedStep maker{.kind = "kernel", .name = "make", .order = 1, .device = 0};
  maker.finished_ps = 100 * kUs;
  const std::vector<std::int64_t> never(4, kNoTime);
  maker.touched = {{1, 0, true, {16, never, {25 * kUs, 50 * kUs, 75 * kUs, 100 * kUs}}}};
  TracedStep gather{.kind = "collective", .name = "ncclAllGather", .order = 2, .device = 0};
  gather.started_ps = 100 * kUs;
  gather.finished_ps = 140 * kUs;
  gather.read = {{1, 0, 64}};
  gather.written = {{2, 0, 64}};
  TracedStep user{.kind = "kernel", .name = "use", .order = 3, .device = 0};
  user.started_ps = 140 * kUs;
  user.finished_ps = 200 * kUs;
  const std::int64_t step = user_needs_all_at_once ? 0 : 10 * kUs;
  user.touched = {
      {2,
       0,
       true,
       {16, {140 * kUs, 140 * kUs + step, 140 * kUs + 2 * step, 140 * kUs + 3 * step}, never}}};
  record.steps = {maker, gather, user};
  return record;
}

TEST(ObservedOverlap, ChunksHideBehindTheRestOfTheirMaker) {
  const auto overlaps = observe_overlaps(graph(), chunked(true));
  ASSERT_EQ(overlaps.size(), 1U);
  EXPECT_EQ(overlaps[0].seen, 1U);
  EXPECT_DOUBLE_EQ(overlaps[0].communication_us, 40);
  // The last chunk leaves at 100 us and takes 10: three quarters are hidden.
  EXPECT_DOUBLE_EQ(overlaps[0].behind_producers_us, 30);
  EXPECT_DOUBLE_EQ(overlaps[0].behind_consumers_us, 0);
  EXPECT_DOUBLE_EQ(overlaps[0].gain_us, 30);
}

TEST(ObservedOverlap, AUserThatNeedsChunksOneByOneCanBeginWithTheFirst) {
  const auto overlaps = observe_overlaps(graph(), chunked(false));
  EXPECT_DOUBLE_EQ(overlaps[0].behind_consumers_us, 30);
  EXPECT_DOUBLE_EQ(overlaps[0].gain_us, 40);
}

}  // namespace
}  // namespace cuco::analysis
