// SPDX-License-Identifier: Apache-2.0
// multimem and plain stores on multicast addresses.
#include "fixture.h"

namespace cuco::vgpu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Three members of 32 words, member m holding 10^m + lane, and a multicast of them.
struct Members {
  explicit Members(Harness& gpu) {
    for (const std::uint32_t base : {1U, 10U, 100U}) {
      std::vector<std::uint32_t> words(32);
      for (std::uint32_t i = 0; i < 32; ++i)
        words[i] = base + i;
      at.push_back(gpu.upload<std::uint32_t>(words));
    }
    cast = *gpu.memory().add_multicast(128, at);
  }
  std::vector<Address> at;
  Address cast = 0;
};

std::unique_ptr<Harness> load_body(std::string_view body) {
  return load(R"(
.visible .entry k(.param .u64 cast, .param .u64 out)
{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [cast]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
)" + std::string(body) +
              "\n ret; }\n");
}

constexpr HarnessLaunch kWarp{.block = {32, 1, 1}};

TEST(Multimem, LoadsReduceOverTheMembers) {
  const auto gpu = load_body(
      "multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%rd4];"
      "multimem.ld_reduce.relaxed.sys.global.max.u32 %r3, [%rd4]; sub.u32 %r2, %r2, %r3;"
      "st.global.u32 [%rd5], %r2;");
  const Members members(*gpu);
  const Address out = gpu->allocate(128);
  run_ok(*gpu, "k", kWarp, members.cast, out);
  const auto got = gpu->download<std::uint32_t>(out, 32);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 11 + 2 * i) << i;
}

TEST(Multimem, StoresAndReductionsReachEveryMember) {
  const auto gpu = load_body(
      "mov.u32 %r2, 1000; multimem.red.relaxed.sys.global.add.u32 [%rd4], %r2;"
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra DONE;"
      "mov.u32 %r2, 7; multimem.st.relaxed.sys.global.u32 [%rd4], %r2; DONE:");
  const Members members(*gpu);
  run_ok(*gpu, "k", kWarp, members.cast, gpu->allocate(128));
  for (std::size_t m = 0; m < 3; ++m) {
    const auto got = gpu->download<std::uint32_t>(members.at[m], 32);
    const std::uint32_t base = m == 0 ? 1 : m == 1 ? 10 : 100;
    for (std::uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(got[i], i < 16 ? 1000 + base + i : 7U) << m << " " << i;
  }
}

TEST(Multimem, PlainStoresReachEveryMember) {
  const auto stores = load_body("st.global.u32 [%rd4], 5;");
  const Members members(*stores);
  run_ok(*stores, "k", kWarp, members.cast, stores->allocate(128));
  for (const Address member : members.at)
    EXPECT_THAT(stores->download<std::uint32_t>(member, 32), Each(5U));
}

TEST(Multimem, PlainLoadsTrap) {
  const auto loads = load_body("ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd5], %r2;");
  const Members others(*loads);
  const auto result = run(*loads, "k", kWarp, others.cast, loads->allocate(128));
  ASSERT_TRUE(result.grid.trap.has_value());
  EXPECT_THAT(result.grid.trap->message, HasSubstr("multicast"));
}

TEST(Multimem, BeyondTheObjectTraps) {
  const auto gpu =
      load_body("mov.u32 %r2, 1; multimem.red.relaxed.sys.global.add.u32 [%rd4+128], %r2;");
  const Members members(*gpu);
  const auto result = run(*gpu, "k", kWarp, members.cast, gpu->allocate(128));
  EXPECT_TRUE(result.grid.trap.has_value());
}

}  // namespace
}  // namespace cuco::vgpu
