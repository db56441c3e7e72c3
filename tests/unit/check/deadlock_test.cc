// SPDX-License-Identifier: Apache-2.0
// What a deadlock means follows from what is waited for, never from the words that describe it.
#include "check/deadlock.h"

#include <gtest/gtest.h>

#include "check/checker.h"

namespace cuco::check {
namespace {

constexpr vgpu::Address kSignals = 0x2000;

vgpu::Wait warp_wait(vgpu::WaitReason reason) {
  return vgpu::WarpWait{.kernel = "barrier", .place = "barrier.cu:7", .reason = std::move(reason)};
}

Kind kind_of(const std::vector<Waiter>& waiters) {
  Checker checker{Options{}};
  checker.communication().add_region({.kind = Region::Kind::Signals, .base = kSignals, .bytes = 64},
                                     kSignals);
  checker.on_deadlock(waiters);
  return checker.findings().all().at(0).kind;
}

TEST(Deadlock, WordsDecideNothing) {
  EXPECT_EQ(kind_of({{"thread 0: waits for a barrier that was never called", OtherWait{}}}),
            Kind::Deadlock);
  EXPECT_EQ(kind_of({{"waits for a write to 0x2000", warp_wait(vgpu::LoopWait{})}}),
            Kind::Deadlock);
}

TEST(Deadlock, AMissingRankIsTheCollectives) {
  EXPECT_EQ(kind_of({{"ncclAllReduce", MissingRank{}}}), Kind::Collective);
}

TEST(Deadlock, ABarrierThatThreadsMiss) {
  const vgpu::BarrierWait barrier{.barrier = 1, .arrived = 32, .expected = 64};
  EXPECT_EQ(kind_of({{"kernel k", warp_wait(barrier)}}), Kind::BarrierMismatch);
}

TEST(Deadlock, ASignalThatNobodyRaisesExplainsABarrier) {
  const vgpu::WriteWait write{
      .locations = {{.address = 0x10, .shared = true}, {.address = kSignals + 8, .shared = false}}};
  EXPECT_EQ(kind_of({{"a", warp_wait(vgpu::BarrierWait{})}, {"b", warp_wait(write)}}),
            Kind::LostSignal);
}

}  // namespace
}  // namespace cuco::check
