// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/program_arguments.h"

#include <gtest/gtest.h>

namespace cuco::cli {
namespace {

class ProgramArguments : public ::testing::Test {
 protected:
  ProgramArguments() {
    arguments_.flag("--check", check_, "look for bugs");
    arguments_.option("--ranks", ranks_, "N", "how many ranks").with_letter('n');
    arguments_.positional("PROGRAM", programs_, "what to run");
    arguments_.rest("ARGS", rest_, "arguments for the program");
    arguments_.rest_follows_program([](const std::string& word) { return word.ends_with(".cu"); });
  }

  std::optional<std::size_t> begin(const std::vector<std::string>& words) {
    return program_arguments_begin(arguments_, words);
  }

  Arguments arguments_;

 private:
  bool check_ = false;
  int ranks_ = 1;
  std::vector<std::string> programs_;
  std::vector<std::string> rest_;
};

TEST_F(ProgramArguments, BeginBehindTheProgram) {
  EXPECT_EQ(begin({"prog", "1024", "x"}), 1U);
  EXPECT_EQ(begin({"--ranks", "4", "prog", "1024"}), 3U);
  EXPECT_EQ(begin({"--ranks=4", "prog", "-v"}), 2U);
}

TEST_F(ProgramArguments, AreNoneWhereNothingFollows) {
  EXPECT_EQ(begin({}), std::nullopt);
  EXPECT_EQ(begin({"prog"}), std::nullopt);
  EXPECT_EQ(begin({"--check", "prog"}), std::nullopt);
}

TEST_F(ProgramArguments, OurOptionsRightBehindTheProgramStayOurs) {
  EXPECT_EQ(begin({"prog", "--check"}), std::nullopt);
  EXPECT_EQ(begin({"prog", "-n", "4", "--json", "--set", "a=b", "7"}), 6U);
  EXPECT_EQ(begin({"prog", "--check", "7", "--check"}), 2U);
}

TEST_F(ProgramArguments, FurtherSourcesArePartsOfTheProgram) {
  EXPECT_EQ(begin({"a.cu", "b.cu", "7"}), 2U);
  EXPECT_EQ(begin({"a.cu", "--check", "b.cu", "7", "c.cu"}), 3U);
  EXPECT_EQ(begin({"built", "b.cu"}), 1U);  // a program that reads a source
}

TEST_F(ProgramArguments, WithASeparatorTheUserHasDecided) {
  EXPECT_EQ(begin({"prog", "--chekc", "--", "7"}), std::nullopt);
}

TEST_F(ProgramArguments, AnUnknownOptionBeforeTheProgramIsLeftToTheParser) {
  EXPECT_EQ(begin({"--chekc", "prog"}), std::nullopt);
}

TEST_F(ProgramArguments, AMisspeltOptionIsNoticed) {
  EXPECT_EQ(misspelt_option(arguments_, "--chekc"), "--check");
  EXPECT_EQ(misspelt_option(arguments_, "--iterations"), std::nullopt);
  EXPECT_EQ(misspelt_option(arguments_, "check"), std::nullopt);
}

TEST(ProgramArgumentsElsewhere, NeedTheirSeparator) {
  Arguments arguments;
  std::string program;
  std::vector<std::string> rest;
  arguments.positional("PROGRAM", program, "what to run");
  arguments.rest("ARGS", rest, "arguments for the program");
  const std::vector<std::string> words = {"prog", "7"};
  EXPECT_EQ(program_arguments_begin(arguments, words), std::nullopt);
}

}  // namespace
}  // namespace cuco::cli
