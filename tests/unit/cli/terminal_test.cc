// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.h"

#include <gtest/gtest.h>

#include "cli/terminal/painter.h"
#include "cli/terminal/rows.h"

namespace cuco::cli {
namespace {

TEST(DisplayWidth, CountsCodePointsAndSkipsColours) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("✓ – ▁"), 5);
  EXPECT_EQ(display_width("\033[32m✓\033[0m"), 1);
}

TEST(Clipped, KeepsShortTextAndEndsLongTextWithAnEllipsis) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcd", 3), "ab…");
  EXPECT_EQ(clipped("\033[32mabcd\033[0m", 3), "\033[32mab…\033[0m");
}

TEST(Wrapped, IndentsTheLinesThatFollow) {
  EXPECT_EQ(wrapped({"aa", "bb", "cc"}, 3, 8), "aa bb\n   cc\n");
  EXPECT_EQ(wrapped({"longer than the width", "b"}, 2, 6), "longer than the width\n  b\n");
  EXPECT_EQ(wrapped({}, 3, 8), "\n");
}

TEST(Table, AlignsColumnsByWhatIsSeen) {
  Table table({Table::Align::Left, Table::Align::Right});
  table.row({"\033[1mname\033[0m", "12", "x"});
  table.row({"µ", "3", ""});
  EXPECT_EQ(table.text(1), " \033[1mname\033[0m  12  x\n µ      3\n");
}

TEST(Terminal, PlainWithoutATerminal) {
  const Terminal terminal(stdout, stderr, {});
  EXPECT_EQ(terminal.tick(), "✓");
  EXPECT_EQ(terminal.bar(0.5, 4), "[██  ]");
  const Terminal coloured(stdout, stderr, {.colour = true});
  EXPECT_EQ(coloured.tick(), "\033[32m✓\033[0m");
}

/// What arrives at a file.
std::string written(Terminal::Settings settings, void (*say)(Terminal&)) {
  std::FILE* file = std::tmpfile();
  Terminal terminal(file, file, settings);
  say(terminal);
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(Terminal, ShowsWhatATerminalWouldObey) {
  const auto say = [](Terminal& terminal) {
    terminal.write("\033[1A\033[2Kaccepted\r");
    terminal.error("kernel \033[31mk\x07");
    terminal.note("{}", "line \xff");
  };
  EXPECT_EQ(written({}, say),
            "\\u001b[1A\\u001b[2Kaccepted\\u000dcuco: kernel \\u001b[31mk\\u0007\n"
            "line \\u00ff\n");
}

TEST(Terminal, KeepsItsOwnColoursAlone) {
  const auto say = [](Terminal& terminal) { terminal.write(terminal.tick() + " \033[8mhidden"); };
  EXPECT_EQ(written({.colour = true}, say), "\033[32m✓\033[0m \\u001b[8mhidden");
}

TEST(Terminal, PassesOnWhatAProgramPrinted) {
  const auto say = [](Terminal& terminal) { terminal.pass_on("\033[2K\xff"); };
  EXPECT_EQ(written({}, say), "\033[2K\xff");
}

TEST(Terminal, KeepsPaintedRowsBelowWhatIsWritten) {
  const auto say = [](Terminal& terminal) {
    terminal.paint({"one", "two"});
    terminal.paint({"one", "two"});  // nothing new, nothing drawn
    terminal.note("news");
    terminal.clear_progress();
  };
  EXPECT_EQ(written({.live = true}, say),
            "\033[?2026hone\033[K\r\ntwo\033[K\033[J\033[?2026l"
            "\r\033[1Anews\033[K\none\033[K\r\ntwo\033[K\033[J"
            "\r\033[1A\033[J");
  EXPECT_EQ(written({}, say), "news\n");
  EXPECT_EQ(written({.live = true, .verbosity = Verbosity::Quiet}, say), "");
}

TEST(Terminal, DropsALiveLineWhenSomethingIsWritten) {
  const auto say = [](Terminal& terminal) {
    terminal.progress("working …");
    terminal.note("news");
  };
  EXPECT_EQ(written({.live = true}, say), "working …\033[K\033[J\rnews\033[K\n\033[J");
}

TEST(OneLine, HasNothingThatATerminalObeysNorThatIsWider) {
  EXPECT_EQ(one_line("a\tb\n  c\x1b[2K "), "a b c\\u001b[2K");
  EXPECT_EQ(one_line("µs · 4 × ≥ ✓ Ж"), "µs · 4 × ≥ ✓ Ж");
  EXPECT_EQ(one_line("中 e\u0301 \u202E x \U0001F600"), "? e? \\u202e x ?");
}

TEST(Row, IsCutWithoutLosingItsStyles) {
  const Row row{{Style::Good, "abc"}, {Style::Dim, "def"}};
  EXPECT_EQ(row.clipped_to(6), row);
  EXPECT_EQ(row.clipped_to(4), (Row{{Style::Good, "abc"}, {Style::Dim, "…"}}));
  EXPECT_EQ(row.clipped_to(3), (Row{{Style::Good, "ab…"}}));
}

TEST(Painter, RendersInColourOnlyWhereThatIsWanted) {
  const std::vector<Row> rows{{{Style::Good, "12345"}}, {{Style::Plain, "b"}}, {}};
  const Terminal plain(stdout, stderr, {});
  EXPECT_EQ(rendered(rows, {5, 3}, plain), (std::vector<std::string>{"123…", "b"}));
  const Terminal coloured(stdout, stderr, {.colour = true});
  EXPECT_EQ(rendered(rows, {80, 2}, coloured), (std::vector<std::string>{"\033[32m12345\033[0m"}));
}

TEST(Terminal, BreaksRemarksBetweenWordsOnATerminal) {
  const auto say = [](Terminal& terminal) {
    terminal.error("a.cu:3: " + std::string(60, 'x') + " two words that go on\n    fix: it");
  };
  const std::string text = "cuco: a.cu:3: " + std::string(60, 'x') + " two";
  EXPECT_EQ(written({}, say), text + " words that go on\n    fix: it\n");
  EXPECT_EQ(written({.live = true}, say), text + "\n  words that go on\n    fix: it\n");
}

TEST(DurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(12.9), "12 s");
  EXPECT_EQ(duration_text(61), "1 m 01 s");
  EXPECT_EQ(duration_text(3900), "1 h 05 m");
}

TEST(Hanging, GoesOnBelowTheLastColumnOfTheLeftHalf) {
  EXPECT_EQ(hanging("best    #2  a design that is long", 20),
            "best    #2  a design\n        that is long")
      << "'a' begins in the right half";
  EXPECT_EQ(hanging("short\n  one two three", 12), "short\n  one two\n  three");
  EXPECT_EQ(hanging("one two three", 8), "one two\n  three");
  EXPECT_EQ(hanging("fits", 4), "fits");
  EXPECT_EQ(hanging("", 4), "");
}

TEST(Hanging, KeepsTogetherWhatStandsApart) {
  EXPECT_EQ(hanging("done  why cuco explain 3     go on cuco resume 3", 40),
            "done  why cuco explain 3\n      go on cuco resume 3");
}

TEST(Hanging, CountsNoColumnsForColours) {
  EXPECT_EQ(hanging("\033[2mdim\033[0m x", 5), "\033[2mdim\033[0m x");
}

}  // namespace
}  // namespace cuco::cli
