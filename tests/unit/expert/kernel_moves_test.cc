// SPDX-License-Identifier: Apache-2.0
// Which kernel design comes next, by what is known of the others.
#include <algorithm>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "expert/kernels/moves.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert::kernels {
namespace {

const system::Path kRoot = CUCO_SOURCE_DIR;

Result<analysis::CommunicationGraph> parse(const std::string& text) {
  return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
}

TEST(KernelMoves, SayWhichDimensionsDoNotFit) {
  const auto seed = *system::read_file(kRoot / "workloads/fused_add_rmsnorm/program.cu");
  auto graph = parse(seed);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  Moves moves(*graph, seed);
  const std::vector<std::string> expected = {"threads: 'partial' has room for 256 threads",
                                             "blocks a row: threads of a block talk to each other",
                                             "rows a block: threads of a block talk to each other"};
  EXPECT_EQ(moves.refusals(), expected);
}

candidate::History::Item judged(int number, const design::KernelDesign& design, double speedup) {
  auto item = std::make_shared<candidate::Judged>();
  item->candidate.number = number;
  item->candidate.directive.kernel = design;
  item->outcome = candidate::Scored{.seconds = 1 / speedup, .baseline_seconds = 1};
  return item;
}

TEST(KernelMoves, ImproveOnTheBestSoFarAndOfferNothingTwice) {
  const auto seed = *system::read_file(kRoot / "workloads/silu_and_mul/program.cu");
  auto graph = parse(seed);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  Moves moves(*graph, seed);
  std::vector<candidate::History::Item> items = {judged(0, {}, 1)};
  std::set<std::string> sources;
  for (int number = 1; number < 12; ++number) {
    const auto move = moves.next(candidate::History(items), 0);
    ASSERT_TRUE(move);
    EXPECT_TRUE(sources.insert(move->source).second) << to_text(move->design);
    // The second one is the best of all: what comes next stands on it, and then on the first.
    if (number <= 3) {
      EXPECT_EQ(move->parent, number - 1) << to_text(move->design);
    } else {
      EXPECT_LE(move->parent, 2) << to_text(move->design);
    }
    items.push_back(judged(number, move->design, number == 2 ? 3 : number == 1 ? 2 : 1.1));
  }
}

TEST(KernelMoves, ListWhatAFewStepsLeadTo) {
  const auto seed = *system::read_file(kRoot / "workloads/silu_and_mul/program.cu");
  auto graph = parse(seed);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  Moves moves(*graph, seed);
  const auto item = judged(0, {}, 1);
  const auto list = moves.list(*item);
  // All that fits at once is hoped to gain most, and so do its neighbours.
  ASSERT_GT(list.size(), 40U);
  EXPECT_EQ(std::ranges::max_element(list, {}, &Listed::promise), list.begin());
  EXPECT_GT(list.front().promise, 1.1);
  std::set<std::string> sources;
  for (const Listed& listed : list)
    EXPECT_TRUE(sources.insert(moves.source_of(listed.design)).second) << to_text(listed.design);
  EXPECT_FALSE(sources.contains(seed));
  EXPECT_EQ(moves.list(*item).size(), list.size());
}

TEST(KernelMoves, KnowWhatIsOnItsWay) {
  const auto seed = *system::read_file(kRoot / "workloads/silu_and_mul/program.cu");
  auto graph = parse(seed);
  CUCO_NEEDS("libclang", graph || graph.error().kind() != ErrorKind::NotFound, "no parser");
  Moves moves(*graph, seed);
  // Verdicts come three moves late, and each one is better than all before: the best changes while
  // moves are on their way.
  constexpr std::size_t kLate = 3;
  std::vector<candidate::History::Item> items = {judged(0, {}, 1)};
  std::vector<candidate::History::Item> coming;
  std::set<std::string> sources;
  for (int number = 1; number < 12; ++number) {
    const auto move = moves.next(candidate::History(items), static_cast<int>(coming.size()));
    ASSERT_TRUE(move);
    EXPECT_TRUE(sources.insert(move->source).second) << to_text(move->design);
    coming.push_back(judged(number, move->design, number + 1));
    if (coming.size() < kLate) continue;
    items.push_back(coming.front());
    coming.erase(coming.begin());
  }
}

TEST(KernelMoves, ReadTheProfile) {
  candidate::ShapeTime shape{.shape = "s", .seconds = 10};
  const auto limit = [&] { return limit_of(candidate::Scored{.seconds = 10, .shapes = {shape}}); };
  EXPECT_EQ(limit(), Limit::Unknown);
  shape.phases = {{"waiting for memory", 8}};
  EXPECT_EQ(limit(), Limit::Memory);
  shape.scale_model.filling = {.blocks_per_sm = 0.5, .waves = 0.1};
  EXPECT_EQ(limit(), Limit::FewBlocks);
  shape.scale_model.filling = {.blocks_per_sm = 100, .waves = 40};
  EXPECT_EQ(limit(), Limit::ManyBlocks);
  shape.phases = {{"at barriers", 3}};
  EXPECT_EQ(limit(), Limit::Barriers);
}

TEST(KernelMoves, DeriveGeometryFromTheLaunchAndTheProfile) {
  const LaunchFacts facts{.threads = 128, .elements = 8};
  EXPECT_TRUE(steps_from({}, Limit::Barriers, facts).front().design.shuffles);
  EXPECT_EQ(steps_from({}, Limit::Memory, facts).front().design.vector_bytes, 16);
  // Eight elements go in a vector: an eighth of the threads does a row.
  const auto joined = steps_from({}, Limit::ManyBlocks, facts).front().design;
  EXPECT_EQ(joined, (design::KernelDesign{.vector_bytes = 16, .threads = 16, .rows_per_block = 8}));
  const auto split = steps_from({}, Limit::FewBlocks, facts).front().design;
  EXPECT_EQ(split, (design::KernelDesign{.vector_bytes = 16, .threads = 32, .blocks_per_row = 8}));
  const auto further = steps_from(joined, Limit::ManyBlocks, facts).front().design;
  EXPECT_EQ(further.rows_per_block, 16);
  // What fits at once comes first, then what is one step from it.
  LaunchFacts all = facts;
  all.together = {.vector_bytes = 16, .rounds = 1, .shuffles = true, .fitted = true};
  EXPECT_EQ(steps_from({}, Limit::Unknown, all).front().design, all.together);
  const auto near = steps_from(all.together, Limit::Unknown, all);
  EXPECT_EQ(near.front().design.rounds, 2);
  for (const auto& step : near) {
    EXPECT_EQ(step.design.blocks_per_row + step.design.rows_per_block, 0) << to_text(step.design);
    EXPECT_FALSE(step.design.fast_math || step.design.read_only) << to_text(step.design);
  }
  // No launch is known: no geometry.
  for (const auto& step : steps_from({}, Limit::ManyBlocks, {}))
    EXPECT_EQ(step.design.threads, 0) << to_text(step.design);
}

}  // namespace
}  // namespace cuco::expert::kernels
