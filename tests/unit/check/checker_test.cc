// SPDX-License-Identifier: Apache-2.0
// Kernels with one bug each, and their twins without it, run on the virtual GPU under the checker.
#include "check/checker.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "../vgpu/fixture.h"

namespace cuco::check {
namespace {

using vgpu::Address;

class CheckerTest : public ::testing::Test {
 protected:
  explicit CheckerTest(Options options = {}) : checker(options) {}
  void SetUp() override {
    vgpu::Environment environment;
    environment.observer = &checker;
    harness = vgpu::load(vgpu::read_text("tests/data/check/bugs.ptx"), environment);
    ASSERT_NE(harness, nullptr);
  }
  Address buffer(std::uint64_t bytes, bool written) {
    const Address address = harness->allocate(bytes);
    checker.on_allocate(address, bytes, {.what = "cudaMalloc", .written = written});
    return address;
  }
  [[nodiscard]] std::vector<Kind> kinds() const {
    std::vector<Kind> list;
    for (const Finding& finding : checker.findings().all()) {
      list.push_back(finding.kind);
    }
    return list;
  }
  void reverse(bool first, bool second) {
    const Address in = buffer(512, true);
    const Address out = buffer(512, false);
    vgpu::run(*harness, "reverse", {{1, 1, 1}, {128, 1, 1}}, out, in, first, second);
  }
  void pass(int mode) {
    const Address data = buffer(4, false);
    const Address flag = buffer(4, true);
    const Address out = buffer(4, false);
    vgpu::run(*harness, "pass", {{2, 1, 1}, {32, 1, 1}}, data, flag, out, mode);
  }
  Checker checker;
  std::unique_ptr<vgpu::Harness> harness;
};

TEST_F(CheckerTest, BothBarriersOfATileLoopAreNeeded) {
  reverse(true, true);
  EXPECT_TRUE(kinds().empty()) << to_text(checker.findings().all()[0]);
}

TEST_F(CheckerTest, MissingFirstBarrierIsFoundWithBothLines) {
  reverse(false, true);
  ASSERT_FALSE(kinds().empty());
  const Finding& finding = checker.findings().all()[0];
  EXPECT_EQ(finding.kind, Kind::SharedRace);
  EXPECT_EQ(finding.where.file, "bugs.cu");
  ASSERT_TRUE(finding.other);
  EXPECT_EQ(std::minmax(finding.where.line, finding.other->line), std::minmax(8, 10));
}

TEST_F(CheckerTest, MissingSecondBarrierIsFound) {
  reverse(true, false);
  ASSERT_FALSE(kinds().empty());
  const Finding& finding = checker.findings().all()[0];
  EXPECT_EQ(finding.kind, Kind::SharedRace);
  EXPECT_EQ(std::minmax(finding.where.line, finding.other->line), std::minmax(8, 10));
}

TEST_F(CheckerTest, OneElementTooManyIsNamedWithThreadAndAllocation) {
  const Address in = buffer(40, true);
  const Address out = buffer(40, false);
  vgpu::run(*harness, "copy", {{1, 1, 1}, {32, 1, 1}}, out, in, 10);
  ASSERT_EQ(kinds(), (std::vector{Kind::OutOfBounds, Kind::OutOfBounds}))
      << "the read and the write";
  const Finding& finding = checker.findings().all()[0];
  EXPECT_EQ(finding.where.thread, "(10,0,0)");
  EXPECT_EQ(finding.where.line, 17);
  EXPECT_NE(finding.message.find("past the end of 40 bytes"), std::string::npos) << finding.message;
}

TEST_F(CheckerTest, ExactBoundsAreFine) {
  const Address in = buffer(40, true);
  const Address out = buffer(40, false);
  vgpu::run(*harness, "copy", {{1, 1, 1}, {32, 1, 1}}, out, in, 9);
  EXPECT_TRUE(kinds().empty());
}

TEST_F(CheckerTest, ReadingWhatNobodyWroteIsFoundOnce) {
  const Address in = buffer(40, false);
  const Address out = buffer(40, false);
  vgpu::run(*harness, "copy", {{1, 1, 1}, {32, 1, 1}}, out, in, 9);
  EXPECT_EQ(kinds(), (std::vector{Kind::Uninitialised}));
}

TEST_F(CheckerTest, UseAfterFreeIsFound) {
  const Address in = buffer(40, true);
  const Address out = buffer(40, false);
  checker.on_free(in);
  vgpu::run(*harness, "copy", {{1, 1, 1}, {32, 1, 1}}, out, in, 9);
  EXPECT_EQ(kinds(), (std::vector{Kind::UseAfterFree}));
}

TEST_F(CheckerTest, FencesAroundAVolatileFlagOrderBlocks) {
  pass(0);
  EXPECT_TRUE(kinds().empty());
}

TEST_F(CheckerTest, MissingFenceIsARaceEvenIfTheValueIsRight) {
  pass(1);
  EXPECT_EQ(kinds(), (std::vector{Kind::GlobalRace}));
}

TEST_F(CheckerTest, ReleaseAndAcquireOrderBlocks) {
  pass(2);
  EXPECT_TRUE(kinds().empty());
}

TEST_F(CheckerTest, BlockScopeDoesNotReachAnotherBlock) {
  pass(3);
  EXPECT_FALSE(kinds().empty());
}

TEST_F(CheckerTest, ARelaxedFlagOrdersNothing) {
  pass(4);
  EXPECT_EQ(kinds(), (std::vector{Kind::GlobalRace}));
}

TEST_F(CheckerTest, WorkOnOneStreamIsOrderedOnTwoItIsNot) {
  const Address data = buffer(64, false);
  WorkInfo copy;
  copy.what = "cudaMemcpyAsync";
  copy.chain = 1;
  copy.operation = 1;
  const WorkId first = checker.begin(copy);
  checker.write(first, data, 64);
  WorkInfo ordered = copy;
  ordered.operation = 2;
  ordered.start = checker.end(first);
  const WorkId second = checker.begin(ordered);
  checker.read(second, data, 64);
  checker.end(second);
  EXPECT_TRUE(kinds().empty());
  copy.chain = 2;
  checker.read(checker.begin(copy), data, 64);
  EXPECT_EQ(kinds(), (std::vector{Kind::GlobalRace}));
}

// Who finds a flag there comes after the claim, or races with it.
TEST_F(CheckerTest, WhoeverTakesMemoryEndsTheFlagsInIt) {
  const Address data = buffer(4, false);
  const Address flag = buffer(4, true);
  vgpu::run(*harness, "pass", {{2, 1, 1}, {32, 1, 1}}, data, flag, buffer(4, false), 2);
  EXPECT_EQ(checker.races().flags(), 1U);
  WorkInfo call;
  call.what = "the end of the call";
  const WorkId work = checker.begin(call);
  checker.claim(work, flag, 4);
  checker.end(work);
  EXPECT_EQ(checker.races().flags(), 0U);
}

class FewFlagsTest : public CheckerTest {
 protected:
  FewFlagsTest() : CheckerTest({.most_flags = 2}) {}
};

TEST_F(FewFlagsTest, FlagsWithoutNumberEndTheCheck) {
  pass(2);
  pass(2);
  EXPECT_TRUE(kinds().empty());
  pass(2);
  EXPECT_EQ(kinds(), (std::vector{Kind::Unchecked}));
  EXPECT_EQ(checker.races().flags(), 0U);
  pass(1);
  EXPECT_EQ(kinds().size(), 1U) << "of global memory nothing is remembered any more";
}

TEST_F(CheckerTest, LeaksAreReportedAtTheEnd) {
  buffer(40, true);
  checker.report_leaks();
  EXPECT_EQ(kinds(), (std::vector{Kind::Leak}));
}

}  // namespace
}  // namespace cuco::check
