// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/gin_descriptor.h"

#include <vector>

#include <gtest/gtest.h>

#include "nccl_core/resource_layout.h"

namespace cuco::nccl_core {
namespace {

TEST(GinDescriptor, SurvivesARoundTripWithGarbageInUnusedBits) {
  GinDescriptor put;
  put.bytes = 123456;
  put.source_offset = 0x123456789ABCDEF0;
  put.source_window = 0x3000'0000'1000;
  put.destination_offset = 4096;
  put.destination_window = 77;
  put.counter = 9;
  put.signal = 513;
  put.signal_value = 0xFEDCBA9876543210;
  GinWords words = encode(put);
  EXPECT_TRUE(is_complete(words));
  words[5] |= 0xFF000000000000FEULL;
  words[6] |= 0xFF000000000000FEULL;
  words[7] = ~0ULL;
  const GinDescriptor got = decode(words);
  EXPECT_EQ(got.bytes, put.bytes);
  EXPECT_FALSE(got.is_inline);
  EXPECT_EQ(got.source_offset, put.source_offset);
  EXPECT_EQ(got.source_window, put.source_window);
  EXPECT_EQ(got.destination_offset, put.destination_offset);
  EXPECT_EQ(got.counter, put.counter);
  EXPECT_EQ(got.signal, put.signal);
  EXPECT_EQ(got.signal_value, put.signal_value);
}

TEST(GinDescriptor, CarriesInlineValues) {
  GinDescriptor put;
  put.is_inline = true;
  put.bytes = 8;
  put.value = 0x1122334455667788;
  const GinDescriptor got = decode(encode(put));
  EXPECT_TRUE(got.is_inline);
  EXPECT_EQ(got.value, put.value);
  EXPECT_FALSE(got.signal);
  EXPECT_FALSE(got.counter);
}

TEST(GinDescriptor, IsIncompleteUntilEveryWordIsThere) {
  GinWords words = encode({});
  words[3] &= ~1ULL;
  EXPECT_FALSE(is_complete(words));
}

TEST(ResourceLayout, FollowsTheOrderAndUnitsOfTheLibrary) {
  const ResourceNeed needs[] = {gin_barrier_need(2), lsa_barrier_need(3, 4), lla2a_need(1, 8)};
  const ResourceLayout layout = lay_out_resources(needs, 5, 1, 4);
  EXPECT_EQ(layout.grants[0].handle, 0U);
  EXPECT_EQ(layout.grants[0].first_signal, 5U);
  EXPECT_EQ(layout.grants[1].handle, 1U);  // 32 bytes, rounded to 128
  EXPECT_EQ(layout.grants[2].handle, 2U);  // (9 + 12) * 4 = 84 bytes
  EXPECT_EQ(layout.signals, 7U);
  EXPECT_EQ(layout.shadow_offset, 640U);  // 256 + 17 * 16 = 528
  EXPECT_EQ(layout.bytes, 640U + 4 * 7 * 8);
  EXPECT_EQ(lla2a_slots(10, 12), 20);
}

TEST(ResourceLayout, TeamsAreTheLargestEqualBlocks) {
  EXPECT_EQ(lsa_team_size(std::vector<int>{0, 0, 0, 0}), 4);
  EXPECT_EQ(lsa_team_size(std::vector<int>{0, 0, 1, 1}), 2);
  EXPECT_EQ(lsa_team_size(std::vector<int>{0, 0, 0, 0, 1, 1}), 2);
  EXPECT_EQ(lsa_team_size(std::vector<int>{0, 1, 0, 1}), 1);
}

}  // namespace
}  // namespace cuco::nccl_core
