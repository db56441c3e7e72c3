// SPDX-License-Identifier: Apache-2.0
#include "check/memory_state.h"

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

using Problem = MemoryProblem::Kind;
constexpr Address kBase = 0x2000'0000'0000;

class MemoryStateTest : public ::testing::Test {
 protected:
  MemoryStateTest() { state.allocate(kBase, 100, {.what = "cudaMalloc"}); }
  std::optional<Problem> kind(Address address, std::uint64_t bytes, bool reads) {
    const auto problem = state.check(address, bytes, reads);
    if (!problem) return std::nullopt;
    return problem->kind;
  }
  MemoryState state;
};

TEST_F(MemoryStateTest, TheLastByteIsInsideTheNextIsNot) {
  EXPECT_EQ(kind(kBase + 96, 4, false), std::nullopt);
  EXPECT_EQ(kind(kBase + 100, 4, false), Problem::OutOfBounds);
  EXPECT_EQ(kind(kBase + 97, 4, false), Problem::OutOfBounds);
  EXPECT_EQ(state.check(kBase + 104, 4, false)->detail, "4 bytes past the end of 100 bytes");
  EXPECT_EQ(state.check(kBase - 8, 4, false)->detail, "8 bytes before 100 bytes");
}

TEST_F(MemoryStateTest, ReadsNeedEveryByteWritten) {
  EXPECT_EQ(kind(kBase, 4, true), Problem::Uninitialised);
  state.mark_written(kBase, 3);
  EXPECT_EQ(state.check(kBase, 4, true)->address, kBase + 3);
  state.mark_written(kBase + 3, 1);
  EXPECT_EQ(kind(kBase, 4, true), std::nullopt);
  EXPECT_EQ(kind(kBase, 5, true), Problem::Uninitialised);
}

TEST_F(MemoryStateTest, WholeBlockWrittenNeedsNoShadow) {
  EXPECT_GT(state.shadow_bytes(), 0U);
  state.mark_written(kBase, 60);
  state.mark_written(kBase + 50, 50);
  EXPECT_EQ(state.shadow_bytes(), 0U);
  EXPECT_EQ(kind(kBase, 100, true), std::nullopt);
}

TEST_F(MemoryStateTest, WhatIsLeftOverHasToBeWrittenAgain) {
  state.mark_written(kBase, 100);
  state.mark_unwritten(kBase + 60, 30);
  EXPECT_EQ(kind(kBase, 60, true), std::nullopt);
  EXPECT_EQ(state.check(kBase + 56, 8, true)->address, kBase + 60);
  EXPECT_EQ(kind(kBase + 90, 10, true), std::nullopt);
  state.mark_written(kBase + 60, 30);
  EXPECT_EQ(state.shadow_bytes(), 0U);
  EXPECT_EQ(kind(kBase, 100, true), std::nullopt);
}

TEST_F(MemoryStateTest, FreedMemoryIsNamedUntilItIsReused) {
  state.free(kBase);
  EXPECT_EQ(kind(kBase + 4, 4, false), Problem::Freed);
  EXPECT_TRUE(state.live().empty());
  state.allocate(kBase, 64, {.what = "cudaMalloc", .written = true});
  EXPECT_EQ(kind(kBase + 4, 4, true), std::nullopt);
  EXPECT_EQ(kind(kBase + 80, 4, true), Problem::OutOfBounds);
}

}  // namespace
}  // namespace cuco::check
