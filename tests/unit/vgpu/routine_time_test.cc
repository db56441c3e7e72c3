// SPDX-License-Identifier: Apache-2.0
// What ptxas makes of the PTX, as far as times tell: loops of which it joins turns, routines that a
// warp alone waits for, atomics that only count.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

VTime time_in(const std::string& body, const HarnessLaunch& launch = {}) {
  const auto gpu = load(R"(
.visible .entry k(.param .u64 memory)
{
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .pred %p<4>;
  .shared .align 4 .b8 box[4096];
  ld.param.u64 %rd1, [memory]; mov.u32 %r1, 0; mov.u32 %r2, %tid.x; mov.f32 %f1, 0f3F800000;
  mov.u32 %r9, 7; mov.u32 %r8, 1; cvt.u64.u32 %rd3, %r2;
)" + body + " ret; }");
  const Address memory = gpu->allocate(4U << 20U);
  const auto result = run_ok(*gpu, "k", launch, memory);
  return result.grid.finished - result.grid.started;
}

constexpr double kCycle = 505;  ///< ps

/// 64 turns of a loop that counts by `step`.
VTime loop(const std::string& body, const std::string& step = "1", const std::string& pragma = "") {
  return time_in("L: " + pragma + body + "add.u32 %r1, %r1, " + step +
                 "; setp.lt.u32 %p1, %r1, 64; @%p1 bra L;");
}

const std::string kSumRoutine =
    "mul.wide.u32 %rd4, %r1, 8192; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r3, [%rd5]; "
    "add.u32 %r4, %r4, %r3; ";

TEST(JoinedTurns, LoadsOfFourTurnsAreUnderWayAtOnce) {
  EXPECT_LT(5 * loop(kSumRoutine), 2 * loop(kSumRoutine, "%r8"))
      << "ptxas unrolls what counts by a constant";
  EXPECT_LT(5 * loop(kSumRoutine), 2 * loop(kSumRoutine, "1", ".pragma \"nounroll\"; "));
}

TEST(JoinedTurns, ButNotBehindAStoreOrBeforeTheirAddress) {
  const VTime in_turn = loop(kSumRoutine, "%r8");
  EXPECT_GT(10 * loop(kSumRoutine + "st.global.u32 [%rd1], %r4; "), 9 * in_turn);
  const std::string chase = "add.s64 %rd1, %rd1, %rd3; ld.global.u64 %rd3, [%rd1+8192]; ";
  EXPECT_GT(10 * loop(chase), 9 * loop(chase, "%r8"));
}

TEST(JoinedTurns, WhatTheTurnBeforeHasLoadedIsWaitedForInFull) {
  const double latency = h200().l2_latency * kCycle;
  EXPECT_GT(loop("add.s64 %rd1, %rd1, %rd3; ld.global.cg.u64 %rd3, [%rd1+8192]; "), 60 * latency);
}

TEST(RoutineTime, AWarpAloneWaitsForADivisionsSteps) {
  const auto each = [&](const std::string& body) {
    return static_cast<double>(loop(body, "%r8")) / 64 / kCycle;
  };
  EXPECT_NEAR(each("div.u32 %r9, %r9, %r8; add.u32 %r9, %r9, %r1; "), 134, 15);
  EXPECT_NEAR(each("div.rn.f32 %f1, %f1, %f1; "), 57, 15);
  // Two that do not need each other are done side by side.
  EXPECT_LT(each("div.u32 %r9, %r1, %r8; div.u32 %r10, %r1, %r8; add.u32 %r11, %r9, %r10; "), 200);
}

TEST(RoutineTime, SmallNumbersAreScaledUnlessTheyMayBeFlushed) {
  const VTime plain = loop("ex2.approx.f32 %f1, %f1; ", "%r8");
  const VTime flushed = loop("ex2.approx.ftz.f32 %f1, %f1; ", "%r8");
  EXPECT_GT(plain, flushed + 64 * 15 * 505);
}

TEST(RoutineTime, BitsOfALongWordAreCountedInTwoHalves) {
  const HarnessLaunch many{.block = {1024, 1, 1}};
  std::string words;
  std::string halves;
  for (int i = 4; i < 12; ++i) {
    words += fmt::format("popc.b64 %r{}, %rd3;\n", i);
    halves += fmt::format("popc.b32 %r{}, %r2;\n", i);
  }
  EXPECT_GT(2 * time_in(words + words, many), 3 * time_in(halves + halves, many));
}

TEST(SharedAtomics, CountingUpIsDoneForAllLanesAtOnce) {
  const HarnessLaunch many{.block = {1024, 1, 1}};
  const auto time = [&](const std::string& atomic) {
    std::string body = "and.b32 %r3, %r2, 1; shl.b32 %r3, %r3, 2;\n";
    for (int i = 0; i < 16; ++i)
      body += atomic;
    return time_in(body, many);
  };
  const VTime counted = time("red.shared.add.u32 [%r3], 1;\n");
  EXPECT_GT(time("red.shared.add.u32 [%r3], %r2;\n"), 2 * counted);
  EXPECT_LT(10 * time("atom.shared.add.u32 %r5, [%r3], 1;\n"), 11 * counted) << "nobody reads it";
}

}  // namespace
}  // namespace cuco::vgpu
