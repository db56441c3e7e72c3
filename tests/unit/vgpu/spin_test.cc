// SPDX-License-Identifier: Apache-2.0
// However a program waits for a flag (data/spins.cu, as nvcc compiles it): with nobody to set it
// the wait is a deadlock, found without executing much; with somebody it ends soon after.
#include "fixture.h"

namespace cuco::vgpu {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr unsigned kThreads = 64;
constexpr std::size_t kFlags = 1000;

std::unique_ptr<Harness> load_spins() {
  return load(read_text("tests/unit/vgpu/data/spins.ptx"));
}

class Wait : public testing::TestWithParam<const char*> {};

TEST_P(Wait, IsADeadlockWhenNobodySetsTheFlag) {
  const auto gpu = load_spins();
  const Address flags = gpu->upload<int>(std::vector<int>(kFlags));
  const Address out = gpu->upload<int>(std::vector<int>(2 * kThreads));
  const auto result = run(*gpu, GetParam(), {.block = {kThreads, 1, 1}}, flags, out);
  EXPECT_THAT(result.deadlock, Not(IsEmpty()));
  EXPECT_THAT(gpu->download<int>(out, kThreads), Each(0));
}

TEST_P(Wait, EndsWhenTheFlagIsSet) {
  const auto gpu = load_spins();
  const Address flags = gpu->upload<int>(std::vector<int>(kFlags));
  const Address out = gpu->upload<int>(std::vector<int>(2 * kThreads));
  const auto result =
      run_ok(*gpu, GetParam(), {.grid = {2, 1, 1}, .block = {kThreads, 1, 1}}, flags, out);
  EXPECT_THAT(gpu->download<int>(out, kThreads), Each(1));
  const VTime took = result.grid.finished - result.grid.started;
  EXPECT_GE(took, 50 * kMicrosecond);
  EXPECT_LT(took, 400 * kMicrosecond);
}

// Who waits on a slow GPU waits for the other, not for itself: time must not grow with each turn.
TEST_P(Wait, IsNoLongerOnASlowGpuThanWhatItWaitsFor) {
  Environment slow;
  slow.schedule.seed = 1;
  slow.schedule.slowdown = 64;
  slow.schedule.run_ahead = kMicrosecond;
  const auto gpu = load(read_text("tests/unit/vgpu/data/spins.ptx"), slow);
  const Address flags = gpu->upload<int>(std::vector<int>(kFlags));
  const Address out = gpu->upload<int>(std::vector<int>(2 * kThreads));
  const auto result =
      run_ok(*gpu, GetParam(), {.grid = {2, 1, 1}, .block = {kThreads, 1, 1}}, flags, out);
  EXPECT_THAT(gpu->download<int>(out, kThreads), Each(1));
  EXPECT_LT(result.grid.finished - result.grid.started, 64 * 400 * kMicrosecond);
}

INSTANTIATE_TEST_SUITE_P(Spin,
                         Wait,
                         testing::Values("changes",
                                         "two_places",
                                         "either_place",
                                         "unrolled",
                                         "unrolled_by_hand",
                                         "backs_off",
                                         "acquires",
                                         "atomic_wait",
                                         "adds_nothing",
                                         "swaps_in_vain",
                                         "ors_nothing",
                                         "inlined",
                                         "called",
                                         "one_lane_for_the_warp",
                                         "one_thread_for_the_block",
                                         "meets_in_the_loop",
                                         "votes_in_the_loop",
                                         "own_places",
                                         "in_turn",
                                         "many_in_turn",
                                         "all_in_order",
                                         "plain_with_fence",
                                         "past_the_cache",
                                         "not_cached",
                                         "stack_in_the_loop",
                                         "reads_the_clock_first",
                                         "reads_the_clock_always"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Spin, ALoopWithABoundEndsAtIt) {
  for (const char* kernel : {"counts_down", "counts_down_around_a_call", "times_out"}) {
    const auto gpu = load_spins();
    const Address flags = gpu->upload<int>(std::vector<int>(kFlags));
    const Address out = gpu->upload<int>(std::vector<int>(2 * kThreads));
    run_ok(*gpu, kernel, {.block = {kThreads, 1, 1}}, flags, out);
    EXPECT_THAT(gpu->download<int>(out, kThreads), Each(1)) << kernel;
    EXPECT_THAT(gpu->download<int>(out + sizeof(int) * kThreads, kThreads), Each(20000)) << kernel;
  }
}

TEST(Spin, ALoopThatCountsItsTriesIsADeadlockInTheEnd) {
  const auto gpu = load(R"(
.visible .entry counts(.param .u64 flag)
{
  .reg .b64 %rd<2>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [flag]; mov.u32 %r1, 0;
AGAIN: add.u32 %r1, %r1, 1; ld.volatile.global.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r2, 0; @%p1 bra AGAIN;
  st.global.u32 [%rd1], %r1; ret;
})");
  const Address flag = gpu->upload<int>(std::vector<int>(1));
  EXPECT_THAT(run(*gpu, "counts", {}, flag).deadlock, Not(IsEmpty()));
}

}  // namespace
}  // namespace cuco::vgpu
