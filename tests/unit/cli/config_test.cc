// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::cli {
namespace {

std::string error_of(const ConfigSources& sources) {
  const auto config = Config::from(sources);
  return config ? "no error" : config.error().message();
}

std::string error_in_file(std::string text) {
  return error_of({.files = {{"cuco.toml", std::move(text)}}});
}

TEST(ConfigKeys, AreSortedAndTheirDefaultsAreRight) {
  std::string_view last;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_LT(last, key.name);
    last = key.name;
    if (!key.fallback.empty()) {
      EXPECT_EQ(complaint_about(key, key.fallback), std::nullopt);
    }
  }
}

TEST(Config, EachLayerCoversTheOneBelow) {
  ConfigSources sources;
  const auto seed = [&sources] { return Config::from(sources)->setting("search.seed"); };
  EXPECT_EQ(seed().value, "1");
  EXPECT_EQ(seed().origin, "default");
  sources.files.push_back({"user.toml", "[search]\nseed = 2\n"});
  EXPECT_EQ(seed().value, "2");
  EXPECT_EQ(seed().origin, "user.toml:2");
  sources.files.push_back({"cuco.toml", "search.seed = 3\n"});
  EXPECT_EQ(seed().value, "3");
  EXPECT_EQ(seed().origin, "cuco.toml:1");
  sources.environment.set("CUCO_SEARCH_SEED", "4");
  EXPECT_EQ(seed().value, "4");
  EXPECT_EQ(seed().origin, "CUCO_SEARCH_SEED");
  sources.overrides.emplace_back("search.seed", "5");
  EXPECT_EQ(seed().value, "5");
  EXPECT_EQ(seed().origin, "--set");
}

TEST(Config, LowerLayersShowThroughKeyByKey) {
  const auto config =
      Config::from({.files = {{"user.toml", "search.seed = 2\nsearch.budget = '1h'\n"},
                              {"cuco.toml", "search.seed = 3\n"}}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->integer("search.seed"), 3);
  EXPECT_EQ(config->seconds("search.budget"), 3600);
}

TEST(Config, WrongKeyNamesFileLineAndTheNearestRightOne) {
  EXPECT_EQ(error_in_file("[search]\nseed = 1\nbugdet = '3m'\n"),
            "cuco.toml:3: unknown key 'search.bugdet' (did you mean 'search.budget'?)");
  EXPECT_EQ(error_in_file("zebra = 1\n"),
            "cuco.toml:1: unknown key 'zebra' (list all with: cuco config)");
}

TEST(Config, WrongTypeNamesWhatIsExpected) {
  EXPECT_EQ(error_in_file("search.seed = 'one'\n"), "cuco.toml:1: search.seed must be an integer");
  EXPECT_EQ(error_in_file("search.budget = 10\n"),
            "cuco.toml:1: search.budget must be a duration like \"90s\", \"30m\" or \"2h\"");
  EXPECT_EQ(error_in_file("search.seed = [1]\n"), "cuco.toml:1: search.seed must be an integer");
  EXPECT_EQ(error_of({.overrides = {{"run.target", "virtul"}}}),
            "--set: run.target must be one of auto, virtual, not 'virtul' (did you "
            "mean 'virtual'?)");
}

TEST(Config, ListsAreArraysInFilesAndQuotedWordsElsewhere) {
  const auto words = [](const ConfigSources& sources) {
    const auto config = Config::from(sources);
    EXPECT_TRUE(config) << config.error().message();
    return config->words("llm.command");
  };
  EXPECT_THAT(words({}), testing::ElementsAre());
  EXPECT_THAT(words({.files = {{"cuco.toml", "llm.command = ['a', 'b c', '']\n"}}}),
              testing::ElementsAre("a", "b c", ""));
  EXPECT_THAT(words({.overrides = {{"llm.command", "a 'b c'"}}}), testing::ElementsAre("a", "b c"));
  EXPECT_THAT(error_in_file("llm.command = [1]\n"), testing::HasSubstr("must be a list"));
  EXPECT_THAT(error_of({.overrides = {{"llm.command", "a 'b"}}}),
              testing::HasSubstr("must be a list"));
}

TEST(Config, BrokenFileNamesTheLine) {
  EXPECT_THAT(error_in_file("[search]\nseed =\n"), ::testing::StartsWith("cuco.toml:2: "));
}

TEST(Config, ASecretPutInTheWrongPlaceIsRefusedAndNotRepeated) {
  const std::string secret = "sk-verysecret";
  for (const std::string& message : {error_in_file("llm.api_key = '" + secret + "'\n"),
                                     error_in_file("llm.key_variable = '" + secret + "'\n"),
                                     error_of({.overrides = {{"llm.key_variable", secret}}})}) {
    EXPECT_THAT(message, ::testing::HasSubstr("variable"));
    EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr(secret)));
  }
}

TEST(ParseDuration, TakesUnits) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("1.5m"), 90);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("1d"), 86400);
  for (const auto* wrong : {"", "s", "10", "-1s", "1x", "nans", "infs"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
}

TEST(FindConfigFiles, UserThenNearestProjectFile) {
  const auto folder = system::TempFolder::create();
  ASSERT_TRUE(folder);
  const system::Path root = folder->path();
  ASSERT_TRUE(system::make_folder(root / "home/.config/cuco"));
  ASSERT_TRUE(system::make_folder(root / "project/deep/er"));
  ASSERT_TRUE(system::write_file(root / "home/.config/cuco/config.toml", "a"));
  ASSERT_TRUE(system::write_file(root / "cuco.toml", "too far up"));
  ASSERT_TRUE(system::write_file(root / "project/cuco.toml", "b"));
  system::Environment environment;
  environment.set("HOME", (root / "home").string());
  const auto files = find_config_files(root / "project/deep/er", environment);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].text, "a");
  EXPECT_EQ((*files)[1].text, "b");
}

}  // namespace
}  // namespace cuco::cli
