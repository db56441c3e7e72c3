// SPDX-License-Identifier: Apache-2.0
// The time model: pipes, caches, and that what should be slower is.
#include "vgpu/timing/timing.h"

#include <fmt/format.h>

#include "fixture.h"
#include "vgpu/timing/pipe.h"

namespace cuco::vgpu {
namespace {

TEST(Time, DurationsThatAProgramChoosesEndWithTime) {
  EXPECT_EQ(after(5, 7), 12);
  EXPECT_GT(after(5, kNever), kEndOfTime);
  EXPECT_GT(after(kEndOfTime, kSecond), kEndOfTime);
  EXPECT_LT(after(after(kEndOfTime, kNever), kNever), kNever / 8);
}

TEST(Time, ASpinOnTheClockSkipsNoMoreThanALeap) {
  // Waits for `delay` ns, and says how much longer it took.
  const auto gpu = load(R"(
.visible .entry k(.param .u64 delay, .param .u64 out)
{
  .reg .b64 %rd<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [delay]; ld.param.u64 %rd2, [out]; mov.u64 %rd3, %globaltimer;
LOOP: mov.u64 %rd4, %globaltimer; sub.u64 %rd5, %rd4, %rd3; setp.lt.u64 %p1, %rd5, %rd1;
  @%p1 bra LOOP;
  sub.u64 %rd5, %rd5, %rd1; st.global.u64 [%rd2], %rd5; ret;
})");
  const Address out = gpu->allocate(8);
  for (const std::uint64_t seconds : {1, 30, 600}) {
    run_ok(*gpu, "k", {}, seconds * 1'000'000'000, out);
    const VTime late = static_cast<VTime>(gpu->download<std::uint64_t>(out, 1)[0]) * kNanosecond;
    EXPECT_LE(late, kLongestLeap);
    EXPECT_LE(late, static_cast<VTime>(seconds) * kSecond / 60);
  }
}

TEST(Pipe, LateCallersFindUnusedCapacity) {
  Pipe<10, 64> pipe;  // 1024 ps per bucket
  EXPECT_EQ(pipe.reserve(50'000, 100), 50'100);
  // A request from before is not pushed behind the later one.
  EXPECT_EQ(pipe.reserve(20'000, 100), 20'100);
}

TEST(Pipe, DemandBeyondCapacityQueues) {
  Pipe<10, 64> pipe;
  VTime last = 0;
  for (int i = 0; i < 100; ++i)
    last = pipe.reserve(0, 512);
  EXPECT_EQ(last, 100 * 512);
}

TEST(Pipe, ForgetsThePastWithoutLosingTheFuture) {
  Pipe<10, 64> pipe;
  pipe.reserve(0, 2000);
  EXPECT_EQ(pipe.reserve(1'000'000, 10), 1'000'010);
  EXPECT_GE(pipe.reserve(0, 10), 10);
}

TEST(Pipe, TellsHowBusyItWas) {
  Pipe<10, 16> pipe;
  EXPECT_EQ(pipe.load(8 << 10), 0U);
  for (VTime bucket = 4; bucket < 8; ++bucket)
    pipe.reserve(bucket << 10, 512);
  EXPECT_EQ(pipe.load(8 << 10), 128U);
  EXPECT_EQ(pipe.load(10 << 10), 64U);
  pipe.reserve(8 << 10, 4096);
  EXPECT_EQ(pipe.load(12 << 10), 256U);
}

TEST(CacheTags, HitsWhatFitsAndWritesBackWhatIsDirty) {
  CacheTags tags(std::uint64_t{64} * 128, 4);  // 64 lines
  EXPECT_EQ(tags.touch(tags.place_of(5), 0xF).hit, 0U);
  EXPECT_EQ(tags.touch(tags.place_of(5), 0x3).hit, 0xFU);  // Whatever is asked for.
  EXPECT_EQ(tags.touch(tags.place_of(6), 0x1).hit, 0U);
  EXPECT_EQ(tags.touch(tags.place_of(6), 0xF).hit, 0x1U);  // Sectors come one by one.
  tags.touch(tags.place_of(7), 0xF, true);
  unsigned written = 0;
  for (std::uint64_t line = 1000; line < 1400; ++line)
    written += tags.touch(tags.place_of(line), 0xF).written;
  EXPECT_EQ(written, 0xFU);
  EXPECT_EQ(tags.touch(tags.place_of(5), 0xF).hit, 0U);
}

constexpr std::string_view kStream = R"(
.visible .entry k(.param .u64 in, .param .u32 stride)
{
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [in]; ld.param.u32 %r5, [stride];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.lo.u32 %r4, %r4, %r5;
  mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3]; add.u32 %r6, %r6, 1; st.global.u32 [%rd3], %r6; ret;
})";

TEST(Timing, StridedAccessesCostMoreSectorsAndTime) {
  const auto gpu = load(kStream);
  const Address in = gpu->allocate(32U << 20U);
  const HarnessLaunch launch{.grid = {512, 1, 1}, .block = {256, 1, 1}};
  const auto dense = run_ok(*gpu, "k", launch, in, 1);
  const auto sparse = run_ok(*gpu, "k", launch, in, 32);
  EXPECT_EQ(dense.grid.counters.sectors, 2U * 512 * 256 / 8);
  EXPECT_EQ(sparse.grid.counters.sectors, 2U * 512 * 256);
  EXPECT_GT(sparse.grid.finished - sparse.grid.started, dense.grid.finished - dense.grid.started);
}

TEST(Timing, ASecondPassHitsL2) {
  const auto gpu = load(kStream);
  const Address in = gpu->allocate(1U << 20U);
  const HarnessLaunch launch{.grid = {512, 1, 1}, .block = {256, 1, 1}};
  const auto cold = run_ok(*gpu, "k", launch, in, 1);
  const auto warm = run_ok(*gpu, "k", launch, in, 1);
  EXPECT_EQ(cold.grid.counters.hbm_bytes, 512U * 256 * 4);
  EXPECT_EQ(warm.grid.counters.hbm_bytes, 0U);
  EXPECT_LT(warm.grid.finished - warm.grid.started, cold.grid.finished - cold.grid.started);
}

TEST(Timing, BankConflictsAreCountedAndCost) {
  const auto gpu = load(R"(
.visible .entry k(.param .u32 stride)
{
  .reg .b32 %r<9>; .reg .pred %p<2>;
  .shared .align 4 .b8 buffer[8192];
  ld.param.u32 %r1, [stride]; mov.u32 %r2, %tid.x; mul.lo.u32 %r3, %r2, %r1; mov.u32 %r4, buffer;
  and.b32 %r3, %r3, 8188; add.u32 %r4, %r4, %r3; mov.u32 %r5, 0;
L: ld.shared.u32 %r6, [%r4]; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 100; @%p1 bra L;
  ret;
})");
  const HarnessLaunch launch{.block = {512, 1, 1}};
  const auto free = run_ok(*gpu, "k", launch, 4);
  const auto eight = run_ok(*gpu, "k", launch, 32);
  EXPECT_EQ(free.grid.counters.bank_conflicts, 0U);
  EXPECT_EQ(eight.grid.counters.bank_conflicts, 16U * 100 * 7);
  EXPECT_GT(eight.grid.finished - eight.grid.started, free.grid.finished - free.grid.started);
}

TEST(Timing, ClassesAreCounted) {
  const auto gpu = load(kStream);
  const Address in = gpu->allocate(1U << 20U);
  const auto result = run_ok(*gpu, "k", {.grid = {4, 1, 1}, .block = {64, 1, 1}}, in, 1);
  const auto& counters = result.grid.counters;
  EXPECT_EQ(counters.warps[static_cast<std::size_t>(CostClass::Memory)], 2U * 8);
  EXPECT_EQ(counters.threads[static_cast<std::size_t>(CostClass::Memory)], 2U * 256);
  EXPECT_EQ(counters.warp_instructions * 32, counters.thread_instructions);
  EXPECT_EQ(counters.blocks, 4U);
}

// NCCL's channels have SMs to themselves.
TEST(Timing, BlocksWaitForSmsThatOthersHave) {
  const auto gpu = load(R"(
.visible .entry k()
{
  .reg .b32 %r<4>; .reg .pred %p<2>;
  mov.u32 %r1, 0;
LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 300; @%p1 bra LOOP;
  ret;
})");
  const HarnessLaunch all{.grid = {2 * 132, 1, 1}, .block = {1024, 1, 1}};
  const auto time = [&](const HarnessLaunch& launch) {
    const HarnessResult result = run_ok(*gpu, "k", launch);
    return result.grid.finished - result.grid.started;
  };
  const VTime alone = time(all);
  gpu->gpu().take_sms(24, 0);
  EXPECT_LT(time(all), alone + alone / 20) << "they were given back long ago";
  gpu->gpu().take_sms(24, kSecond);
  // The second round has an SM to itself and takes about half as long.
  EXPECT_GT(time(all), alone + alone / 3) << "some blocks come behind others";
  const HarnessLaunch few{.grid = {108, 1, 1}, .block = {1024, 1, 1}};
  EXPECT_LT(time(few), alone) << "there is room for these";
}

/// Kernels that start together, and when each was done. A block has half an SM.
class SideBySide : public testing::Test {
 protected:
  std::size_t start(std::uint32_t blocks, std::int32_t priority = 0) {
    LaunchRequest request;
    request.program = &gpu_->program();
    request.kernel = *gpu_->program().find_kernel("k");
    request.grid = {blocks, 1, 1};
    request.block = {1024, 1, 1};
    request.priority = priority;
    const std::size_t number = done_.size();
    done_.push_back(0);
    const auto grid = gpu_->gpu().launch(
        std::move(request), 0, [this, number](const GridResult& r) { done_[number] = r.finished; });
    EXPECT_TRUE(grid) << grid.error().message();
    return number;
  }
  void finish() {
    while (gpu_->gpu().next_time())
      gpu_->gpu().step(kNever);
  }

  static std::unique_ptr<Harness> make() {
    return load(R"(
.visible .entry k()
{
  .reg .b32 %r<4>; .reg .pred %p<2>;
  mov.u32 %r1, 0;
LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 300; @%p1 bra LOOP;
  ret;
})");
  }
  std::unique_ptr<Harness> gpu_ = make();
  std::vector<VTime> done_;
};

TEST_F(SideBySide, KernelsGoWhereThereIsMostRoom) {
  const auto alone = start(66);
  finish();
  gpu_.reset();  // both would have their memory at the same addresses
  gpu_ = make();
  const auto one = start(66);
  const auto other = start(66);
  finish();
  // Each has SMs of its own.
  EXPECT_LT(done_[one], done_[alone] + done_[alone] / 8);
  EXPECT_LT(done_[other], done_[alone] + done_[alone] / 8);
}

TEST_F(SideBySide, BlocksOfHigherPriorityGetRoomFirst) {
  const auto large = start(8 * 132);
  const auto late = start(132);
  const auto urgent = start(132, -5);
  finish();
  EXPECT_LT(done_[urgent], done_[large]);
  EXPECT_LT(done_[urgent], done_[late]);
  EXPECT_LT(done_[large], done_[late] + 1);
}

TEST(Timing, AFlagIsSeenWhenItHasArrived) {
  const auto gpu = load(R"(
.visible .entry k(.param .u64 flag, .param .u64 out)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out];
  ld.relaxed.sys.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret;
})");
  const Address flag = gpu->allocate(64);
  const Address out = gpu->allocate(64);
  constexpr VTime kArrival = 500 * kMicrosecond;
  const auto seen = [&](Address at) { return run_ok(*gpu, "k", {}, at, out).grid.finished; };
  EXPECT_LT(seen(flag), kArrival / 2);
  gpu->memory().arrivals.note(flag, kArrival);
  EXPECT_LT(seen(flag + 4), kArrival / 2) << "another word";
  EXPECT_GE(seen(flag), kArrival);
  EXPECT_LT(seen(flag), 2 * kArrival) << "it is there";
}

VTime time_of(const HarnessResult& result) {
  return result.grid.finished - result.grid.started;
}

TEST(Timing, HbmMovesMoreThanASectorAtOnce) {
  const auto gpu = load(kStream);
  const Address in = gpu->allocate(64U << 20U);
  const HarnessLaunch launch{.grid = {512, 1, 1}, .block = {256, 1, 1}};
  // One sector of every two, and both of them: the same traffic.
  const auto every_other = run_ok(*gpu, "k", launch, in, 16);
  EXPECT_EQ(every_other.grid.counters.hbm_bytes, 512U * 256 * h200().hbm_granule);
  gpu->gpu().flush_cache();
  const auto all = run_ok(*gpu, "k", launch, in, 8);
  EXPECT_EQ(all.grid.counters.hbm_bytes, 512U * 256 * 32);
}

TEST(Timing, HalfALineCostsMoreThanItsBytes) {
  const HarnessLaunch launch{.grid = {1024, 1, 1}, .block = {256, 1, 1}};
  const auto with_stride = [&](int words) {
    const auto gpu = load(kStream);
    return run_ok(*gpu, "k", launch, gpu->allocate(32U << 20U), words);
  };
  const auto alone = with_stride(32);
  const auto in_pairs = with_stride(16);
  EXPECT_EQ(alone.grid.counters.hbm_bytes, in_pairs.grid.counters.hbm_bytes);
  EXPECT_GT(time_of(alone), time_of(in_pairs) * 11 / 10);
}

TEST(Timing, SectorsChangedInPartTakeTheL2Longer) {
  const auto gpu = load(R"(
.visible .entry k(.param .u64 to, .param .u32 stride)
{
  .reg .b64 %rd<4>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [to]; ld.param.u32 %r5, [stride];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.lo.u32 %r4, %r4, %r5; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1; st.global.u32 [%rd3], %r2; ret;
})");
  const Address to = gpu->allocate(32U << 20U);
  const HarnessLaunch launch{.grid = {1024, 1, 1}, .block = {256, 1, 1}};
  run_ok(*gpu, "k", launch, to, 32);  // All of it is in the L2 now.
  const VTime parts = time_of(run_ok(*gpu, "k", launch, to, 32));
  const auto least = static_cast<VTime>(2 * 1024 * 256 * 1000 / h200().l2_part_gops);
  EXPECT_GE(parts, least);
  EXPECT_LT(parts, 2 * least);
  EXPECT_LT(4 * time_of(run_ok(*gpu, "k", launch, to, 1)), parts);
}

TEST(Timing, AFragmentComesFromGlobalMemoryInPieces) {
  const auto gpu = load(R"(
.visible .entry k(.param .u64 from, .param .u32 stride)
{
  .reg .b64 %rd<2>; .reg .b32 %r<20>;
  ld.param.u64 %rd1, [from]; ld.param.u32 %r9, [stride];
  wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], %r9;
  ret;
})");
  const Address from = gpu->allocate(1U << 20U);
  const auto result = run_ok(*gpu, "k", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, from, 64);
  EXPECT_EQ(result.grid.counters.sectors, 32U) << "16 rows of 32 bytes, each in two halves";
}

/// Reductions of 64 blocks: lane l on word (l mod words) * stride.
constexpr std::string_view kReductions = R"(
.visible .entry k(.param .u64 to, .param .u32 words, .param .u32 stride)
{
  .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [words]; ld.param.u32 %r2, [stride];
  mov.u32 %r3, %tid.x; rem.u32 %r3, %r3, %r1; mul.lo.u32 %r3, %r3, %r2;
  mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r4, 0;
L: WHAT [%rd3], %r4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra L;
  ret;
})";
VTime reductions(const std::string& what, std::uint32_t words, std::uint32_t stride) {
  std::string text(kReductions);
  const auto gpu = load(text.replace(text.find("WHAT"), 4, what));
  const Address to = gpu->allocate(1U << 20U);
  return time_of(run_ok(*gpu, "k", {.grid = {64, 1, 1}, .block = {256, 1, 1}}, to, words, stride));
}

TEST(Timing, ReductionsThatClashComeOneByOne) {
  const std::string red = "red.global.add.u32";
  const VTime apart = reductions(red, 32, 1);
  const VTime clash = reductions(red, 8, 64);
  // 8 lines get an eighth of 1,048,576 each.
  EXPECT_GE(clash, static_cast<VTime>(131'072 * h200().atomic_clash_ns * kNanosecond));
  EXPECT_GT(clash, apart);
  EXPECT_GT(reductions(red, 8, 1), 4 * clash) << "all in one line";
}

TEST(Timing, AnAtomicThatNobodyReadsIsAReduction) {
  const VTime red = reductions("red.global.add.u32", 8, 64);
  EXPECT_EQ(reductions("atom.global.add.u32 %r5,", 8, 64), red);
}

TEST(Timing, LoadsComeBeforeWhatTheirBlockWaitsFor) {
  const std::string head = R"(
.visible .entry k(.param .u64 in)
{
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [in]; mov.u32 %r1, 0;
)";
  const auto time = [&](const std::string& body) {
    const auto gpu = load(head + body + " st.global.u32 [%rd1], %r1; ret; }");
    const Address in = gpu->allocate(1U << 20U);
    return time_of(run_ok(*gpu, "k", {}, in));
  };
  std::string in_turn;
  std::string behind_stores;
  std::string chain;
  for (int i = 1; i <= 8; ++i) {
    const std::string at = std::to_string(i * 4096);
    const std::string load = "ld.global.u32 %r2, [%rd1+" + at + "]; add.u32 %r1, %r1, %r2;\n";
    in_turn += load;
    behind_stores += load + "st.global.u32 [%rd1], %r1;\n";
    chain +=
        "ld.global.u32 %r2, [%rd1+" + at + "]; cvt.u64.u32 %rd2, %r2; add.s64 %rd1, %rd1, %rd2;\n";
  }
  // Eight waits, or one.
  EXPECT_GT(time(chain), 3 * time(in_turn));
  EXPECT_GT(time(behind_stores), 3 * time(in_turn));
}

TEST(Timing, UnitsWorkSideBySide) {
  const auto time = [&](const std::string& body) {
    const auto gpu = load(R"(
.visible .entry k()
{
  .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p<2>;
  mov.u32 %r1, 0;
L: )" + body + R"(
  add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra L;
  ret;
})");
    return time_of(run_ok(*gpu, "k", {.block = {1024, 1, 1}}));
  };
  std::string floats;
  std::string special;
  for (int i = 2; i < 10; ++i) {
    floats += fmt::format("add.f32 %f{0}, %f{0}, 0f3F800000;\n", i);
    special += fmt::format("ex2.approx.f32 %f1{0}, %f1{0};\n", i);
  }
  EXPECT_LT(time(floats + special), time(special) + time(floats) / 4);
}

TEST(Timing, AClockThatIsReadOftenIsNoDelay) {
  const auto time = [&](const std::string& limit) {
    const auto gpu = load(R"(
.visible .entry k()
{
  .reg .b32 %r<9>; .reg .pred %p<2>;
  mov.u32 %r1, 0;
L: mov.u32 %r2, %clock; xor.b32 %r3, %r3, %r2; add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, )" +
                          limit + R"(; @%p1 bra L;
  ret;
})");
    return time_of(run_ok(*gpu, "k", {}));
  };
  EXPECT_LT(time("4096"), 9 * time("512"));
}

}  // namespace
}  // namespace cuco::vgpu
