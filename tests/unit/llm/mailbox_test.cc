// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "llm/mailbox_provider.h"

namespace cuco::llm {
namespace {
using testing::HasSubstr;

/// Does something at its n-th sleep: whoever answers, without a thread.
class ActingClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  Nanoseconds wall() const override { return now_; }
  void sleep(Nanoseconds duration) override {
    now_ += duration;
    if (act) act(++sleeps_);
  }
  std::function<void(int)> act;

 private:
  Nanoseconds now_{0};
  int sleeps_ = 0;
};

Request asked(std::string prompt) {
  Request request{.system = "be brief", .prompt = std::move(prompt)};
  request.deadline = std::chrono::seconds(60);
  request.site = {"", 7, "propose", 0};
  return request;
}

class Mailboxes : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_mailbox");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
    box = folder->path() / "box";
  }
  system::Path answer(const Request& request) const {
    return box / (mailbox_id(request) + ".answer.md");
  }
  std::optional<system::TempFolder> folder;
  system::Path box;
  ActingClock clock;
};

TEST_F(Mailboxes, GiveTheAnswerThatSomebodyWrites) {
  const auto request = asked("what?");
  clock.act = [&](int sleeps) {
    if (sleeps != 5) return;
    const auto question = *system::read_file(box / (mailbox_id(request) + ".question.md"));
    EXPECT_THAT(question, HasSubstr("be brief\n\n---\n\nwhat?"));
    EXPECT_THAT(question, HasSubstr(mailbox_id(request) + ".answer.md"));
    EXPECT_THAT(*system::read_file(box / "README.md"), HasSubstr("rename it"));
    EXPECT_TRUE(system::write_file(answer(request), "this"));
  };
  MailboxProvider mailbox(box, clock);
  const auto reply = mailbox.complete(request);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, "this");
  EXPECT_GT(reply->seconds, 1);
  EXPECT_THAT(mailbox_id(request), testing::StartsWith("007-propose-0-"));
}

TEST_F(Mailboxes, MayBeAFolderWithAReadMeOfItsOwn) {
  ASSERT_TRUE(system::make_folder(box));
  ASSERT_TRUE(system::write_file(box / "README.md", "mine"));
  ASSERT_TRUE(MailboxProvider(box, clock).prepare());
  EXPECT_EQ(*system::read_file(box / "README.md"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(box), {}), 1);
  const auto wrong = MailboxProvider(box / "README.md", clock).prepare();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorKind::InvalidInput);
}

TEST_F(Mailboxes, DoNotTakeAnAnswerThatIsStillBeingWritten) {
  const auto request = asked("what?");
  const std::string whole = "one two three";
  clock.act = [&](int sleeps) {
    const auto size = std::min(whole.size(), static_cast<std::size_t>(sleeps));
    EXPECT_TRUE(system::write_file(answer(request), whole.substr(0, size)));
  };
  std::filesystem::create_directories(box);
  MailboxProvider mailbox(box, clock);
  EXPECT_EQ(mailbox.complete(request)->text, whole);
}

TEST_F(Mailboxes, KeepTheQuestionWhenNobodyAnswersAndFindTheAnswerLater) {
  const auto request = asked("what?");
  MailboxProvider mailbox(box, clock);
  const auto late = mailbox.complete(request);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::Timeout);
  EXPECT_THAT(late.error().message(), HasSubstr("resume the run"));
  ASSERT_TRUE(system::write_file(answer(request), "at last"));
  EXPECT_EQ(MailboxProvider(box, clock).complete(request)->text, "at last");
}

TEST_F(Mailboxes, NeverTakeAnAnswerToAnotherQuestion) {
  EXPECT_NE(mailbox_id(asked("a")), mailbox_id(asked("b")));
  auto reseeded = asked("a");
  reseeded.seed = 9;
  EXPECT_NE(mailbox_id(asked("a")), mailbox_id(reseeded));
}

TEST_F(Mailboxes, EndWhenTheUserWantsTo) {
  auto request = asked("what?");
  int looks = 0;
  request.stopped = [&] { return ++looks > 3; };
  EXPECT_EQ(MailboxProvider(box, clock).complete(request).error().kind(), ErrorKind::Unavailable);
  EXPECT_LT(clock.now(), std::chrono::seconds(10));
}

TEST_F(Mailboxes, RefuseAnAnswerOfTenMegabytes) {
  const auto request = asked("what?");
  std::filesystem::create_directories(box);
  ASSERT_TRUE(system::write_file(answer(request), std::string(10U << 20U, 'x')));
  EXPECT_EQ(MailboxProvider(box, clock).complete(request).error().kind(), ErrorKind::Protocol);
}

}  // namespace
}  // namespace cuco::llm
