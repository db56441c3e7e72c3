// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/call_log.h"

#include <gtest/gtest.h>

namespace cuco::vcluster {
namespace {

HostCall call(std::uint32_t thread, const char* name, VTime started, VTime finished) {
  return {.thread = thread, .name = name, .started = started, .finished = finished};
}

TEST(CallLog, PollsOfAThreadAreOneCallWhateverOthersDo) {
  CallLog log;
  for (VTime i = 0; i < 100; ++i) {
    log.add(call(0, "query", 10 * i, 10 * i + 10));
    log.add(call(1, "launch", 100 * i, 100 * i + 50));
  }
  log.add(call(0, "query", 1010, 1020));  // it did something else in between
  std::uint64_t times = 0;
  VTime until = 0;
  std::size_t slices = 0;
  for (const HostCall& one : log.all()) {
    if (one.thread != 0) continue;
    EXPECT_GE(one.started, until);
    until = one.finished;
    times += one.times;
    ++slices;
  }
  EXPECT_EQ(times, 101U);
  EXPECT_EQ(slices, 10U);  // a few, the rest of them, and the last
  EXPECT_EQ(log.all().size(), slices + 100);
}

TEST(CallLog, AnotherReasonToWaitIsAnotherCall) {
  CallLog log;
  for (VTime i = 0; i < 100; ++i) {
    HostCall waits = call(0, "synchronize", i, i + 1);
    if (i % 2 == 0) waits.wait = "stream 2";
    log.add(waits);
  }
  EXPECT_EQ(log.all().size(), 100U);
}

TEST(CallLog, ForgetsWhatWasBefore) {
  CallLog log;
  log.add(call(0, "query", 10, 20));
  log.forget();
  EXPECT_TRUE(log.all().empty());
  log.add(call(0, "query", 20, 30));
  ASSERT_EQ(log.all().size(), 1U);
  EXPECT_EQ(log.all()[0].started, 20);
}

TEST(CallLog, WhoCallsWithoutEndDoesNotFillTheMemory) {
  CallLog log;
  for (VTime i = 0; i < VTime{1} << 19U; ++i)
    log.add(call(0, i % 2 == 0 ? "a" : "b", i, i + 1));
  EXPECT_LE(log.all().size(), std::size_t{1} << 18U);
}

}  // namespace
}  // namespace cuco::vcluster
