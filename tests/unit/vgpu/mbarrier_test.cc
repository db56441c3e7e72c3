// SPDX-License-Identifier: Apache-2.0
// mbarrier objects: phases, counts, bytes under way, copies that arrive, waits that never end.
#include "fixture.h"

namespace cuco::vgpu {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Threads of block 0 with an object for all of them at `bar`, and `out` by thread.
std::string mbarrier_kernel(std::string_view body, std::string_view count = "%ntid.x") {
  return R"(
.visible .entry k(.param .u64 out, .param .u64 in)
{
  .reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .pred %p<8>;
  .shared .align 8 .b64 bar; .shared .align 16 .b8 data[1024];
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd9, [in];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r20, bar; mov.u32 %r21, data; shl.b32 %r22, %r1, 2; add.u32 %r23, %r21, %r22;
  mov.u32 %r24, )" +
         std::string(count) + R"(;
  setp.ne.u32 %p0, %r1, 0; @%p0 bra READY;
  mbarrier.init.shared::cta.b64 [%r20], %r24;
READY: bar.sync 0;
)" + std::string(body) +
         "\n}\n";
}

TEST(Mbarrier, PhasesSeparateWritesFromReads) {
  const auto gpu = load(mbarrier_kernel(R"(
    mov.u32 %r2, 0; mov.u32 %r3, 0;
  LOOP:
    add.u32 %r4, %r1, %r2; st.shared.u32 [%r23], %r4;
    mbarrier.arrive.shared::cta.b64 %rd4, [%r20];
  WAIT: mbarrier.try_wait.shared::cta.b64 %p1, [%r20], %rd4; @!%p1 bra WAIT;
    xor.b32 %r5, %r22, 508; add.u32 %r5, %r21, %r5; ld.shared.u32 %r6, [%r5];
    add.u32 %r3, %r3, %r6;
    mbarrier.arrive.shared::cta.b64 _, [%r20];
    and.b32 %r7, %r2, 1;
  AGAIN: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r20], 1; @!%p2 bra AGAIN;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra LOOP;
    st.global.u32 [%rd3], %r3; ret;)"));
  const Address out = gpu->allocate(512);
  run_ok(*gpu, "k", {.block = {128, 1, 1}}, out, out);
  const auto values = gpu->download<std::uint32_t>(out, 128);
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(values[i], 3 * (127 - i) + 3);
}

TEST(Mbarrier, CountsArrivalsAndThoseThatDropOut) {
  // 3 are expected: one thread arrives for two, the other drops out; the next phase expects 2.
  const auto gpu = load(mbarrier_kernel(R"(
    mov.u32 %r2, 9;
    @%p0 mbarrier.arrive_drop.shared::cta.b64 %rd4, [%r20];
    @!%p0 mbarrier.arrive.shared::cta.b64 %rd4, [%r20], 2;
  WAIT: mbarrier.try_wait.shared::cta.b64 %p1, [%r20], %rd4; @!%p1 bra WAIT;
    bar.sync 0;
    @%p0 bra END;
    mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r20], 1;
    mbarrier.pending_count.b64 %r2, %rd5;
  END: st.global.u32 [%rd3], %r2; ret;)",
                                        "3"));
  const Address out = gpu->allocate(16);
  run_ok(*gpu, "k", {.block = {2, 1, 1}}, out, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{2, 9}));
}

TEST(Mbarrier, BulkCopiesBringTheirBytes) {
  const auto gpu = load(mbarrier_kernel(R"(
    @%p0 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21], [%rd9], 512, [%r20];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r21+512], [%rd9+512], 512, [%r20];
  WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r20], 0; @!%p1 bra WAIT;
    ld.shared.u32 %r2, [%r23]; add.u32 %r2, %r2, 1; st.shared.u32 [%r23], %r2;
    fence.proxy.async.shared::cta; bar.sync 0;
    @%p0 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r21], 1024;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  END: ret;)",
                                        "1"));
  const Address out = gpu->allocate(1024);
  std::vector<std::uint32_t> numbers(256);
  for (unsigned i = 0; i < 256; ++i)
    numbers[i] = i * i;
  const Address in = gpu->upload<std::uint32_t>(numbers);
  run_ok(*gpu, "k", {.block = {256, 1, 1}}, out, in);
  const auto values = gpu->download<std::uint32_t>(out, 256);
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(values[i], i * i + 1);
}

/// Two blocks reduce 256 words each, of which word i is i, into the same place.
std::string reduction(std::string_view operation) {
  return mbarrier_kernel(R"(
    st.shared.u32 [%r23], %r1; fence.proxy.async.shared::cta; bar.sync 0;
    @%p0 bra END;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.)" +
                         std::string(operation) + R"( [%rd1], [%r21], 1024;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  END: ret;)");
}

TEST(Mbarrier, BulkReductionsCombineTheirElements) {
  const auto reduced = [](std::string_view operation, std::uint32_t before) {
    const auto gpu = load(reduction(operation));
    const Address out = gpu->upload<std::uint32_t>(std::vector<std::uint32_t>(256, before));
    run_ok(*gpu, "k", {.grid = {2, 1, 1}, .block = {256, 1, 1}}, out, out);
    return gpu->download<std::uint32_t>(out, 256);
  };
  const auto sums = reduced("add.u32", 7);
  const auto largest = reduced("max.s32", 100);
  const auto bits = reduced("or.b64", 1);
  for (unsigned i = 0; i < 256; ++i) {
    EXPECT_EQ(sums[i], 7 + 2 * i);
    EXPECT_EQ(largest[i], std::max(100U, i));
    EXPECT_EQ(bits[i], 1U | i);
  }
}

TEST(Mbarrier, BulkReductionsOfHalvesRoundAsTheirTypeDoes) {
  const auto gpu = load(reduction("add.noftz.bf16"));
  // Small numbers as bits are subnormal; twice 2^-133 is 2^-132.
  const Address out = gpu->upload<std::uint32_t>(std::vector<std::uint32_t>(256, 0));
  run_ok(*gpu, "k", {.grid = {2, 1, 1}, .block = {256, 1, 1}}, out, out);
  const auto values = gpu->download<std::uint32_t>(out, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(values[i], 2 * i);
}

TEST(Mbarrier, CopiesOfThreadsArrive) {
  const auto gpu = load(mbarrier_kernel(R"(
    add.s64 %rd5, %rd9, %rd2;
    cp.async.ca.shared.global [%r23], [%rd5], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r20];
  WAIT: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r20], 0; @!%p1 bra WAIT;
    xor.b32 %r5, %r22, 252; add.u32 %r5, %r21, %r5; ld.shared.u32 %r6, [%r5];
    st.global.u32 [%rd3], %r6; ret;)"));
  const Address out = gpu->allocate(256);
  std::vector<std::uint32_t> numbers(64);
  for (unsigned i = 0; i < 64; ++i)
    numbers[i] = 100 + i;
  const Address in = gpu->upload<std::uint32_t>(numbers);
  run_ok(*gpu, "k", {.block = {64, 1, 1}}, out, in);
  const auto values = gpu->download<std::uint32_t>(out, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(values[i], 163 - i);
}

TEST(Mbarrier, AMissingArrivalIsADeadlock) {
  const auto gpu = load(mbarrier_kernel(R"(
    mbarrier.arrive.shared::cta.b64 %rd4, [%r20];
  WAIT: mbarrier.try_wait.shared::cta.b64 %p1, [%r20], %rd4; @!%p1 bra WAIT;
    ret;)",
                                        "65"));
  const auto result = run(*gpu, "k", {.block = {64, 1, 1}}, Address{0}, Address{0});
  EXPECT_THAT(result.deadlock, Contains(HasSubstr("k")));
}

}  // namespace
}  // namespace cuco::vgpu
