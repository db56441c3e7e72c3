// SPDX-License-Identifier: Apache-2.0
// From the configuration to providers: whose key goes where, what is recorded, who is replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/journey/journey.h"
#include "cli/models/recordings.h"
#include "llm/exchange_recording.h"

namespace cuco::cli {
namespace {
using testing::HasSubstr;

const llm::Catalogue& shipped() {
  return llm::Catalogue::shipped();
}

system::Environment keys() {
  system::Environment made;
  made.set("OPENAI_API_KEY", "key-of-openai");
  made.set("ANTHROPIC_API_KEY", "key-of-anthropic");
  made.set("MINE", "my-own-key");
  return made;
}

TEST(ModelOptions, ComeFromTheConfiguration) {
  const auto config = Config::from(
      {.files = {{"cuco.toml",
                  "[llm]\ncommand = ['claude', '-p', 'two words']\nfallback = ['a', 'b']\n"
                  "effort = 'high summarise=low'\ndeadline = '2h'\nmax_tokens = 99\n"}}});
  ASSERT_TRUE(config) << config.error().message();
  const auto options = model_options(*config);
  EXPECT_THAT(options.command, testing::ElementsAre("claude", "-p", "two words"));
  EXPECT_THAT(options.fallback, testing::ElementsAre("a", "b"));
  EXPECT_EQ(options.deadline_seconds, 7200);
  EXPECT_EQ(options.max_tokens, 99);
  EXPECT_EQ(effort_of(options, "propose"), "high");
  EXPECT_EQ(effort_of(options, "summarise"), "low");
}

TEST(Endpoints, GetTheKeyOfTheirServiceAndNoOther) {
  ModelOptions options;
  options.model = "gpt-4o";
  options.key_variable = "MINE";
  options.endpoint = "http://127.0.0.1:1/v1";
  const auto first = find_endpoint("gpt-4o", options, shipped(), keys());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->credentials.key, "my-own-key");
  EXPECT_EQ(first->service.url, "http://127.0.0.1:1/v1");
  const auto other = find_endpoint("anthropic:claude-sonnet-4-5", options, shipped(), keys());
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(other->credentials.key, "key-of-anthropic");
  EXPECT_EQ(other->service.url, "https://api.anthropic.com/v1");
  EXPECT_EQ(other->facts.prices->in, 3);
}

TEST(Endpoints, SayWhatIsMissing) {
  ModelOptions options;
  EXPECT_THAT(find_endpoint("", options, shipped(), {}).error().message(),
              HasSubstr("use --model NAME"));
  EXPECT_THAT(find_endpoint("gemini:x", options, shipped(), {}).error().message(),
              HasSubstr("set GEMINI_API_KEY"));
  options.service = "opnai";
  EXPECT_THAT(find_endpoint("x", options, shipped(), {}).error().message(),
              HasSubstr("did you mean 'openai'?"));
  EXPECT_TRUE(find_endpoint("ollama:llama3:8b", options, shipped(), {}));
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_models");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
  }
  std::string path(const char* name) const { return (folder->path() / name).string(); }
  std::optional<system::TempFolder> folder;
  ManualClock clock;
};

TEST_F(Files, OfTheUserOverrideTheCatalogue) {
  ASSERT_TRUE(system::make_folder(folder->path() / "cuco"));
  ASSERT_TRUE(system::write_file(path("cuco/models.toml"), "[service.a]\nurl = 'http://a'\n"));
  ASSERT_TRUE(system::write_file(path("more.toml"), "[service.a]\nregion = 'r'\n"));
  system::Environment environment;
  environment.set("XDG_CONFIG_HOME", folder->path().string());
  ModelOptions options;
  options.models_file = path("more.toml");
  const auto catalogue = load_catalogue(options, environment);
  ASSERT_TRUE(catalogue) << catalogue.error().message();
  EXPECT_EQ(catalogue->service("a")->url, "http://a");
  EXPECT_EQ(catalogue->service("a")->region, "r");
  options.models_file = path("absent.toml");
  EXPECT_FALSE(load_catalogue(options, environment));
}

TEST_F(Files, ThatAreRecordedHaveASecretOfTheirOwnThatTheReplayGets) {
  const auto secret = settle_secret({.record = path("r.jsonl")});
  ASSERT_TRUE(secret) << secret.error().message();
  EXPECT_EQ(secret->size(), 64U);
  const auto replayed = settle_secret({.replay = path("r.jsonl")});
  ASSERT_TRUE(replayed);
  EXPECT_EQ(*replayed, *secret);
  EXPECT_EQ(*settle_secret({}), "");
  EXPECT_FALSE(settle_secret({path("r.jsonl"), path("r.jsonl")}));
}

TEST_F(Files, WithSeveralModelsReplayTheOneThatIsNamed) {
  ASSERT_TRUE(system::write_file(
      path("r.jsonl"),
      "{\"question\":\"1\",\"provider\":\"p\",\"model\":\"a\",\"answer\":\"x\"}\n"
      "{\"question\":\"2\",\"provider\":\"p\",\"model\":\"b\",\"answer\":\"x\"}\n"));
  llm::Gates gates(clock);
  ModelOptions options;
  const RecordingFiles files{.replay = path("r.jsonl")};
  const auto unnamed = make_recorded("model", options, files, gates, clock);
  ASSERT_FALSE(unnamed);
  EXPECT_THAT(unnamed.error().message(), HasSubstr("choose one with --model: p:a, p:b"));
  options.model = "p:b";
  EXPECT_EQ((*make_recorded("model", options, files, gates, clock))->model(), "b");
}

TEST_F(Files, AndCommandsAndMailboxesNeedNoKey) {
  llm::Gates gates(clock);
  ModelOptions options;
  options.command = {"sh", "y z"};
  EXPECT_EQ((*make_provider("command", options, gates, clock))->model(), "sh 'y z'");
  EXPECT_EQ((*make_provider("command:cat 'b c'", options, gates, clock))->model(), "cat 'b c'");
  EXPECT_EQ((*make_provider("mailbox:box", options, gates, clock))->name(), "mailbox");
  EXPECT_THAT(make_provider("command:a 'b", options, gates, clock).error().message(),
              HasSubstr("no closing '"));
  EXPECT_FALSE(make_provider("command:no-such-program", options, gates, clock));
  EXPECT_THAT(make_provider("modl", options, gates, clock).error().message(),
              HasSubstr("did you mean 'model'?"));
}

TEST(JourneyOptions, OfOlderRunsKeepTheirModel) {
  const auto options =
      parse_journey_options(R"({"workload":"w","model":"m","endpoint":"http://h","key_file":"k"})");
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->models.model, "m");
  EXPECT_EQ(options->models.endpoint, "http://h");
  EXPECT_EQ(options->models.key_file, "k");
}

}  // namespace
}  // namespace cuco::cli
