// SPDX-License-Identifier: Apache-2.0
// How one GPU's processors and memory are divided.
#include <set>

#include <gtest/gtest.h>

#include "loopback/size_classes.h"
#include "loopback/sm_plan.h"

namespace cuco::loopback {
namespace {

TEST(SmPlan, LeavesSomeToTheNetwork) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 62}) {
    const auto plan = plan_sms({132, 2}, ranks);
    ASSERT_TRUE(std::holds_alternative<SmPlan>(plan)) << ranks;
    const auto [per_rank, network] = std::get<SmPlan>(plan);
    EXPECT_EQ(per_rank % 2, 0);
    EXPECT_GE(per_rank, 2);
    EXPECT_GE(network, kLeastNetworkSms);
    EXPECT_EQ(per_rank * ranks + network, 132);
  }
  EXPECT_EQ(std::get<SmPlan>(plan_sms({132, 2}, 4)).per_rank, 30);
  EXPECT_EQ(std::get<SmPlan>(plan_sms({132, 2}, 8)).per_rank, 14);
}

TEST(SmPlan, SaysHowManyRanksFit) {
  const auto plan = plan_sms({132, 2}, 63);
  ASSERT_TRUE(std::holds_alternative<std::string>(plan));
  EXPECT_EQ(
      std::get<std::string>(plan),
      "63 ranks do not fit on this GPU: it has 132 multiprocessors, a rank needs 2 of its own "
      "and the network 8; at most 62 ranks do");
  EXPECT_EQ(most_ranks({132, 2}), 62);
  EXPECT_TRUE(std::holds_alternative<std::string>(plan_sms({132, 2}, 0)));
}

TEST(SizeClasses, PiecesAreAlignedAndDoNotOverlap) {
  SizeClasses classes;
  EXPECT_FALSE(classes.take(8));
  classes.add_slab(std::uint64_t{1} << 30U, std::uint64_t{4} << 20U);
  std::set<std::uint64_t> seen;
  std::uint64_t end = 0;
  for (const std::uint64_t bytes : {1U, 512U, 513U, 70000U, 4U}) {
    const auto piece = classes.take(bytes);
    ASSERT_TRUE(piece);
    EXPECT_EQ(*piece % 512, 0U);
    EXPECT_TRUE(seen.insert(*piece).second);
    EXPECT_GE(*piece, end);
    end = *piece + bytes;
  }
}

TEST(SizeClasses, WhatIsFreedIsHandedOutAgain) {
  SizeClasses classes;
  classes.add_slab(0x40000000, 1U << 21U);
  const auto first = classes.take(SizeClasses::kLargest);
  ASSERT_TRUE(first);
  const auto second = classes.take(SizeClasses::kLargest);
  EXPECT_TRUE(second);
  EXPECT_FALSE(classes.take(8)) << "the slab is full";
  EXPECT_TRUE(classes.give_back(*first));
  EXPECT_FALSE(classes.give_back(*first)) << "it is not in use any more";
  EXPECT_EQ(classes.take(SizeClasses::kLargest), first);
}

}  // namespace
}  // namespace cuco::loopback
