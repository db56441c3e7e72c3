// SPDX-License-Identifier: Apache-2.0
#include "loopback/collective_log.h"

#include <gtest/gtest.h>

namespace cuco::loopback {
namespace {

using nccl_core::Call;
using nccl_core::Kind;

Call call(Kind kind, std::uint64_t count, int root = 0) {
  Call made;
  made.kind = kind;
  made.count = count;
  made.root = root;
  return made;
}

TEST(CollectiveLog, NamesRanksThatNeverCalled) {
  CollectiveLog log(3);
  EXPECT_FALSE(log.add(0, call(Kind::AllReduce, 16)));
  EXPECT_FALSE(log.add(2, call(Kind::AllReduce, 16)));
  EXPECT_EQ(log.missing(),
            std::vector<std::string>{"ncclAllReduce(count 16, ncclFloat32, ncclSum) (number 0): "
                                     "called by ranks 0, 2, never by rank 1"});
  EXPECT_FALSE(log.add(1, call(Kind::AllReduce, 16)));
  EXPECT_TRUE(log.missing().empty());
}

TEST(CollectiveLog, RanksMayBeSeveralCallsApart) {
  CollectiveLog log(2);
  for (std::uint64_t i = 1; i < 4; ++i)
    EXPECT_FALSE(log.add(0, call(Kind::AllGather, i)));
  EXPECT_FALSE(log.add(1, call(Kind::AllGather, 1)));
  const auto wrong = log.add(1, call(Kind::AllGather, 3));
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->message.find("the counts differ"), std::string::npos) << wrong->message;
}

TEST(CollectiveLog, SendsMatchReceivesInOrder) {
  CollectiveLog log(2);
  EXPECT_FALSE(log.add(0, call(Kind::Send, 4, 1)));
  EXPECT_FALSE(log.add(0, call(Kind::Send, 8, 1)));
  EXPECT_FALSE(log.add(1, call(Kind::Recv, 4, 0)));
  ASSERT_EQ(log.missing().size(), 1U);
  EXPECT_NE(log.missing().front().find("rank 1 never called the matching ncclRecv"),
            std::string::npos);
  const auto wrong = log.add(1, call(Kind::Recv, 4, 0));
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->message.find("mismatched sizes"), std::string::npos);
}

}  // namespace
}  // namespace cuco::loopback
