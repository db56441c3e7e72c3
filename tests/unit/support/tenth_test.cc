// SPDX-License-Identifier: Apache-2.0
#include "support/tenth.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/require.h"

namespace cuco::tests {
namespace {

std::vector<std::string> names(int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i)
    list.push_back("case" + std::to_string(i));
  return list;
}

TEST(Tenth, EveryNameIsInExactlyOne) {
  std::vector<std::string> all;
  for (int which = 0; which < 10; ++which) {
    const auto tenth = tenth_of(names(83), which);
    EXPECT_TRUE(tenth.size() == 8 || tenth.size() == 9) << tenth.size();
    all.insert(all.end(), tenth.begin(), tenth.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(names(83)));
}

TEST(Tenth, DoesNotDependOnTheOrderOfTheNames) {
  auto backwards = names(83);
  std::ranges::reverse(backwards);
  EXPECT_EQ(tenth_of(backwards, 3), tenth_of(names(83), 3));
}

TEST(Tenth, IsAllWhereNoneIsChosen) {
  ::unsetenv("CUCO_TENTH");
  EXPECT_EQ(chosen_tenth(names(5)), names(5));
  ::setenv("CUCO_TENTH", "7", 1);
  EXPECT_EQ(chosen_tenth(names(83)), tenth_of(names(83), 7));
  ::unsetenv("CUCO_TENTH");
}

TEST(Require, IsAListOfNames) {
  ::setenv("CUCO_REQUIRE", "nvcc,fences", 1);
  EXPECT_TRUE(is_required("nvcc"));
  EXPECT_TRUE(is_required("fences"));
  EXPECT_FALSE(is_required("npm"));
  EXPECT_FALSE(is_required("fence"));
  ::unsetenv("CUCO_REQUIRE");
  EXPECT_FALSE(is_required("nvcc"));
}

}  // namespace
}  // namespace cuco::tests
