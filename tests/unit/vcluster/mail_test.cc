// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fake_client.h"
#include "shims/wire/messages_mail.h"

namespace cuco::vcluster {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kComm = 9;

wire::Bytes bytes(std::string_view text) {
  return wire::bytes_of_text(text);
}

/// A rank: its number in the world is its number in the communicator.
struct Rank {
  Rank(Cluster& cluster, int number)
      : client(cluster, 100U + static_cast<std::uint32_t>(number)), rank(number) {}

  std::uint64_t send(int to, int tag, std::string_view text, bool waits = false) {
    wire::MailSend::Reply reply;
    EXPECT_EQ(client.call(wire::MailSend{kComm, rank, tag, static_cast<std::uint32_t>(to),
                                         waits ? 1U : 0U, text.size()},
                          &reply, bytes(text)),
              wire::kSuccess);
    return reply.number;
  }
  std::uint64_t receive(int from, int tag) {
    wire::MailReceive::Reply reply;
    EXPECT_EQ(client.call(wire::MailReceive{kComm, from, tag, static_cast<std::uint32_t>(rank), 0},
                          &reply),
              wire::kSuccess);
    return reply.number;
  }
  int test(std::uint64_t number) {
    wire::MailTest::Reply reply;
    client.call(wire::MailTest{1, 0}, &reply, wire::bytes_of(number));
    return reply.index;
  }
  void wait(std::uint64_t number) { client.send(wire::MailWait{1, 0}, wire::bytes_of(number)); }
  wire::MailFetch::Reply fetch(std::uint64_t number) {
    wire::MailFetch::Reply reply;
    client.call(wire::MailFetch{number}, &reply);
    return reply;
  }

  FakeClient client;
  std::int32_t rank;
};

/// Two ranks; the one that is not asked sleeps, so that it does not hold the simulation up.
class MailRoom : public testing::Test {
 protected:
  void SetUp() override { b.client.send(wire::Sleep{vgpu::kSecond}); }
  void wake_b() {
    a.client.send(wire::Sleep{2 * vgpu::kSecond});
    while (!b.client.answered() && cluster->advance()) {
    }
  }
  std::unique_ptr<Cluster> cluster = make_cluster();
  Rank a{*cluster, 0};
  Rank b{*cluster, 1};
};

TEST_F(MailRoom, MessagesOfOneSenderStayInOrder) {
  a.send(1, 5, "first");
  a.send(1, 5, "second!");
  wake_b();
  const std::uint64_t one = b.receive(0, 5);
  const std::uint64_t two = b.receive(wire::kAnyMail, wire::kAnyMail);
  EXPECT_EQ(b.fetch(one).bytes, 5U);
  EXPECT_EQ(b.fetch(two).bytes, 7U);
}

TEST_F(MailRoom, TagsChooseAndWildCardsTakeTheEarliest) {
  a.send(1, 1, "one");
  a.send(1, 2, "second");
  wake_b();
  EXPECT_EQ(b.fetch(b.receive(0, 2)).bytes, 6U);
  const auto rest = b.fetch(b.receive(wire::kAnyMail, wire::kAnyMail));
  EXPECT_EQ(rest.tag, 1);
  EXPECT_EQ(rest.source, 0);
}

TEST_F(MailRoom, TheReceivePostedFirstGetsTheMessage) {
  const std::uint64_t wild = a.receive(wire::kAnyMail, wire::kAnyMail);
  const std::uint64_t exact = a.receive(1, 3);
  wake_b();
  b.send(0, 3, "x");
  b.client.send(wire::Sleep{2 * vgpu::kSecond});
  while (!a.client.answered() && cluster->advance()) {
  }
  EXPECT_EQ(a.test(wild), 0);
  EXPECT_EQ(a.test(exact), -1);
}

TEST_F(MailRoom, ASynchronousSendEndsWithItsReceive) {
  const std::uint64_t number = a.send(1, 4, "payload", true);
  ASSERT_NE(number, 0U);
  EXPECT_EQ(a.test(number), -1);
  a.wait(number);
  while (!b.client.answered() && cluster->advance()) {
  }
  EXPECT_FALSE(a.client.answered());
  EXPECT_THAT(describe(cluster->waits()),
              testing::Contains(HasSubstr("world rank 1 to receive 7 bytes from rank 0, tag 4")));
  b.receive(0, 4);
  EXPECT_TRUE(a.client.answered());
}

TEST_F(MailRoom, AProbeLeavesTheMessageAndAMatchedProbeTakesIt) {
  a.send(1, 6, "abc");
  wake_b();
  wire::MailProbe::Reply seen;
  b.client.call(wire::MailProbe{kComm, wire::kAnyMail, 6, 1, 1, 0, 0}, &seen);
  EXPECT_EQ(seen.bytes, 3U);
  b.client.call(wire::MailProbe{kComm, 0, wire::kAnyMail, 1, 1, 1, 0}, &seen);
  EXPECT_NE(seen.number, 0U);
  EXPECT_EQ(b.fetch(seen.number).bytes, 3U);
  b.client.call(wire::MailProbe{kComm, wire::kAnyMail, wire::kAnyMail, 1, 0, 0, 0}, &seen);
  EXPECT_EQ(seen.found, 0U);
}

TEST_F(MailRoom, ACancelledReceiveTakesNothing) {
  const std::uint64_t number = a.receive(1, 8);
  wire::MailCancel::Reply reply;
  a.client.call(wire::MailCancel{number}, &reply);
  EXPECT_EQ(reply.cancelled, 1U);
}

TEST_F(MailRoom, OperationsOfAnotherProcessAreRefused) {
  const std::uint64_t number = a.receive(1, 8);
  wake_b();
  b.client.call(wire::MailFetch{number});
  EXPECT_THAT(b.client.session().refused_because(), HasSubstr("no message operation"));
}

TEST_F(MailRoom, AMessageOfAnotherSizeThanItSaysIsRefused) {
  a.client.call(wire::MailSend{kComm, 0, 1, 1, 0, 1000}, nullptr, bytes("short"));
  EXPECT_THAT(a.client.session().refused_because(), HasSubstr("another size"));
}

}  // namespace
}  // namespace cuco::vcluster
