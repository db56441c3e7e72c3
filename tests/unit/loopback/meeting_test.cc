// SPDX-License-Identifier: Apache-2.0
#include "loopback/meeting.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

Meeting::Conclude nothing() {
  return [](const auto&) { return Check(); };
}

TEST(Meeting, TheLastToArriveConcludesForAll) {
  Meeting meeting("ncclCommSplit", "communicator 1", 3);
  std::atomic<int> concluded{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const Check wrong = meeting.arrive(rank, "ncclCommSplit", std::make_shared<int>(rank),
                                         [&](const auto& parts) -> Check {
                                           int sum = 0;
                                           for (const auto& part : parts)
                                             sum += *static_cast<int*>(part.get());
                                           concluded += sum;
                                           return std::nullopt;
                                         });
      EXPECT_FALSE(wrong);
      EXPECT_FALSE(meeting.wait());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(concluded, 3);
  EXPECT_EQ(meeting.describe(), "");
}

TEST(Meeting, OneThreadMayBringAllRanks) {
  Meeting meeting("ncclCommInitRank", "communicator 1", 2);
  EXPECT_FALSE(meeting.arrive(0, "ncclCommInitRank", nullptr, nothing()));
  EXPECT_FALSE(meeting.is_over());
  EXPECT_FALSE(meeting.arrive(1, "ncclCommInitRank", nullptr, nothing()));
  EXPECT_TRUE(meeting.is_over());
}

TEST(Meeting, SaysWhoIsMissing) {
  Meeting meeting("ncclDevCommCreate", "communicator 2", 4);
  EXPECT_FALSE(meeting.arrive(0, "ncclDevCommCreate", nullptr, nothing()));
  EXPECT_FALSE(meeting.arrive(2, "ncclDevCommCreate", nullptr, nothing()));
  EXPECT_EQ(meeting.describe(),
            "ncclDevCommCreate on communicator 2: ranks 0, 2 called it; ranks 1, 3 did not");
}

TEST(Meeting, AnotherCallOrTheSameRankTwiceIsRefused) {
  Meeting meeting("ncclCommSplit", "communicator 1", 2);
  EXPECT_FALSE(meeting.arrive(0, "ncclCommSplit", nullptr, nothing()));
  const Check twice = meeting.arrive(0, "ncclCommSplit", nullptr, nothing());
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->message, "ncclCommSplit: rank 0 of communicator 1 is used twice");
  const Check other = meeting.arrive(1, "ncclDevCommCreate", nullptr, nothing());
  ASSERT_TRUE(other);
  EXPECT_EQ(other->code, Code::InvalidUsage);
  // Who waits hears of it.
  EXPECT_TRUE(meeting.wait());
}

TEST(Meeting, IsOverWhenItIsBrokenUp) {
  Meeting meeting("ncclCommSplit", "communicator 1", 2);
  EXPECT_FALSE(meeting.arrive(0, "ncclCommSplit", nullptr, nothing()));
  std::thread waiter([&] {
    const Check outcome = meeting.wait();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->code, Code::RemoteError);
  });
  meeting.break_up(Problem{Code::RemoteError, "aborted"});
  waiter.join();
}

}  // namespace
}  // namespace cuco::loopback
