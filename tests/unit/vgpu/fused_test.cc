// SPDX-License-Identifier: Apache-2.0
// Sequences that run as one op give what the single ops give.
#include <bit>
#include <cmath>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

/// Two shared rows: s[i] = i + 1 and t[i] = 2 i; %r2 = &s[0] for all, %r3 = &t[lane], %r4 =
/// scattered.
constexpr std::string_view kSharedRows = R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .pred %p<8>;
  .shared .align 16 .f32 s[64]; .shared .align 16 .f32 t[64];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, s; mov.u32 %r3, t; shl.b32 %r5, %r1, 2; add.u32 %r6, %r2, %r5;
  add.u32 %r3, %r3, %r5;
  cvt.rn.f32.u32 %f1, %r1; add.f32 %f2, %f1, 0f3F800000; add.f32 %f3, %f1, %f1;
  st.shared.f32 [%r6], %f2; st.shared.f32 [%r6+128], %f2;
  st.shared.f32 [%r3], %f3; st.shared.f32 [%r3+128], %f3;
  mul.lo.u32 %r7, %r1, 5; and.b32 %r7, %r7, 31; shl.b32 %r7, %r7, 2; add.u32 %r4, %r2, %r7;
  bar.sync 0;
  mov.f32 %f10, 0f41200000;
)";

std::vector<float> results(std::string_view body, unsigned threads = 32) {
  const auto gpu = load(std::string(kSharedRows) + std::string(body) + "\n ret; }\n");
  const Address out = gpu->allocate(512);
  run_ok(*gpu, "k", {.block = {threads, 1, 1}}, out);
  return gpu->download<float>(out, 64);
}

TEST(Fused, AChainOfProductsFromRowAndBroadcast) {
  const auto got = results(R"(
    ld.shared.f32 %f11, [%r2]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f13, %f11, %f12, %f10;
    ld.shared.f32 %f14, [%r3+64]; ld.shared.f32 %f15, [%r2+4]; fma.rn.f32 %f16, %f14, %f15, %f13;
    ld.shared.f32 %f17, [%r3]; ld.shared.f32 %f18, [%r3]; fma.rn.f32 %f19, %f18, %f17, %f16;
    ld.shared.f32 %f20, [%r2]; ld.shared.f32 %f21, [%r2+12]; fma.rn.f32 %f22, %f20, %f21, %f19;
    st.global.f32 [%rd3], %f22;)");
  for (unsigned i = 0; i < 32; ++i) {
    const float t = 2.0F * static_cast<float>(i);
    const float later = 2.0F * static_cast<float>((i + 16) % 32);
    EXPECT_EQ(got[i], 10 + t + later * 2 + t * t + 4) << i;
  }
}

TEST(Fused, KeepsRegistersThatAreReadLater) {
  const auto got = results(R"(
    ld.shared.f32 %f11, [%r2+8]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f13, %f11, %f12, %f10;
    ld.shared.f32 %f14, [%r2]; ld.shared.f32 %f15, [%r3]; fma.rn.f32 %f16, %f14, %f15, %f13;
    add.f32 %f17, %f11, %f12; add.f32 %f17, %f17, %f13;
    sub.f32 %f17, %f17, %f16; st.global.f32 [%rd3], %f17;)");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 3.0F) << i;  // 3 + t - (1 * t)
}

TEST(Fused, GoesOnOpByOpWhereAddressesHaveNoPattern) {
  const auto got = results(R"(
    ld.shared.f32 %f11, [%r2]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f13, %f11, %f12, %f10;
    ld.shared.f32 %f14, [%r2+4]; ld.shared.f32 %f15, [%r4]; fma.rn.f32 %f16, %f14, %f15, %f13;
    ld.shared.f32 %f17, [%r2]; ld.shared.f32 %f18, [%r3]; fma.rn.f32 %f19, %f17, %f18, %f16;
    st.global.f32 [%rd3], %f19;)");
  for (unsigned i = 0; i < 32; ++i) {
    const auto scattered = static_cast<float>(i * 5 % 32 + 1);
    EXPECT_EQ(got[i], 10 + 4 * static_cast<float>(i) + 2 * scattered) << i;
  }
}

TEST(Fused, WithFewerLanesAndACommonLoopBody) {
  const auto got = results(R"(
    mov.u32 %r10, 0; and.b32 %r11, %r1, 3;
  L: ld.shared.f32 %f11, [%r2]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f10, %f11, %f12, %f10;
    add.u32 %r2, %r2, 4; add.u32 %r10, %r10, 1; setp.le.u32 %p1, %r10, %r11; @%p1 bra L;
    st.global.f32 [%rd3], %f10;)");
  for (unsigned i = 0; i < 32; ++i) {
    const auto turns = static_cast<float>(i % 4 + 1);
    EXPECT_EQ(got[i], 10 + 2 * static_cast<float>(i) * turns * (turns + 1) / 2) << i;
  }
}

TEST(Fused, NansAreCanonical) {
  const auto got = results(R"(
    mov.u32 %r20, 0xFFC12345; st.shared.u32 [%r6], %r20; bar.sync 0;
    ld.shared.f32 %f11, [%r2]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f13, %f11, %f12, %f10;
    ld.shared.f32 %f14, [%r3]; ld.shared.f32 %f15, [%r3]; fma.rn.f32 %f16, %f14, %f15, %f13;
    st.global.f32 [%rd3], %f16;)");
  EXPECT_EQ(std::bit_cast<std::uint32_t>(got[7]), 0x7FFF'FFFFU);
}

TEST(Fused, OutOfBoundsTrapsAtItsLoad) {
  const auto gpu = load(std::string(kSharedRows) + R"(
    ld.shared.f32 %f11, [%r2]; ld.shared.f32 %f12, [%r3]; fma.rn.f32 %f13, %f11, %f12, %f10;
    ld.shared.f32 %f14, [%r2]; ld.shared.f32 %f15, [%r3+4096]; fma.rn.f32 %f16, %f14, %f15, %f13;
    st.global.f32 [%rd3], %f16; ret; })");
  const auto result = run(*gpu, "k", {.block = {32, 1, 1}}, gpu->allocate(512));
  ASSERT_TRUE(result.grid.trap.has_value());
  EXPECT_EQ(result.grid.trap->kind, TrapKind::IllegalAddress);
  EXPECT_THAT(result.grid.trap->message, ::testing::HasSubstr("ld.shared"));
}

}  // namespace
}  // namespace cuco::vgpu
