// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/parse_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::cli {
namespace {

using ::testing::ElementsAre;

/// A command line as rich as `cuco run`'s.
struct Values {
  bool check = false;
  int ranks = 1;
  std::optional<double> budget;
  std::string target = "virtual";
  std::vector<std::string> models;
  std::string program;
  std::vector<std::string> rest;

  Arguments declare() {
    Arguments arguments;
    arguments.flag("--check", check, "look for bugs");
    arguments.option("--ranks", ranks, "N", "how many ranks").with_letter('n');
    arguments.option("--budget", budget, "HOURS", "how long");
    arguments.option("--on", target, "TARGET", "where").one_of({"virtual", "loopback", "cluster"});
    arguments.option("--model", models, "NAME", "may be repeated");
    arguments.positional("PROGRAM", program, "what to run");
    arguments.rest("ARGS", rest, "arguments for the program");
    return arguments;
  }

  /// Empty on success, otherwise the message.
  std::string parse_words(const std::vector<std::string>& words) {
    const Arguments arguments = declare();
    const auto parsed = parse(arguments, words);
    return parsed ? "" : parsed.error().message();
  }
};

TEST(Parse, StoresEachKindOfValue) {
  Values values;
  EXPECT_EQ(values.parse_words({"--check", "-n", "4", "--budget=1.5", "--on", "loopback", "a.cu"}),
            "");
  EXPECT_TRUE(values.check);
  EXPECT_EQ(values.ranks, 4);
  EXPECT_EQ(values.budget, 1.5);
  EXPECT_EQ(values.target, "loopback");
  EXPECT_EQ(values.program, "a.cu");
}

TEST(Parse, LeavesDefaultsOfAbsentOptions) {
  Values values;
  EXPECT_EQ(values.parse_words({"a.cu"}), "");
  EXPECT_EQ(values.ranks, 1);
  EXPECT_EQ(values.budget, std::nullopt);
}

TEST(Parse, RepeatedOptionTakesOneValueEachTime) {
  Values values;
  EXPECT_EQ(values.parse_words({"--model", "a", "--model", "b", "prog.cu"}), "");
  EXPECT_THAT(values.models, ElementsAre("a", "b"));
  EXPECT_EQ(values.program, "prog.cu");
}

TEST(Parse, LastOfTwoWins) {
  Values values;
  EXPECT_EQ(values.parse_words({"--ranks", "2", "--ranks", "8", "a.cu"}), "");
  EXPECT_EQ(values.ranks, 8);
}

TEST(Parse, PassesOnWhatFollowsTheSeparatorUntouched) {
  Values values;
  EXPECT_EQ(values.parse_words({"a.cu", "--", "--ranks", "x", "--", "y"}), "");
  EXPECT_EQ(values.ranks, 1);
  EXPECT_THAT(values.rest, ElementsAre("--ranks", "x", "--", "y"));
}

TEST(Parse, SuggestsTheNearestOption) {
  Values values;
  EXPECT_EQ(values.parse_words({"--rank", "4", "a.cu"}),
            "no option '--rank'; did you mean '--ranks'?");
  EXPECT_EQ(values.parse_words({"--chek", "a.cu"}), "no option '--chek'; did you mean '--check'?");
  EXPECT_EQ(values.parse_words({"--jsn", "a.cu"}), "no option '--jsn'; did you mean '--json'?");
}

TEST(Parse, SaysWhereTheProgramsOwnOptionsGo) {
  Values values;
  EXPECT_EQ(values.parse_words({"a.cu", "--iterations=3"}),
            "no option '--iterations'; arguments for the program go after '--'");
}

TEST(Parse, NamesWhatAnOptionTakes) {
  Values values;
  EXPECT_EQ(values.parse_words({"--ranks", "four", "a.cu"}),
            "--ranks must be an integer, not 'four'");
  EXPECT_EQ(values.parse_words({"--ranks", "4x", "a.cu"}), "--ranks must be an integer, not '4x'");
  EXPECT_EQ(values.parse_words({"a.cu", "--ranks"}), "--ranks needs an integer (--ranks N)");
  EXPECT_EQ(
      values.parse_words({"--on", "virtul", "a.cu"}),
      "--on must be one of virtual, loopback, cluster, not 'virtul'; did you mean 'virtual'?");
}

TEST(Parse, NamesWhatIsMissingOrTooMuch) {
  Values values;
  EXPECT_EQ(values.parse_words({}), "missing PROGRAM");
  EXPECT_EQ(values.parse_words({"a.cu", "b.cu"}),
            "unexpected argument 'b.cu'; arguments for the program go after '--'");
}

}  // namespace
}  // namespace cuco::cli
