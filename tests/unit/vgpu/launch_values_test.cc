// SPDX-License-Identifier: Apache-2.0
// Registers that a launch settles hold what the instructions would have given; others are computed.
#include <fmt/format.h>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

constexpr std::string_view kKernel = R"(
.visible .entry k(.param .u64 out, .param .u32 n, .param .f32 x)
{
  .reg .b64 %rd<8>; .reg .b32 %r<16>; .reg .f32 %f<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %r1;                   // a copy of a copy
  ld.param.f32 %f1, [x];
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mov.u32 %r5, 7;
  setp.lt.u32 %p1, %r4, 2;
  @%p1 ld.param.u32 %r5, [n];         // guarded: the others keep 7
  ld.param.u32 %r6, [n];
  add.u32 %r6, %r6, %r4;              // written twice
  mov.u32 %r7, %nctaid.x;
  mad.lo.u32 %r8, %r2, 10, %r5;
  add.u32 %r8, %r8, %r6;
  mad.lo.u32 %r8, %r3, 1000, %r8;
  mad.lo.u32 %r8, %r7, 100000, %r8;
  cvt.rzi.u32.f32 %r9, %f1;
  add.u32 %r8, %r8, %r9;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r8;
  ret;
}
)";

TEST(LaunchValues, AreWhatTheInstructionsWouldGive) {
  const auto gpu = load(kKernel);
  // A warp with all lanes, and a tail that has to go through every op.
  for (const std::uint32_t threads : {32U, 45U}) {
    for (const std::uint32_t n : {1U, 5U}) {
      const Address out = gpu->allocate(256);
      run_ok(*gpu, "k", {.grid = {1, 1, 1}, .block = {threads, 1, 1}}, out, n, 3.5F);
      const auto got = gpu->download<std::uint32_t>(out, threads);
      for (std::uint32_t t = 0; t < threads; ++t) {
        const std::uint32_t kept = t < 2 ? n : 7;
        EXPECT_EQ(got[t], n * 10 + kept + n + t + threads * 1000 + 100000 + 3) << t;
      }
    }
  }
}

/// Counts accesses by lane address, row or not.
class Recorder final : public AccessObserver {
 public:
  void on_access(const Warp& /*warp*/, const Op& /*op*/, const AccessEvent& event) override {
    for (unsigned l = 0; l < 32; ++l) {
      if ((event.lanes >> l & 1U) == 0) continue;
      list.push_back(fmt::format("{} {} {}+{}", static_cast<int>(event.kind),
                                 static_cast<int>(event.space), event.addresses[l], event.bytes));
    }
  }
  void on_fence(const Warp& /*warp*/, const Op& /*op*/, Order /*order*/, Scope /*scope*/) override {
  }
  void on_barrier_release(const Warp& /*warp*/, unsigned /*id*/, std::uint32_t /*lanes*/) override {
  }

  std::vector<std::string> list;
};

constexpr std::string_view kRows = R"(
.visible .entry k(.param .u64 data)
{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<12>;
  .shared .align 16 .f32 s[256];
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];
  ld.global.f32 %f5, [%rd1];
  st.shared.f32 [%r4], %f1;
  ld.shared.f32 %f6, [%r4]; ld.shared.f32 %f7, [%r2+8]; fma.rn.f32 %f8, %f6, %f7, %f5;
  st.global.v4.f32 [%rd3], {%f8, %f2, %f3, %f4};
  ret;
}
)";

TEST(Rows, TellWhatLanesWouldTell) {
  std::vector<std::string> lists[2];
  for (const unsigned threads : {32U, 31U}) {
    Recorder recorder;
    const auto gpu = load(kRows, {.observer = &recorder});
    const Address data = gpu->upload<float>(std::vector<float>(128, 1.0F));
    run_ok(*gpu, "k", {.block = {threads, 1, 1}}, data);
    lists[threads == 32 ? 0 : 1] = recorder.list;  // Both have the buffer at the same address.
  }
  // 31 lanes go one by one: without lane 31 the two say the same.
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    if (i % 32 != 31) expected.push_back(lists[0][i]);
  }
  EXPECT_EQ(lists[0].size(), 32U * 6);
  EXPECT_EQ(expected, lists[1]);
}

}  // namespace
}  // namespace cuco::vgpu
