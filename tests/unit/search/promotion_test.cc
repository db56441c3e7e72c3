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

}  // namespace
}  // namespace cuco::search
