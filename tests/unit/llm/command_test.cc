// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/command_provider.h"
#include "system/os/files.h"

namespace cuco::llm {
namespace {
using testing::HasSubstr;
using testing::Not;

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_command");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
    ::setenv("CUCO_TEST_API_KEY", "sk-secret-0123456789", 1);
  }
  void TearDown() override { ::unsetenv("CUCO_TEST_API_KEY"); }

  CommandProvider script(const std::string& text,
                         std::vector<std::string> arguments = {},
                         std::vector<std::string> variables = {}) {
    const auto path = folder->path() / "script";
    EXPECT_TRUE(system::write_file(path, "#!/bin/sh\n" + text, 0755));
    CommandLine line{{path.string()}, std::move(variables)};
    line.words.insert(line.words.end(), arguments.begin(), arguments.end());
    return CommandProvider(std::move(line));
  }
  std::optional<system::TempFolder> folder;
};

TEST_F(Commands, AnswerThePromptFromStandardInput) {
  auto provider = script("tr a-z A-Z");
  const auto reply = provider.complete({.system = "be", .prompt = "loud"});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, "BE\n\nLOUD");
}

TEST_F(Commands, GetTheirArgumentsAsTheyAre) {
  auto provider =
      script("cat > /dev/null; for w; do echo \"<$w>\"; done", {"two words", "", "$HOME *"});
  EXPECT_EQ(provider.complete({.prompt = "x"})->text, "<two words>\n<>\n<$HOME *>\n");
  EXPECT_THAT(provider.model(), HasSubstr("'two words' '' '$HOME *'"));
}

TEST_F(Commands, SeeNoKeysUnlessTheyAreNamed) {
  auto bare = script("env");
  EXPECT_THAT(bare.complete({.prompt = "x"})->text, Not(HasSubstr("CUCO_TEST_API_KEY")));
  auto named = script("echo ${#CUCO_TEST_API_KEY}", {}, {"CUCO_TEST_API_KEY", "CUCO_UNSET"});
  EXPECT_EQ(named.complete({.prompt = "x"})->text, "20\n");
}

TEST_F(Commands, NeverShowAKeyThatTheyWereGiven) {
  auto talks = script("env", {}, {"CUCO_TEST_API_KEY"});
  EXPECT_THAT(talks.complete({.prompt = "x"})->text, HasSubstr("CUCO_TEST_API_KEY=[key]"));
  auto fails = script("echo bad key $CUCO_TEST_API_KEY >&2; exit 1", {}, {"CUCO_TEST_API_KEY"});
  EXPECT_THAT(fails.complete({.prompt = "x"}).error().message(), HasSubstr("bad key [key]"));
}

TEST_F(Commands, FailWithTheirOwnWords) {
  auto provider = script("echo no idea >&2; exit 3");
  const auto reply = provider.complete({.prompt = "x"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Protocol);
  EXPECT_THAT(reply.error().message(), HasSubstr("no idea"));
}

TEST_F(Commands, AreEndedAtTheDeadlineAndWhenTheUserWantsTo) {
  auto provider = script("sleep 60");
  const auto reply = provider.complete({.prompt = "x", .deadline = std::chrono::seconds(1)});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Timeout) << reply.error().message();
  Request request{.prompt = "x"};
  request.stopped = [] { return true; };
  EXPECT_EQ(provider.complete(request).error().kind(), ErrorKind::Unavailable);
}

TEST_F(Commands, WithAnAnswerOfTenMegabytesAreRefused) {
  auto provider = script("head -c 10485760 /dev/zero | tr '\\0' x");
  EXPECT_THAT(provider.complete({.prompt = "x"}).error().message(), HasSubstr("longer than 4 MiB"));
}

TEST_F(Commands, AreNotFoundWhereThereIsNone) {
  CommandProvider provider({{"cuco-no-such-program"}, {}});
  EXPECT_EQ(provider.complete({.prompt = "x"}).error().kind(), ErrorKind::NotFound);
  EXPECT_EQ(CommandProvider({}).complete({.prompt = "x"}).error().kind(), ErrorKind::InvalidInput);
}

}  // namespace
}  // namespace cuco::llm
