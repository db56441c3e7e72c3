// SPDX-License-Identifier: Apache-2.0
#include "vgpu/memory/memory.h"

#include <cstring>

#include <gtest/gtest.h>

namespace cuco::vgpu {
namespace {

std::unique_ptr<Memory> make(unsigned devices = 2) {
  auto memory = Memory::create(devices);
  EXPECT_TRUE(memory) << memory.error().message();
  return *std::move(memory);
}

TEST(Memory, AllocationsAreDisjointAlignedAndReused) {
  const auto memory = make();
  const Address a = *memory->allocate(0, 100);
  const Address b = *memory->allocate(0, 100, 4096);
  const Address c = *memory->allocate(1, 100);
  EXPECT_EQ(a, device_base(0));
  EXPECT_EQ(b % 4096, 0U);
  EXPECT_EQ(c, device_base(1));
  EXPECT_GE(b, a + 256);
  EXPECT_TRUE(memory->free(a));
  EXPECT_EQ(*memory->allocate(0, 50), a);
  EXPECT_FALSE(memory->free(a + 8));
}

TEST(Memory, OnlyAllocatedGranulesAreValid) {
  const auto memory = make();
  const Address a = *memory->allocate(0, kGranule + 1);
  EXPECT_TRUE(memory->valid(a, kGranule + 1));
  EXPECT_FALSE(memory->valid(a + 2 * kGranule, 1));
  EXPECT_FALSE(memory->valid(0, 1));
  EXPECT_FALSE(memory->valid(~Address{0}, 8));
  EXPECT_FALSE(memory->valid(kSharedWindow, 4));
  EXPECT_EQ(memory->find_allocation(a + 5)->base, a);
  EXPECT_FALSE(memory->find_allocation(a + 2 * kGranule));
  EXPECT_TRUE(memory->free(a));
  EXPECT_FALSE(memory->valid(a, 1));
}

TEST(Memory, FreedGranulesComeBackZeroed) {
  const auto memory = make();
  const Address a = *memory->allocate(0, kGranule);
  std::memset(Memory::at(a), 7, kGranule);
  EXPECT_TRUE(memory->free(a));
  const Address b = *memory->allocate(0, kGranule);
  EXPECT_EQ(b, a);
  EXPECT_EQ(*Memory::at(b + 100), std::byte{0});
}

TEST(Memory, AliasesAreTheSameBytes) {
  const auto memory = make();
  const Address a = *memory->allocate(1, 2 * kGranule, kGranule);
  ASSERT_TRUE(memory->alias(kFlatBase, a, 2 * kGranule));
  *Memory::at(kFlatBase + kGranule + 3) = std::byte{42};
  EXPECT_EQ(*Memory::at(a + kGranule + 3), std::byte{42});
  EXPECT_EQ(memory->canonical(kFlatBase + kGranule + 3), a + kGranule + 3);
  EXPECT_EQ(memory->granule(kFlatBase).owner, 1);
  EXPECT_FALSE(memory->alias(kFlatBase + 8, a, kGranule));
  EXPECT_TRUE(memory->unalias(kFlatBase, 2 * kGranule));
  EXPECT_FALSE(memory->valid(kFlatBase, 1));
}

TEST(Memory, WatchesSeeWritesThroughAliases) {
  const auto memory = make();
  const Address a = *memory->allocate(0, kGranule, kGranule);
  ASSERT_TRUE(memory->alias(kFlatBase, a, kGranule));
  std::vector<VTime> seen;
  const WatchId id = memory->watch(a + 64, 8, [&](VTime when) { seen.push_back(when); });
  memory->notify_write(a + 72, 8, 1);
  memory->notify_write(kFlatBase + 60, 8, 2);
  memory->notify_write(a, kGranule, 3);
  EXPECT_EQ(seen, (std::vector<VTime>{2, 3}));
  memory->unwatch(id);
  memory->notify_write(a + 64, 8, 4);
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Memory, WatchMayUnwatchItself) {
  const auto memory = make();
  const Address a = *memory->allocate(0, 256);
  WatchId id = 0;
  int calls = 0;
  id = memory->watch(a, 4, [&](VTime) {
    ++calls;
    memory->unwatch(id);
  });
  memory->notify_write(a, 4, 1);
  memory->notify_write(a, 4, 2);
  EXPECT_EQ(calls, 1);
}

TEST(Memory, MulticastNamesItsMembers) {
  const auto memory = make();
  const Address a = *memory->allocate(0, kGranule);
  const Address b = *memory->allocate(1, kGranule);
  const Address base = *memory->add_multicast(4096, {a, b});
  ASSERT_NE(memory->find_multicast(base + 4095), nullptr);
  EXPECT_EQ(memory->find_multicast(base + 4096), nullptr);
  EXPECT_FALSE(memory->valid(base, 4));
  EXPECT_EQ(memory->find_multicast(base)->members.size(), 2U);
  EXPECT_TRUE(memory->remove_multicast(base));
  EXPECT_EQ(memory->find_multicast(base), nullptr);
}

TEST(Memory, HostMemoryHasOneFilePerProcess) {
  const auto memory = make();
  const Address a = *memory->allocate_host(3, 100);
  EXPECT_EQ(a, host_base(3));
  EXPECT_EQ(*memory->host_fd(3), *memory->host_fd(3));
  EXPECT_EQ(memory->granule(a).owner, kHostOwner);
}

}  // namespace
}  // namespace cuco::vgpu
