// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing/wait_demands.h"

#include <cstring>

#include "fixture.h"
#include "vgpu/timing/kernel_profile.h"

namespace cuco::vgpu {
namespace {

/// Waits until the flag is at least `least`.
constexpr std::string_view kWait = R"(
.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.visible .entry wait(.param .u64 flag, .param .u32 least)
{
  .reg .b64 %f; .reg .b32 %v, %l; .reg .pred %p;
  ld.param.u64 %f, [flag];
  ld.param.u32 %l, [least];
LOOK:
  .loc 1 10 0
  ld.acquire.sys.global.u32 %v, [%f];
  setp.lt.u32 %p, %v, %l;
  @%p bra LOOK;
  exit;
}
)";

/// Launches that wait for these, one after the other, with 5 there all the time.
RepeatedWaits repeated(std::initializer_list<std::uint32_t> demands) {
  Profiler profiler(true);
  Environment environment;
  environment.observer = &profiler;
  const auto gpu = load(kWait, environment);
  const Address flag = gpu->allocate(64);
  const std::uint32_t value = 5;
  std::memcpy(Memory::at(flag), &value, sizeof value);
  for (const std::uint32_t least : demands)
    run_ok(*gpu, "wait", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, flag, least);
  RepeatedWaits all;
  for (const Phase& phase : profiler.phases()) {
    for (const auto& [line, wait] : phase.waits)
      all.add(wait.repeated);
  }
  return all;
}

TEST(WaitDemands, AnEpochDemandsMoreEachTime) {
  const RepeatedWaits waits = repeated({2, 3, 5});
  EXPECT_EQ(waits.all, 2U);
  EXPECT_EQ(waits.accept_the_last, 0U);
}

TEST(WaitDemands, AFlagThatStaysUpSatisfiesTheNextWaitToo) {
  const RepeatedWaits waits = repeated({1, 1, 1});
  EXPECT_EQ(waits.all, 2U);
  EXPECT_EQ(waits.accept_the_last, 2U);
}

TEST(WaitDemands, NothingIsRepeatedTheFirstTime) {
  EXPECT_EQ(repeated({5}).all, 0U);
}

}  // namespace
}  // namespace cuco::vgpu
