// SPDX-License-Identifier: Apache-2.0
#include "search/race/promotion.h"

#include <gtest/gtest.h>

namespace cuco::search {
namespace {
using candidate::Number;

const Region kLsa{.backend = design::Backend::Lsa};
const Region kGin{.backend = design::Backend::Gin};

TEST(Promotion, TakesTheBetterHalf) {
  EXPECT_EQ(promoted({{1, kLsa, 1.0}, {2, kLsa, 1.4}, {3, kLsa, 1.2}, {4, kLsa, 1.1}}, {}),
            (std::vector<Number>{2, 3}));
  EXPECT_EQ(promoted({{1, kLsa, 0.7}}, {}), (std::vector<Number>{1}));
  EXPECT_TRUE(promoted({}, {}).empty());
}

TEST(Promotion, KeepsTheBestOfEveryRegionHoweverSlowOnASmallShape) {
  const std::vector<Standing> peers = {
      {1, kLsa, 2.0}, {2, kLsa, 1.9}, {3, kLsa, 1.8}, {4, kGin, 0.9}, {5, kGin, 0.8}};
  EXPECT_EQ(promoted(peers, {.most = 2}), (std::vector<Number>{1, 4}));
  EXPECT_EQ(promoted(peers, {.most = 3}), (std::vector<Number>{1, 4, 2}));
}

TEST(Promotion, DropsARegionThatIsHopeless) {
  EXPECT_EQ(promoted({{1, kLsa, 2.0}, {2, kLsa, 1.9}, {3, kGin, 0.4}}, {}),
            (std::vector<Number>{1, 2}));
}

TEST(Promotion, PrefersTheOlderOfEqualOnes) {
  EXPECT_EQ(promoted({{3, kLsa, 1.5}, {2, kLsa, 1.5}, {1, kLsa, 1.5}}, {}),
            (std::vector<Number>{1, 2}));
}

TEST(Promotion, TakesNobodyWithoutATime) {
  EXPECT_EQ(promoted({{1, kLsa, 0}, {2, kLsa, 1.1}}, {}), (std::vector<Number>{2}));
}

const std::vector<Challenger> kChallengers = {
    {1, kLsa, 2.0, 0.1}, {2, kLsa, 1.9, 0.1}, {3, kGin, 0.9, 0.4}, {4, kGin, 0.8, 0.4}};

TEST(Promotion, GivesFullShapesToTheBestOfEveryRegionThatHasNone) {
  EXPECT_EQ(regions_best(kChallengers, {}, 2.0, {}), (std::vector<Number>{1, 3}));
  EXPECT_EQ(regions_best(kChallengers, {kLsa}, 2.0, {}), (std::vector<Number>{3}));
  EXPECT_EQ(regions_best(kChallengers, {}, 2.0, {.hopeless = 0.5}), (std::vector<Number>{1}));
}

TEST(Promotion, GivesFullShapesToWhomTheyMayMakeTheFastest) {
  // 5 % behind, and rungs have disagreed by more; half as fast, and they have not.
  EXPECT_EQ(worth_full_shapes(kChallengers, 2.0, 2), (std::vector<Number>{1, 2}));
  EXPECT_TRUE(worth_full_shapes({{1, kLsa, 1.0, 0.1}}, 2.0, 2).empty());
  EXPECT_EQ(worth_full_shapes({{1, kLsa, 1.0, 0.8}}, 2.0, 2), (std::vector<Number>{1}));
  // Where they agree, a candidate that is behind stays behind.
  EXPECT_EQ(worth_full_shapes({{1, kLsa, 2.0, 0.01}, {2, kLsa, 1.9, 0.01}}, 1.9, 2),
            (std::vector<Number>{1}));
}

}  // namespace
}  // namespace cuco::search
