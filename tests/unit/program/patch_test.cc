// SPDX-License-Identifier: Apache-2.0
#include "program/patch.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "program/regions.h"

namespace cuco::program {
namespace {

constexpr std::string_view kPatchProgram =
    "int frozen = 1;\n"
    "// cuco: evolve begin kernels\n"
    "__global__ void gemm(float* out) {\n"
    "  for (int i = 0; i < 4; ++i) {\n"
    "    out[i] = 0;\n"
    "  }\n"
    "}\n"
    "int twice;\n"
    "int twice;\n"
    "// cuco: evolve end\n"
    "int last = 2;\n";

std::string patched(std::string_view answer) {
  const auto hunks = find_hunks(answer);
  if (!hunks) return hunks.error().message();
  const auto made = apply_hunks(kPatchProgram, *hunks);
  return made ? *made : made.error().message();
}

std::string with(std::string_view was, std::string_view is) {
  std::string text(kPatchProgram);
  text.replace(text.find(was), was.size(), is);
  return text;
}

TEST(Patch, ReplacesWhatIsThereOnce) {
  EXPECT_EQ(patched("<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n"),
            with("out[i] = 0;", "out[i] = 1;"));
}

TEST(Patch, Deletes) {
  EXPECT_EQ(patched("<<<<<<< SEARCH\n    out[i] = 0;\n=======\n>>>>>>> REPLACE\n"),
            with("    out[i] = 0;\n", ""));
}

TEST(Patch, OfAnySizeEndsSoon) {
  const std::string edit =
      "<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 0;\n>>>>>>> REPLACE\n";
  std::string many;
  for (int i = 0; i < 60000; ++i)
    many += edit;
  EXPECT_EQ(patched(many), "the answer has 60000 edits, more than the 500 that one may have");
  const std::string grows = "<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 0;\n" +
                            std::string(3U << 20U, 'x') + "\n>>>>>>> REPLACE\n";
  EXPECT_EQ(patched(grows + grows), "the program has 3.0 MiB after edit 1: too long");
}

TEST(Patch, AppliesEachToWhatTheOnesBeforeGave) {
  EXPECT_EQ(patched("<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n"
                    "and then\n"
                    "<<<<<<< SEARCH\n    out[i] = 1;\n=======\n    out[i] = 2;\n>>>>>>> REPLACE\n"),
            with("out[i] = 0;", "out[i] = 2;"));
}

/// Replies as models write them, each meant to replace the 0 by a 1.
TEST(Patch, TakesUglyReplies) {
  const std::string good = with("out[i] = 0;", "out[i] = 1;");
  const char* const replies[] = {
      // a fence around, and one inside
      "Sure!\n```diff\n<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n"
      "```\nThis is faster because …",
      "<<<<<<< SEARCH\n```cuda\n    out[i] = 0;\n```\n=======\n```cuda\n    out[i] = 1;\n```\n"
      ">>>>>>> REPLACE",
      // CRLF, tabs and blanks at the end, a wrong indentation
      "<<<<<<< SEARCH\r\n    out[i] = 0;\r\n=======\r\n    out[i] = 1;\r\n>>>>>>> REPLACE\r\n",
      "<<<<<<< SEARCH\n    out[i] = 0; \t\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n",
      "<<<<<<< SEARCH\nout[i] = 0;\n=======\nout[i] = 1;\n>>>>>>> REPLACE\n",
      "<<<<<<< SEARCH\n\tout[i] = 0;\n=======\n\tout[i] = 1;\n>>>>>>> REPLACE\n",
      // blanks that only look like it
      "<<<<<<< SEARCH\n  \xC2\xA0 out[i] = 0;\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n",
      // blank lines around, marks of other lengths, no words behind them, lower case
      "<<<<<<< SEARCH\n\n    out[i] = 0;\n\n=======\n    out[i] = 1;\n>>>>>>> REPLACE\n",
      "<<<<<< SEARCH\n    out[i] = 0;\n========\n    out[i] = 1;\n>>>>>>>>\n",
      "<<<<<<< search\n    out[i] = 0;\n=======\n    out[i] = 1;\n>>>>>>> replace\n",
      // indented as a whole
      "  <<<<<<< SEARCH\n      out[i] = 0;\n  =======\n      out[i] = 1;\n  >>>>>>> REPLACE\n",
  };
  for (const char* reply : replies)
    EXPECT_EQ(patched(reply), good) << reply;
}

TEST(Patch, SaysWhyItCannotBeApplied) {
  EXPECT_EQ(patched("<<<<<<< SEARCH\n    out[i] = 0;\n=======\n    out[i] = 1;\n"),
            "the last edit is not closed (>>>>>>> REPLACE): the answer was cut off");
  EXPECT_EQ(patched("<<<<<<< SEARCH\n    out[i] = 0;\n>>>>>>> REPLACE\n"),
            "an edit has no line of '=' between SEARCH and REPLACE");
  EXPECT_EQ(patched("<<<<<<< SEARCH\nint twice;\n=======\nint once;\n>>>>>>> REPLACE\n"),
            "edit 1 fits 2 places: 'int twice;'; search for more lines around it");
  EXPECT_EQ(patched("<<<<<<< SEARCH\nout[i] = 5;\n=======\nout[i] = 1;\n>>>>>>> REPLACE\n"),
            "edit 1 searches for lines that are not there: 'out[i] = 5;'; nearest: 'out[i] = 0;'");
  EXPECT_EQ(patched("<<<<<<< SEARCH\nint frozen = 1;\n=======\nint frozen = 2;\n>>>>>>> REPLACE\n"),
            "edit 1 changes frozen lines: 'int frozen = 1;'");
  EXPECT_EQ(patched("<<<<<<< SEARCH\n=======\nint more;\n>>>>>>> REPLACE\n"),
            "edit 1 searches for nothing: say which lines it replaces");
  EXPECT_EQ(patched("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\n>>>>>>> REPLACE\n"),
            "an edit begins before the one above it ends");
}

/// For any edit of lines inside a region: either the text with exactly that change, or an error;
/// frozen bytes stay.
TEST(Patch, NeverChangesAnythingElse) {
  Rng rng(5);
  int applied = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string body;
    std::vector<std::string> lines;
    const auto count = 3 + rng.below(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      lines.push_back(std::string(2 * rng.below(3), ' ') + "x" + std::to_string(rng.below(5)) +
                      ";");
      body += lines.back() + "\n";
    }
    const std::string before = "int a;\n// cuco: evolve begin r\n";
    const std::string after = "// cuco: evolve end\nx0;\nx1;\n";
    const auto first = rng.below(count);
    const auto size = 1 + rng.below(count - first);
    Hunk hunk;
    std::string expected;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i >= first && i < first + size) hunk.search += lines[i] + "\n";
      if (i < first || i >= first + size) expected += lines[i] + "\n";
      if (i + 1 == first + size) expected += "fresh;\n";
    }
    hunk.replace = "fresh;\n";
    const auto made = apply_hunks(before + body + after, std::span(&hunk, 1));
    if (!made) continue;
    ++applied;
    EXPECT_EQ(*made, before + expected + after) << hunk.search;
    const auto edit = find_frozen_edit(before + body + after, *made);
    ASSERT_TRUE(edit);
    EXPECT_FALSE(*edit);
  }
  EXPECT_GT(applied, 1000);
}

TEST(Patch, SurvivesAnyText) {
  Rng rng(11);
  constexpr std::string_view kPieces[] = {"<<<<<<< SEARCH\n",
                                          "=======\n",
                                          ">>>>>>> REPLACE\n",
                                          "int twice;\n",
                                          "```\n",
                                          "out[i] = 0;\n",
                                          "\r\n",
                                          "\xC2",
                                          "// cuco: evolve end\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 14; ++i)
      text += kPieces[rng.below(std::size(kPieces))];
    const std::string made = patched(text);
    EXPECT_FALSE(made.empty());
  }
}

}  // namespace
}  // namespace cuco::program
