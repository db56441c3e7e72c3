// SPDX-License-Identifier: Apache-2.0
#include "loopback/address_space.h"

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

TEST(AddressSpace, PlacesAreAlignedAndApart) {
  AddressSpace space(0x1000, 0x10000);
  EXPECT_EQ(space.take(0x800, 0x1000), 0x1000U);
  EXPECT_EQ(space.take(0x800, 0x1000), 0x2000U);
  EXPECT_EQ(space.take(0x100, 0x100), 0x1800U);  // Between the two.
  EXPECT_EQ(space.take(0x4000, 0x4000), 0x4000U);
}

TEST(AddressSpace, WhatIsGivenBackIsTakenAgain) {
  AddressSpace space(0x1000, 0x3000);
  ASSERT_EQ(space.take(0x1000, 0x1000), 0x1000U);
  ASSERT_EQ(space.take(0x1000, 0x1000), 0x2000U);
  ASSERT_EQ(space.take(0x1000, 0x1000), 0x3000U);
  EXPECT_FALSE(space.take(1, 1));
  space.give_back(0x2000);
  EXPECT_FALSE(space.take(0x1001, 1));
  EXPECT_EQ(space.take(0x1000, 1), 0x2000U);
}

TEST(AddressSpace, AlignmentDoesNotGoPastTheEnd) {
  AddressSpace space(0x1000, 0x1000);
  EXPECT_FALSE(space.take(0x800, 0x4000));
  EXPECT_TRUE(space.contains(0x1fff));
  EXPECT_FALSE(space.contains(0x2000));
}

}  // namespace
}  // namespace cuco::loopback
