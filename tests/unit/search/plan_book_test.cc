// SPDX-License-Identifier: Apache-2.0
#include "search/plans/plan_book.h"

#include <map>

#include <gtest/gtest.h>

namespace cuco::search {
namespace {
using candidate::Plan;

Plan plan(int number, double expected, std::optional<int> parent = std::nullopt) {
  Plan made{.number = number, .parent = parent, .expected_gain = expected};
  made.directive.issuer.count = number;  // each its own
  return made;
}

TEST(PlanBook, HasNothingToFollowWithoutPlans) {
  EXPECT_FALSE(PlanBook().choose());
}

TEST(PlanBook, FollowsTheLargestExpectationFirst) {
  PlanBook book;
  book.add(plan(0, 1.0));
  book.add(plan(1, 2.0));
  const auto choice = book.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->plan, 1);
  EXPECT_TRUE(choice->implement);
}

TEST(PlanBook, SpreadsDecisionsThatAreOnTheirWay) {
  PlanBook book;
  book.add(plan(0, 1.0));
  book.add(plan(1, 1.1));
  EXPECT_EQ(book.choose()->plan, 1);
  book.begin(1);
  EXPECT_EQ(book.choose()->plan, 0);
  book.abandon(1);
  EXPECT_EQ(book.choose()->plan, 1);
}

TEST(PlanBook, TriesAFailedPlanAgainAndGivesItUpInTheEnd) {
  PlanBook book;
  book.add(plan(0, 1.0));
  for (int i = 0; i < PlanBook::kMostTries; ++i) {
    ASSERT_TRUE(book.choose());
    EXPECT_TRUE(book.choose()->implement);
    book.begin(0);
    book.end(0, 0);
    book.implemented(0, 10 + i, 0);
  }
  EXPECT_EQ(book[0].failed, 10 + PlanBook::kMostTries - 1);
  EXPECT_FALSE(book.choose());
}

TEST(PlanBook, GoesOnFromWhatWorks) {
  PlanBook book;
  book.add(plan(0, 1.0));
  book.implemented(0, 3, 1.5);
  const auto choice = book.choose();
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->implement);
  EXPECT_EQ(book[choice->plan].best, 3);
  book.implemented(0, 4, 1.4);
  EXPECT_EQ(book[0].best, 3);
}

TEST(PlanBook, SpendsMostVisitsBelowWhatPays) {
  PlanBook book;
  book.add(plan(0, 1.0));
  book.add(plan(1, 1.0));
  book.add(plan(2, 1.0, 0));
  book.add(plan(3, 1.0, 1));
  for (int i = 0; i < 4; ++i)
    book.implemented(i, i, i == 2 ? 2.0 : 1.1);
  std::map<int, int> visits;
  for (int i = 0; i < 200; ++i) {
    const int followed = book.choose()->plan;
    ++visits[followed];
    book.begin(followed);
    book.end(followed, followed == 0 || followed == 2 ? 2.0 : 1.0);
  }
  EXPECT_GT(visits[0] + visits[2], 150);
  EXPECT_GT(visits[1] + visits[3], 0);
}

TEST(PlanBook, KnowsPlansByTheirDirective) {
  PlanBook book;
  book.add(plan(0, 1.0));
  EXPECT_EQ(book.find(plan(0, 1.0).directive)->plan.number, 0);
  EXPECT_EQ(book.find(plan(7, 1.0).directive), nullptr);
}

}  // namespace
}  // namespace cuco::search
