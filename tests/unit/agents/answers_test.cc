// SPDX-License-Identifier: Apache-2.0
// Answers in the forms that models, terminals and people's hands give them, and hostile ones: each
// is either read for what it means or costs its own call, with a reason that is short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/advice.h"
#include "agents/answer_text.h"
#include "agents/reply.h"
#include "base/text.h"

namespace cuco::agents {
namespace {
using testing::HasSubstr;

const std::string kProgram =
    "#include <nccl.h>\n"
    "// cuco: evolve begin kernels\n"
    "int old;\n"
    "// cuco: evolve end\n"
    "extern int frozen;\n"
    "// cuco: evolve begin launch\n"
    "int go;\n"
    "// cuco: evolve end\n";
const std::string kDesign = "DIRECTIVE: LSA · host-ordered · global barrier · block · whole\n";
const std::string kBody = "REGION kernels\n```cuda\nint fresh;\n```\n";

/// The program that the answer makes, or why it makes none.
std::string made_of(std::string_view answer) {
  const auto reply = parse_reply(answer);
  if (!reply) return reply.error().message();
  const auto program = apply_reply(*reply, kProgram, kProgram);
  return program ? *program : program.error().message();
}

std::string with(std::string_view kernels) {
  std::string text = kProgram;
  return text.replace(text.find("int old;\n"), 9, kernels);
}

std::string as_crlf(std::string_view text) {
  std::string made;
  for (const char c : text)
    made += c == '\n' ? "\r\n" : std::string(1, c);
  return made;
}

TEST(Answers, MayEndTheirLinesAsOtherSystemsDo) {
  EXPECT_EQ(made_of(as_crlf(kDesign + kBody)), with("int fresh;\n"));
  EXPECT_EQ(made_of(as_crlf(kDesign + "```\n" + with("int fresh;\n") + "```\n")),
            with("int fresh;\n"));
  EXPECT_EQ(made_of(as_crlf(kDesign + "<<<<<<< SEARCH\nint old;\n=======\nint fresh;\n>>>>>>> "
                                      "REPLACE\n")),
            with("int fresh;\n"));
  EXPECT_EQ(made_of("\xEF\xBB\xBF" + kDesign + kBody), with("int fresh;\n"));
}

TEST(Answers, AreWhatComesBehindThoughts) {
  const std::string draft = "DIRECTIVE: GIN · producer-fused · per-peer signal · thread · whole\n" +
                            std::string("REGION kernels\n```\nint draft;\n```\n");
  for (const std::string marks : {"<thinking>|</thinking>", "|</think>\n\n"}) {
    const auto open = marks.substr(0, marks.find('|'));
    const auto close = marks.substr(marks.find('|') + 1);
    EXPECT_EQ(made_of(open + "Not yet `</think>`.\n" + draft + close + kDesign + kBody),
              with("int fresh;\n"))
        << marks;
  }
  EXPECT_EQ(made_of("<think>one line</think>" + kDesign + kBody), with("int fresh;\n"));
  EXPECT_EQ(made_of("<think>\n" + draft),
            "the answer ends in the middle of its thoughts: it was cut off");
  EXPECT_EQ(made_of(kDesign + "BECAUSE: I wrote `</think>` in the midst of a line\n" + kBody),
            with("int fresh;\n"));
  EXPECT_EQ(read_words("<think>long</think>\nThe links are idle.\n"), "The links are idle.");
  EXPECT_EQ(read_words("<think>long"), "");
  EXPECT_EQ(read_words(std::string(1U << 20U, 'x')).size(), 4000 + std::string("…").size());
  const auto notes = read_notes("<think>{\"notes\": [\"draft\"]}</think>{\"notes\": [\"final\"]}");
  ASSERT_TRUE(notes);
  EXPECT_EQ(*notes, std::vector<std::string>{"final"});
}

TEST(Answers, MayThinkTheirDesignOverUntilTheProgramComes) {
  EXPECT_EQ(made_of("Directive thoughts: which one?\n"
                    "DIRECTIVE: GIN · producer-fused · per-peer signal · thread · whole\n" +
                    kDesign + kBody),
            with("int fresh;\n"));
  EXPECT_EQ(
      made_of("指令 DIRECTIVE 如下\nDIRECTIVE： LSA, host-ordered, global barrier, block, whole\n"
              "REGION：kernels\n```\nint fresh;\n```\n"),
      with("int fresh;\n"));
}

TEST(Answers, OfSeveralProgramsAreNone) {
  const std::string other = "DIRECTIVE: GIN · producer-fused · per-peer signal · thread · whole\n";
  EXPECT_EQ(made_of(kDesign + kBody + kDesign + kBody),
            "the answer gives region 'kernels' twice: it must be one program");
  EXPECT_EQ(made_of(kDesign + kBody + other + "REGION launch\n```\nint x;\n```\n"),
            "the answer gives a directive twice: it must be one program");
  const std::string whole = "```\n" + with("int fresh;\n") + "```\n";
  EXPECT_EQ(made_of(kDesign + whole + "or\n" + whole),
            "the answer gives the whole program twice: it must be one program");
  // The design said again is no other one.
  EXPECT_EQ(made_of(kDesign + kBody + "So, as planned,\n" + kDesign), with("int fresh;\n"));
}

TEST(Answers, MayStandInFencesOfTheirOwn) {
  EXPECT_EQ(made_of("```\n" + kDesign + kBody + "```\n"), with("int fresh;\n"));
  EXPECT_EQ(made_of("````markdown\n" + kDesign + kBody + "````\n"), with("int fresh;\n"));
  EXPECT_EQ(made_of(kDesign + "REGION kernels\n~~~cuda\nint fresh;\n~~~\n"), with("int fresh;\n"));
  // A longer fence holds shorter ones.
  EXPECT_EQ(made_of(kDesign + "REGION kernels\n````cuda\n/*\n```\n*/\nint fresh;\n````\n"),
            with("/*\n```\n*/\nint fresh;\n"));
  EXPECT_EQ(made_of(kDesign +
                    "REGION kernels\n```cuda\nint fresh;\nREGION launch\n```cuda\nint x;\n```\n"),
            "a code block begins before the one above it is closed");
}

TEST(Answers, WithHalfAnEditSayWhichHalfIsMissing) {
  const auto edit = [](const std::string& text) { return made_of(kDesign + text); };
  EXPECT_EQ(edit("<<<<<<< SEARCH\nint old;\n>>>>>>> REPLACE\n"),
            "an edit has no line of '=' between SEARCH and REPLACE");
  EXPECT_EQ(edit("<<<<<<< SEARCH\nint old;\n=======\nint fresh;\n"),
            "the last edit is not closed (>>>>>>> REPLACE): the answer was cut off");
  EXPECT_EQ(edit("<<<<<<< SEARCH\nint old;\n<<<<<<< SEARCH\nint go;\n=======\n>>>>>>> REPLACE\n"),
            "an edit begins before the one above it ends");
  EXPECT_EQ(edit("=======\nint fresh;\n>>>>>>> REPLACE\n"),
            "the answer replaces no region (REGION name, then a code block)");
  EXPECT_EQ(edit("<<<<<<< SEARCH\nextern int frozen;\n=======\n>>>>>>> REPLACE\n"),
            "edit 1 changes frozen lines: 'extern int frozen;'");
  EXPECT_THAT(edit("<<<<<<< SEARCH\nint old;\n=======\n// cuco: evolve end\nint thawed;\n"
                   "// cuco: evolve begin more\n>>>>>>> REPLACE\n"),
              HasSubstr("frozen line"));
}

TEST(Answers, InAnotherRolesFormAreNoPrograms) {
  const std::string plans =
      "{\"plans\": [{\"title\": \"t\", \"directive\": \"none\", \"expected_gain\": 9}]}\n";
  const std::string tool_call =
      "{\"tool_calls\": [{\"type\": \"function\", \"function\": {\"name\": \"write_file\", "
      "\"arguments\": \"{\\\"path\\\": \\\"/etc/passwd\\\"}\"}}]}\n";
  for (const std::string& text : {plans, "```json\n" + plans + "```\n", tool_call,
                                  std::string("<tool_call>\n") + tool_call + "</tool_call>\n"}) {
    EXPECT_EQ(made_of(text), "the answer states no directive (DIRECTIVE: …)") << text;
    const auto alone = parse_reply(text, /*communicates=*/false);
    ASSERT_FALSE(alone) << text;
    EXPECT_EQ(alone.error().message(),
              "the answer replaces no region (REGION name, then a code block)");
  }
  for (const std::string& text : {kDesign + kBody, tool_call, std::string("{\"shapes\": [[1]]}"),
                                  std::string("{\"plans\": {\"0\": {}}}")}) {
    EXPECT_FALSE(read_plans(text, {})) << text;
    EXPECT_FALSE(read_shapes(text)) << text;
    EXPECT_FALSE(read_notes(text)) << text;
  }
}

TEST(Answers, WithLettersThatOnlyLookAlikeChangeNothing) {
  EXPECT_EQ(made_of(kDesign + "REGION k\xD0\xB5rnels\n```\nint x;\n```\n"),
            "no evolve region 'k\xD0\xB5rnels'");
  // A marker with a character of no width is a comment, and what follows stays in its region.
  EXPECT_EQ(
      made_of(kDesign + "REGION kernels\n```\n// cuco:\xE2\x80\x8B evolve end\nint x;\n```\n"),
      with("// cuco:\xE2\x80\x8B evolve end\nint x;\n"));
  EXPECT_EQ(
      made_of(kDesign + "REGION kernels\n```\nint a;\n/* \xE2\x80\xAE } \xE2\x81\xA6 */\n```\n"),
      "line 4 has a character that changes the direction in which text is read");
}

TEST(Answers, WithBytesThatAreNoTextMakeNoProgram) {
  const std::string nul =
      kDesign + "REGION kernels\n```\nint a;\n// " + std::string(1, '\0') + "\nint b;\n```\n";
  EXPECT_EQ(made_of(nul), "line 4 has a byte that is no text");
  EXPECT_EQ(made_of(kDesign + "REGION kernels\n```\nint a; // \x1B[2J\n```\n"),
            "line 3 has a byte that is no text");
  EXPECT_EQ(made_of(kDesign + "REGION kernels\n```\nint a; // \xFF\n```\n"),
            "line 3 has a byte that is no text");
}

TEST(Answers, OfAnySizeGiveShortReasonsAndNoHugeProgram) {
  const std::string much(4U << 20U, 'y');
  EXPECT_EQ(made_of(kDesign + "REGION kernels\n```\n// " + much + "\n```\n"),
            "the program has 4.0 MiB, more than the 256 KiB that one may have");
  const auto reply = parse_reply(kDesign + "BECAUSE: " + much + "\n" + kBody);
  ASSERT_TRUE(reply);
  EXPECT_LT(reply->because.size(), 1100U);
  EXPECT_EQ(shortened("aä", 2), "a…");
  EXPECT_EQ(shortened("aä", 3), "aä");
  const std::string plans = "{\"plans\": [{\"title\": \"" + much +
                            "\", \"directive\": \"none\", \"needs\": [\"" + much + "\"]}]}";
  const auto read = read_plans(plans, {});
  ASSERT_TRUE(read) << read.error().message().substr(0, 200);
  EXPECT_LT(read->front().reason.size() + read->front().preconditions.front().size(), 10000U);
}

}  // namespace
}  // namespace cuco::agents
