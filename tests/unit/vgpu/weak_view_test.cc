// SPDX-License-Identifier: Apache-2.0
// What threads know of each other's writes: small, and handed around for nothing.
#include "vgpu/weak/weak_view.h"

#include <gtest/gtest.h>

namespace cuco::vgpu {
namespace {

TEST(View, KnowsTheLatestOfEach) {
  View view;
  EXPECT_TRUE(view.empty());
  view.see_all_of(3, 10);
  view.see_all_of(1, 5);
  view.see_all_of(3, 7);
  view.see_word(64, 12);
  EXPECT_TRUE(view.has_seen(3, 10));
  EXPECT_FALSE(view.has_seen(3, 11));
  EXPECT_TRUE(view.has_seen(1, 5));
  EXPECT_FALSE(view.has_seen(2, 1));
  EXPECT_EQ(view.seen_of_word(64), 12U);
  EXPECT_EQ(view.seen_of_word(65), 0U);
  EXPECT_EQ(view.size(), 3U);
}

TEST(View, JoinsToTheLaterOfBoth) {
  View a;
  a.see_all_of(1, 10);
  a.see_all_of(2, 3);
  View b;
  b.see_all_of(2, 8);
  b.see_word(64, 4);
  a.join(b);
  EXPECT_TRUE(a.has_seen(1, 10));
  EXPECT_TRUE(a.has_seen(2, 8));
  EXPECT_EQ(a.seen_of_word(64), 4U);
  EXPECT_FALSE(b.has_seen(1, 1)) << "the other one learns nothing";
}

TEST(View, IsAValue) {
  View a;
  a.see_all_of(1, 10);
  View b = a;
  b.see_all_of(1, 20);
  b.see_all_of(2, 20);
  EXPECT_FALSE(a.has_seen(1, 11));
  EXPECT_FALSE(a.has_seen(2, 1));
}

TEST(View, ForgetsWhatEverybodySees) {
  View view;
  view.see_all_of(1, 10);
  view.see_all_of(2, 20);
  view.see_word(64, 10);
  view.forget_up_to(10);
  EXPECT_EQ(view.size(), 1U);
  EXPECT_TRUE(view.has_seen(2, 20));
  view.forget_up_to(20);
  EXPECT_TRUE(view.empty());
}

}  // namespace
}  // namespace cuco::vgpu
