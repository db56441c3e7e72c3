// SPDX-License-Identifier: Apache-2.0
// Kernels whose counts are known exactly.
#include "fixture.h"
#include "vgpu/timing/kernel_profile.h"

namespace cuco::vgpu {
namespace {

/// The lines are .loc numbers: 10 the access, 20 the arithmetic, 30 the branch, 40 the barrier.
constexpr std::string_view kKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.visible .entry touch(.param .u64 data, .param .u32 stride)
{
  .reg .b64 %a, %o;
  .reg .b32 %t, %s, %v;
  .loc 1 20 0
  ld.param.u64 %a, [data];
  ld.param.u32 %s, [stride];
  mov.u32 %t, %tid.x;
  mul.lo.u32 %t, %t, %s;
  mul.wide.u32 %o, %t, 4;
  add.u64 %a, %a, %o;
  .loc 1 10 0
  ld.global.u32 %v, [%a];
  .loc 1 20 0
  add.u32 %v, %v, 1;
  exit;
}
.visible .entry banks(.param .u64 data, .param .u32 stride)
{
  .reg .b32 %t, %s, %v;
  .shared .align 4 .b8 tile[8192];
  .reg .b32 %a;
  .loc 1 20 0
  ld.param.u32 %s, [stride];
  mov.u32 %t, %tid.x;
  mul.lo.u32 %t, %t, %s;
  shl.b32 %t, %t, 2;
  mov.u32 %a, tile;
  add.u32 %a, %a, %t;
  .loc 1 10 0
  st.shared.u32 [%a], %t;
  .loc 1 40 0
  bar.sync 0;
  exit;
}
.visible .entry halves(.param .u64 data, .param .u32 stride)
{
  .reg .b32 %t, %s, %v;
  .reg .pred %p;
  ld.param.u32 %s, [stride];
  mov.u32 %t, %tid.x;
  setp.lt.u32 %p, %t, %s;
  .loc 1 30 0
  @%p bra LOW;
  .loc 1 20 0
  add.u32 %v, %t, 1;
  add.u32 %v, %v, 2;
  .loc 1 50 0
  bra DONE;
LOW:
  .loc 1 21 0
  add.u32 %v, %t, 3;
DONE:
  .loc 1 60 0
  exit;
}
)";

class ProfileTest : public ::testing::Test {
 protected:
  const KernelProfile& profile(std::string_view kernel, std::uint32_t stride, unsigned blocks = 1) {
    Environment environment;
    environment.observer = &profiler_;
    harness_ = load(kKernels, environment);
    const Address data = harness_->allocate(1U << 16U);
    run_ok(*harness_, kernel, {.grid = {blocks, 1, 1}, .block = {32, 1, 1}}, data, stride);
    return profiler_.kernels().at(std::string(kernel));
  }
  static const LineProfile& line(const KernelProfile& kernel, std::uint32_t number) {
    return kernel.lines.at({"k.cu", number});
  }

  Profiler profiler_;
  std::unique_ptr<Harness> harness_;
};

TEST_F(ProfileTest, CoalescedLoadsMoveWhatTheyAskFor) {
  const KernelProfile& kernel = profile("touch", 1, 3);
  const LineProfile& load = line(kernel, 10);
  EXPECT_EQ(load.global_accesses, 3U);
  EXPECT_EQ(load.global_bytes, 3U * 128);
  EXPECT_EQ(load.sectors, 3U * 4);
  EXPECT_EQ(load.ideal_sectors, load.sectors);
  EXPECT_EQ(kernel.counters.sectors, 3U * 4);
  EXPECT_EQ(load.warps, 3U);
  EXPECT_EQ(load.threads, 3U * 32);
}

TEST_F(ProfileTest, StridedLoadsMoveASectorPerLane) {
  const KernelProfile& kernel = profile("touch", 8);
  EXPECT_EQ(line(kernel, 10).sectors, 32U);
  EXPECT_EQ(line(kernel, 10).ideal_sectors, 4U);
  EXPECT_EQ(kernel.counters.sectors, 32U);
}

TEST_F(ProfileTest, HalfCoalescedLoads) {
  EXPECT_EQ(line(profile("touch", 2), 10).sectors, 8U);
}

TEST_F(ProfileTest, LoadsAreWaitedForWhereTheirValueIsUsed) {
  EXPECT_GT(line(profile("touch", 1), 20).load_wait, 100 * kNanosecond);
}

/// Blocks of several SMs use the same memory for their warps, and not in the order of their times.
TEST_F(ProfileTest, WarpsAreThereForAsLongAsTheyWaitAtLeast) {
  profile("touch", 1, 2000);
  const Phase& phase = profiler_.phases().back();
  EXPECT_GT(phase.load_wait, 0);
  EXPECT_GE(phase.warp_time, phase.load_wait);
}

TEST_F(ProfileTest, BankConflicts) {
  EXPECT_EQ(line(profile("banks", 1), 10).bank_conflicts, 0U);
}
TEST_F(ProfileTest, TwoWayBankConflicts) {
  EXPECT_EQ(line(profile("banks", 2), 10).bank_conflicts, 1U);
}
TEST_F(ProfileTest, ThirtyTwoWayBankConflicts) {
  const KernelProfile& kernel = profile("banks", 32);
  EXPECT_EQ(line(kernel, 10).bank_conflicts, 31U);
  EXPECT_EQ(kernel.counters.bank_conflicts, 31U);
  EXPECT_EQ(line(kernel, 10).shared_accesses, 1U);
  EXPECT_EQ(line(kernel, 40).barriers, 1U);
}

TEST_F(ProfileTest, DivergedLinesHaveHalfTheLanes) {
  const KernelProfile& kernel = profile("halves", 16);
  EXPECT_EQ(line(kernel, 20).warps, 2U);
  EXPECT_EQ(line(kernel, 20).threads, 2U * 16);
  EXPECT_EQ(line(kernel, 21).threads, 16U);
  EXPECT_EQ(line(kernel, 30).threads, 32U);
  EXPECT_EQ(kernel.counters.divergent_branches, 1U);
}

TEST_F(ProfileTest, EveryInstructionIsOnALine) {
  const KernelProfile& kernel = profile("halves", 16);
  std::uint64_t warps = 0;
  std::uint64_t threads = 0;
  for (const auto& [where, counts] : kernel.lines) {
    warps += counts.warps;
    threads += counts.threads;
  }
  EXPECT_EQ(warps, kernel.counters.warp_instructions);
  EXPECT_EQ(threads, kernel.counters.thread_instructions);
}

}  // namespace
}  // namespace cuco::vgpu
