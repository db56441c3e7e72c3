// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "llm/chat.h"
#include "llm/command_provider.h"
#include "llm/exchange_recording.h"
#include "llm/sse.h"
#include "system/os/files.h"

namespace cuco::llm {
namespace {

std::vector<std::string> events_of(std::string_view stream, std::size_t piece) {
  std::vector<std::string> events;
  SseParser parser([&](std::string_view data) {
    events.emplace_back(data);
    return Result<void>();
  });
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    EXPECT_TRUE(parser.feed(stream.substr(at, piece)));
  }
  EXPECT_TRUE(parser.finish());
  return events;
}

TEST(Sse, GivesTheDataOfEachEventHoweverItIsCut) {
  const std::string stream =
      ": hello\nevent: x\ndata: one\n\ndata:two\r\ndata: more\r\n\r\nid: 3\n\rdata: three";
  for (std::size_t piece = 1; piece < stream.size(); ++piece) {
    EXPECT_THAT(events_of(stream, piece), testing::ElementsAre("one", "two\nmore", "three"));
  }
}

TEST(Sse, StopsWhenTheSinkDoes) {
  SseParser parser(
      [](std::string_view) -> Result<void> { return Error{ErrorKind::Protocol, "enough"}; });
  EXPECT_EQ(parser.feed("data: x\n\n").error().message(), "enough");
}

TEST(Chat, GathersDeltasAndToleratesWhatServersDo) {
  ChatAnswer answer;
  for (const auto* chunk :
       {R"({"choices":[{"delta":{"role":"assistant","content":null}}]})", R"({"choices":[]})",
        R"({"choices":[{"delta":{"content":"Hel"}}]})",
        R"({"choices":[{"delta":{"content":"lo"}}]})",
        R"({"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null})",
        R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}})", "[DONE]"}) {
    ASSERT_TRUE(answer.add_event(chunk)) << chunk;
  }
  EXPECT_TRUE(answer.complete());
  EXPECT_EQ(answer.reply(), (Reply{.text = "Hello", .prompt_tokens = 7, .answer_tokens = 2}));
}

TEST(Chat, KnowsThatAStreamBrokeOff) {
  ChatAnswer answer;
  ASSERT_TRUE(answer.add_event(R"({"choices":[{"delta":{"content":"half"}}]})"));
  EXPECT_FALSE(answer.complete());
}

TEST(Chat, RefusesErrorsAndGarbage) {
  ChatAnswer answer;
  EXPECT_EQ(answer.add_event(R"({"error":{"message":"overloaded"}})").error().message(),
            "the server says: overloaded");
  EXPECT_FALSE(answer.add_event("{\"choices\":"));
  EXPECT_FALSE(answer.add_event("[1]"));
  EXPECT_FALSE(answer.set_whole("{}"));
  EXPECT_TRUE(answer.set_whole(R"({"choices":[{"message":{"content":"x"}}]})"));
}

TEST(Chat, SurvivesAnyBytes) {
  Rng rng(1);
  const std::string alphabet = "{}[]\":,dataconte\n\r \\u01";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(60); n > 0; --n)
      text += alphabet[rng.below(alphabet.size())];
    ChatAnswer answer;
    (void)answer.add_event(text);
    (void)answer.set_whole(text);
    (void)events_of(text, 1 + rng.below(5));
  }
}

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_command");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
  }
  std::string script(const std::string& text) {
    const auto path = folder->path() / "script";
    EXPECT_TRUE(system::write_file(path, "#!/bin/sh\n" + text, 0755));
    return path.string();
  }
  std::optional<system::TempFolder> folder;
};

TEST_F(Commands, AnswerThePromptFromStandardInput) {
  CommandProvider provider(script("tr a-z A-Z"));
  const auto reply = provider.complete({.system = "be", .prompt = "loud"});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, "BE\n\nLOUD");
}

TEST_F(Commands, SeeNoKeys) {
  ::setenv("CUCO_TEST_API_KEY", "sk-secret-0123456789", 1);
  CommandProvider provider(script("env"));
  const auto reply = provider.complete({.prompt = "x"});
  ::unsetenv("CUCO_TEST_API_KEY");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->text.find("sk-secret"), std::string::npos) << reply->text;
}

TEST_F(Commands, FailWithTheirOwnWords) {
  CommandProvider provider(script("echo no idea >&2; exit 3"));
  const auto reply = provider.complete({.prompt = "x"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Protocol);
  EXPECT_NE(reply.error().message().find("no idea"), std::string::npos) << reply.error().message();
}

TEST_F(Commands, AreEndedAtTheDeadline) {
  CommandProvider provider(script("sleep 60"));
  const auto reply = provider.complete({.prompt = "x", .deadline = std::chrono::seconds(1)});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Timeout) << reply.error().message();
}

TEST_F(Commands, AreNotFoundWhereThereIsNone) {
  CommandProvider provider("cuco-no-such-program");
  EXPECT_EQ(provider.complete({.prompt = "x"}).error().kind(), ErrorKind::NotFound);
}

TEST_F(Commands, ReplayFromTheirRecordingBitForBit) {
  const auto file = folder->path() / "recording.jsonl";
  const auto counter = (folder->path() / "counter").string();
  RecordingProvider recorder(std::make_unique<CommandProvider>(
                                 script("cat; echo x >> " + counter + "; wc -l < " + counter)),
                             file);
  std::vector<Reply> said;
  for (const auto* prompt : {"same", "other", "same"}) {
    auto reply = recorder.complete({.prompt = prompt});
    ASSERT_TRUE(reply) << reply.error().message();
    said.push_back(*reply);
  }
  EXPECT_NE(said[0].text, said[2].text);
  auto replay = ReplayProvider::open(file);
  ASSERT_TRUE(replay) << replay.error().message();
  EXPECT_EQ(*(*replay)->complete({.prompt = "same"}), said[0]);
  EXPECT_EQ(*(*replay)->complete({.prompt = "other"}), said[1]);
  EXPECT_EQ(*(*replay)->complete({.prompt = "same"}), said[2]);
  EXPECT_EQ((*replay)->complete({.prompt = "same"}).error().kind(), ErrorKind::NotFound);
  EXPECT_EQ((*replay)->complete({.prompt = "new"}).error().kind(), ErrorKind::NotFound);
}

TEST_F(Commands, NameTheLineOfADamagedRecording) {
  const auto file = folder->path() / "bad.jsonl";
  ASSERT_TRUE(system::write_file(file, "\n{\"question\":\"a\",\"answer\":1}\n"));
  const auto replay = ReplayProvider::open(file);
  ASSERT_FALSE(replay);
  EXPECT_NE(replay.error().message().find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace cuco::llm
