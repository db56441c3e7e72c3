// SPDX-License-Identifier: Apache-2.0
// Barriers, spins, deadlocks, cooperative grids, determinism.
#include "fixture.h"

namespace cuco::vgpu {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kHead = R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .pred %p<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
)";
std::string sync_kernel(std::string_view body, std::string_view before = "") {
  return std::string(before) + std::string(kHead) + std::string(body) + "\n}\n";
}

TEST(Barrier, ReversesThroughSharedMemory) {
  const auto gpu = load(sync_kernel(R"(
    .shared .align 4 .b8 buffer[1024];
    mov.u32 %r2, buffer; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    sub.u32 %r5, 255, %r1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], %r6; ret;)"));
  const Address out = gpu->allocate(1024);
  run_ok(*gpu, "k", {.block = {256, 1, 1}}, out);
  const auto values = gpu->download<std::uint32_t>(out, 256);
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(values[i], 255 - i);
}

TEST(Barrier, CountedProducersAndConsumers) {
  // Warps 0 and 1 meet at barrier 1 for 64 threads; warp 2 arrives at barrier 2 without waiting and
  // warp 3 waits there.
  const auto gpu = load(sync_kernel(R"(
    .shared .align 4 .u32 cell;
    shr.u32 %r2, %r1, 5;
    setp.lt.u32 %p1, %r2, 2; @%p1 bra FIRST;
    setp.eq.u32 %p2, %r2, 3; @%p2 bra WAITS;
    mov.u32 %r3, 7; st.shared.u32 [cell], %r3;
    bar.arrive 2, 64; mov.u32 %r4, 0; bra END;
  WAITS: bar.sync 2, 64; ld.shared.u32 %r4, [cell]; bra END;
  FIRST: bar.sync 1, 64; mov.u32 %r4, 1;
  END: st.global.u32 [%rd3], %r4; ret;)"));
  const Address out = gpu->allocate(512);
  run_ok(*gpu, "k", {.block = {128, 1, 1}}, out);
  const auto values = gpu->download<std::uint32_t>(out, 128);
  EXPECT_EQ(values[0], 1U);
  EXPECT_EQ(values[64], 0U);
  EXPECT_EQ(values[96], 7U);
}

TEST(Barrier, ReductionsCountVotes) {
  const auto gpu = load(sync_kernel(R"(
    setp.lt.u32 %p1, %r1, 40;
    bar.red.popc.u32 %r2, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 100, 0, %p3;
    add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
    st.global.u32 [%rd3], %r2; ret;)"));
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "k", {.block = {64, 1, 1}}, out);
  EXPECT_THAT(gpu->download<std::uint32_t>(out, 64), Each(140U));
}

TEST(Barrier, ExitedThreadsAreNotWaitedFor) {
  const auto gpu = load(sync_kernel(R"(
    setp.gt.u32 %p1, %r1, 40; @%p1 exit;
    bar.sync 0; st.global.u32 [%rd3], %r1; ret;)"));
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "k", {.block = {64, 1, 1}}, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 64)[40], 40U);
}

TEST(Barrier, MissingThreadsAreADeadlockWithNames) {
  const auto gpu = load(sync_kernel("bar.sync 1, 64; ret;"));
  const auto result = run(*gpu, "k", {.block = {32, 1, 1}}, gpu->allocate(64));
  ASSERT_THAT(result.deadlock, SizeIs(1));
  EXPECT_THAT(result.deadlock[0], HasSubstr("waits at barrier 1: 32 of 64 threads are there"));
}

constexpr std::string_view kSpin = R"(
  setp.eq.u32 %p1, %r9, 0; @%p1 bra WRITE;
SPIN:
  ld.volatile.global.u32 %r2, [%rd1];
  setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;
  st.global.u32 [%rd3+128], %r2; ret;
WRITE:
  mov.u32 %r3, 0;
WORK:
  add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 5000; @%p3 bra WORK;
  setp.ne.u32 %p4, %r1, 0; @%p4 ret;
  membar.gl;
  mov.u32 %r4, 42; st.volatile.global.u32 [%rd1], %r4; ret;
)";

TEST(Spin, BetweenBlocksIsParkedAndWoken) {
  const auto gpu = load(sync_kernel(kSpin));
  const Address out = gpu->allocate(512);
  const auto result = run_ok(*gpu, "k", {.grid = {2, 1, 1}, .block = {32, 1, 1}}, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 64)[32 + 5], 42U);
  EXPECT_GE(result.grid.counters.parks, 1U);
  // 5000 rounds of work; the spin itself costs next to nothing.
  EXPECT_LT(result.grid.counters.warp_instructions, 3U * 5000 + 500);
}

TEST(Spin, WithoutAWriterIsADeadlockOnThatAddress) {
  const auto gpu = load(sync_kernel(R"(
  SPIN: ld.acquire.gpu.global.u32 %r2, [%rd1+16];
    setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN; ret;)"));
  const Address out = gpu->allocate(64);
  const auto result = run(*gpu, "k", {.block = {32, 1, 1}}, out);
  ASSERT_THAT(result.deadlock, SizeIs(1));
  EXPECT_THAT(result.deadlock[0], HasSubstr("waits for a write to 0x200000"));
}

TEST(Spin, ThatCountsAndStartsAgainIsFound) {
  const auto gpu = load(sync_kernel(R"(
    mov.u32 %r3, 0;
  SPIN: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 100; selp.u32 %r3, %r3, 0, %p1;
    ld.relaxed.sys.global.u32 %r2, [%rd1];
    setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN; ret;)"));
  const auto result = run(*gpu, "k", {.block = {32, 1, 1}}, gpu->allocate(64));
  EXPECT_THAT(result.deadlock, SizeIs(1));
}

TEST(Spin, WithATimeoutEndsByItself) {
  const auto gpu = load(sync_kernel(R"(
    mov.u64 %rd5, %globaltimer;
  SPIN: ld.volatile.global.u32 %r2, [%rd1+64];
    mov.u64 %rd6, %globaltimer; sub.u64 %rd7, %rd6, %rd5;
    setp.gt.u64 %p1, %rd7, 1000000000; @%p1 bra OUT;
    setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;
  OUT: mov.u32 %r3, 9; st.global.u32 [%rd1], %r3; ret;)"));
  const Address out = gpu->allocate(128);
  const auto result = run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 1)[0], 9U);
  const VTime took = result.grid.finished - result.grid.started;
  EXPECT_GE(took, 1 * kSecond);
  EXPECT_LT(took, 2 * kSecond);
  EXPECT_LT(result.grid.counters.warp_instructions, 10'000U);
}

TEST(Spin, OnSharedMemoryBetweenWarps) {
  const auto gpu = load(sync_kernel(R"(
    .shared .align 4 .u32 flag;
    setp.lt.u32 %p1, %r1, 32; @%p1 bra WAIT;
    mov.u32 %r2, 0;
  WORK: add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3000; @%p3 bra WORK;
    st.volatile.shared.u32 [flag], %r2; ret;
  WAIT: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;
    st.global.u32 [%rd3], %r3; ret;)"));
  const Address out = gpu->allocate(256);
  const auto result = run_ok(*gpu, "k", {.block = {64, 1, 1}}, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 1)[0], 3000U);
  EXPECT_GE(result.grid.counters.parks, 1U);
}

TEST(Spin, LanesOfOneWarpWaitForEachOther) {
  // Lane 0 waits for lane 31, whose code comes later: the lower split must let it run.
  const auto gpu = load(sync_kernel(R"(
    setp.eq.u32 %p1, %r1, 31; @%p1 bra SET;
  WAIT: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
    bra END;
  SET: mov.u32 %r3, 5; st.volatile.global.u32 [%rd1], %r3; mov.u32 %r2, 5;
  END: st.global.u32 [%rd3+4], %r2; ret;)"));
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  EXPECT_THAT(gpu->download<std::uint32_t>(out + 4, 32), Each(5U));
}

TEST(Warp, SyncMeetsByMask) {
  const auto gpu = load(sync_kernel(R"(
    setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    mov.u32 %r2, 0;
  L: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 100; @%p2 bra L;
    st.volatile.global.u32 [%rd3], %r2;
    bra MEET;
  LOW: mov.u32 %r2, 1; st.volatile.global.u32 [%rd3], %r2;
  MEET: bar.warp.sync 0xffffffff;
    sub.u32 %r3, 31, %r1; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4;
    ld.volatile.global.u32 %r4, [%rd5]; st.global.u32 [%rd3+128], %r4; ret;)"));
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  const auto values = gpu->download<std::uint32_t>(out + 128, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i < 16 ? 100U : 1U) << i;
}

/// Lanes 0 … 11 and the others come to `low` and `high`; results in %r5.
std::string two_places(std::string_view low, std::string_view high) {
  return sync_kernel(std::string("setp.lt.u32 %p1, %r1, 12; @%p1 bra LOW;\n") + std::string(high) +
                     " bra DONE;\nLOW: add.u32 %r2, %r1, 50;\n" + std::string(low) +
                     "\nDONE: st.global.u32 [%rd3], %r5; ret;");
}

TEST(Warp, SameOperationAtTwoPlacesMeets) {
  const auto gpu = load(two_places(
      "shfl.sync.idx.b32 %r5, %r2, 31, 31, 0xffffffff;",
      "add.u32 %r8, %r1, 100; mov.u32 %r7, 3; shfl.sync.idx.b32 %r5, %r8, %r7, 31, 0xffffffff;"));
  const Address out = gpu->allocate(128);
  run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  const auto values = gpu->download<std::uint32_t>(out, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i < 12 ? 131U : 53U) << i;
}

TEST(Warp, VotesMatchesReductionsAndBarriersMeetToo) {
  const auto body = [](std::string_view negate) {
    return "and.b32 %r6, %r1, 1; setp.ne.u32 %p2, %r6, 0;"
           "vote.sync.ballot.b32 %r5, " +
           std::string(negate) +
           "%p2, 0xffffffff;"
           "match.any.sync.b32 %r7, %r6, 0xffffffff; xor.b32 %r5, %r5, %r7;"
           "redux.sync.add.u32 %r7, %r1, 0xffffffff; add.u32 %r5, %r5, %r7;"
           "bar.warp.sync 0xffffffff;";
  };
  const auto gpu = load(two_places(body(""), body("!")));
  const Address out = gpu->allocate(128);
  run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  const auto values = gpu->download<std::uint32_t>(out, 32);
  const std::uint32_t votes = 0x5555'5AAAU;  // Odd lanes below 12, even ones from there on.
  for (unsigned i = 0; i < 32; ++i) {
    const std::uint32_t same = i % 2 != 0 ? 0xAAAA'AAAAU : 0x5555'5555U;
    EXPECT_EQ(values[i], (votes ^ same) + 496) << i;
  }
}

TEST(Warp, ThreePlacesMeetAndExitedLanesAreNotWaitedFor) {
  const auto gpu = load(sync_kernel(R"(
    setp.ge.u32 %p1, %r1, 24; @%p1 exit;
    setp.ge.u32 %p1, %r1, 16; @%p1 bra HIGH;
    setp.ge.u32 %p1, %r1, 8; @%p1 bra MIDDLE;
    redux.sync.add.u32 %r5, 1, 0xffffffff; bra DONE;
  MIDDLE: redux.sync.add.u32 %r5, 10, 0xffffffff; bra DONE;
  HIGH: redux.sync.add.u32 %r5, 100, 0xffffffff;
  DONE: st.global.u32 [%rd3], %r5; ret;)"));
  const Address out = gpu->allocate(128);
  run_ok(*gpu, "k", {.block = {32, 1, 1}}, out);
  EXPECT_THAT(gpu->download<std::uint32_t>(out, 24), Each(888U));
}

TEST(Warp, OtherOperationsOrMasksDoNotMeet) {
  const auto waits = [](std::string_view low, std::string_view high) {
    const auto gpu = load(two_places(low, high));
    return run(*gpu, "k", {.block = {32, 1, 1}}, gpu->allocate(128)).deadlock.size();
  };
  constexpr std::string_view kSum = "redux.sync.add.u32 %r5, %r1, 0xffffffff;";
  EXPECT_EQ(waits(kSum, kSum), 0U);
  EXPECT_EQ(waits(kSum, "redux.sync.min.u32 %r5, %r1, 0xffffffff;"), 2U);
  EXPECT_EQ(waits(kSum, "bar.warp.sync 0xffffffff;"), 2U);
  EXPECT_EQ(waits(kSum, "redux.sync.add.u32 %r5, %r1, 0xfffffff8;"), 2U);
}

TEST(Warp, NanosleepAdvancesVirtualTimeOnly) {
  const auto gpu = load(sync_kernel("mov.u32 %r2, 500000; nanosleep.u32 %r2; ret;"));
  const auto result = run_ok(*gpu, "k", {.block = {32, 1, 1}}, gpu->allocate(64));
  EXPECT_GE(result.grid.finished - result.grid.started, 500 * kMicrosecond);
}

TEST(Launch, RefusesWhatDoesNotFit) {
  const auto gpu = load(sync_kernel("ret;"));
  const Address out = gpu->allocate(64);
  const auto refused = [&](HarnessLaunch launch) { return !gpu->run("k", launch, out); };
  EXPECT_TRUE(refused({.block = {1025, 1, 1}}));
  EXPECT_TRUE(refused({.grid = {0, 1, 1}}));
  EXPECT_TRUE(refused({.dynamic_shared = 300 * 1024}));
  EXPECT_TRUE(refused({.grid = {100'000, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}));
  EXPECT_FALSE(refused({.grid = {132, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}));
}

TEST(Launch, DynamicSharedMemoryStartsBehindTheStatic) {
  const auto gpu = load(sync_kernel(R"(
    .shared .align 4 .b8 fixed[12];
    mov.u32 %r2, dynamic; mov.u32 %r3, %dynamic_smem_size;
    st.shared.u32 [%r2+96], %r3; ld.shared.u32 %r4, [dynamic+96];
    st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r2; mov.u32 %r5, fixed; st.shared.u32 [fixed], %r5; ret;)",
                                    ".extern .shared .align 16 .b8 dynamic[];\n"));
  const Address out = gpu->allocate(64);
  run_ok(*gpu, "k", {.dynamic_shared = 100}, out);
  const auto values = gpu->download<std::uint32_t>(out, 2);
  EXPECT_EQ(values[0], 100U);
  EXPECT_EQ(values[1], 16U);
}

/// Blocks append their number to a list in the order in which they come: a trace of the schedule.
std::vector<std::uint32_t> schedule(std::uint64_t seed) {
  Environment environment;
  environment.seed = seed;
  const auto gpu = load(sync_kernel(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, 1; st.volatile.global.u32 [%rd1], %r3;
    mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r9; ret;)"),
                        environment);
  const Address out = gpu->allocate(4096);
  run_ok(*gpu, "k", {.grid = {100, 1, 1}, .block = {32, 1, 1}}, out);
  return gpu->download<std::uint32_t>(out, 101);
}

TEST(Scheduler, SameSeedSameInterleaving) {
  EXPECT_EQ(schedule(0), schedule(0));
  EXPECT_EQ(schedule(7), schedule(7));
  EXPECT_NE(schedule(7), schedule(8));
}

}  // namespace
}  // namespace cuco::vgpu
