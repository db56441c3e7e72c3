// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/exchange_recording.h"
#include "llm/text_difference.h"

namespace cuco::llm {
namespace {
using testing::HasSubstr;

/// Counts its answers, so that no two are equal.
class Counting final : public Provider {
 public:
  explicit Counting(std::string model) : model_(std::move(model)) {}
  std::string name() const override { return "test"; }
  std::string model() const override { return model_; }
  Result<Reply> complete(const Request& request) override {
    Reply reply{.text = model_ + std::to_string(++count_) + request.prompt};
    reply.usage = {5, 4, 3, 2, 1};
    reply.lost.prompt = 2;
    reply.dollars = 0.25;
    reply.attempts = 2;
    reply.answered_by = "test:other";
    return reply;
  }

 private:
  std::string model_;
  int count_ = 0;
};

Request asked(std::string prompt, int decision, int turn = 0) {
  Request request{.system = "be", .prompt = std::move(prompt), .seed = 1};
  request.site = {"run 1", decision, "propose", turn};
  return request;
}

class Recordings : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_recording");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
    file = folder->path() / "recording.jsonl";
  }
  std::optional<system::TempFolder> folder;
  system::Path file;
};

TEST_F(Recordings, ReplayBitForBitWithSeveralModelsInOne) {
  ASSERT_TRUE(begin_recording(file, "the secret"));
  RecordingProvider a(std::make_unique<Counting>("a"), file);
  RecordingProvider b(std::make_unique<Counting>("b"), file);
  const auto a1 = *a.complete(asked("same", 1));
  const auto b1 = *b.complete(asked("same", 1));
  const auto a2 = *a.complete(asked("same", 2));
  const auto a3 = *a.complete(asked("same", 2, 1));
  auto recording = Recording::open(file);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ((*recording)->secret(), "the secret");
  ASSERT_EQ((*recording)->models().size(), 2U);
  ReplayProvider replay_a(*recording, (*recording)->models()[0]);
  ReplayProvider replay_b(*recording, (*recording)->models()[1]);
  EXPECT_EQ(replay_b.model(), "b");
  // By call, not by order.
  EXPECT_EQ(*replay_a.complete(asked("same", 2, 1)), a3);
  EXPECT_EQ(*replay_a.complete(asked("same", 2)), a2);
  EXPECT_EQ(*replay_b.complete(asked("same", 1)), b1);
  EXPECT_EQ(*replay_a.complete(asked("same", 1)), a1);
  const auto again = replay_a.complete(asked("same", 1));
  EXPECT_EQ(again.error().kind(), ErrorKind::NotFound);
  EXPECT_THAT(again.error().message(), HasSubstr("all recorded answers to it were given"));
}

TEST_F(Recordings, ShowWhereAPromptHasChanged) {
  RecordingProvider a(std::make_unique<Counting>("a"), file);
  ASSERT_TRUE(a.complete(asked("one\ntwo\nthree 1.0 us\nfour", 3)));
  auto recording = Recording::open(file);
  ReplayProvider replay(*recording, (*recording)->models()[0]);
  const auto reply = replay.complete(asked("one\ntwo\nthree 1.1 us\nfour", 3));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::NotFound);
  EXPECT_THAT(reply.error().message(),
              HasSubstr("(decision 3, role propose, turn 0); its text has changed"));
  EXPECT_THAT(reply.error().message(), HasSubstr("line 3, column 9\n"
                                                 "    one\n    two\n"
                                                 "  - three 1.0 us\n  - four\n"
                                                 "  + three 1.1 us\n  + four\n"));
  EXPECT_THAT(replay.complete(asked("x", 9)).error().message(), HasSubstr("none for this call"));
  auto reseeded = asked("one\ntwo\nthree 1.0 us\nfour", 3);
  reseeded.seed = 5;
  EXPECT_THAT(replay.complete(reseeded).error().message(), HasSubstr("with seed 1, not 5"));
}

TEST_F(Recordings, OfTheFirstFormatStillReplay) {
  RecordingProvider a(std::make_unique<Counting>("a"), file);
  ASSERT_TRUE(a.complete(asked("p", -1)));
  auto text = *system::read_file(file);
  for (const std::string_view field : {"\"decision\":-1,", "\"run\":\"run 1\",", "\"turn\":0,"}) {
    const auto at = text.find(field);
    ASSERT_NE(at, std::string::npos) << field;
    text.erase(at, field.size());
  }
  ASSERT_TRUE(system::write_file(file, text));
  auto recording = Recording::open(file);
  ReplayProvider replay(*recording, (*recording)->models()[0]);
  EXPECT_TRUE(replay.complete(asked("p", 4)));
}

TEST_F(Recordings, NameTheLineThatIsDamaged) {
  ASSERT_TRUE(system::write_file(file, "\n{\"question\":\"a\",\"answer\":1}\n"));
  EXPECT_THAT(Recording::open(file).error().message(), HasSubstr("line 2"));
  ASSERT_TRUE(system::write_file(file, "{\"recording\":99}\n"));
  EXPECT_THAT(Recording::open(file).error().message(), HasSubstr("newer cuco"));
}

TEST(Differences, ShowLongLinesAroundThePlaceAndEndsOfTexts) {
  EXPECT_EQ(first_difference("a", "a"), "");
  const std::string same(500, 'x');
  const auto text = first_difference(same + "old", same + "new");
  EXPECT_THAT(text, HasSubstr("line 1, column 501"));
  EXPECT_THAT(text, HasSubstr("xold\n"));
  EXPECT_LT(text.size(), 300U);
  EXPECT_THAT(first_difference("a\nb", "a"), HasSubstr("  - b\n"));
}

}  // namespace
}  // namespace cuco::llm
