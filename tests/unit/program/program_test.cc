// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "program/diff.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::program {
namespace {

constexpr std::string_view kProgram =
    "#include <a>\n"
    "// cuco: evolve begin kernels\n"
    "int k;\n"
    "// cuco: evolve end\n"
    "int main() {\n"
    "  // cuco: evolve begin run\n"
    "  // cuco: evolve end\n"
    "}\n";

TEST(Regions, AreFoundWithNamesAndBodies) {
  const auto regions = find_regions(kProgram);
  ASSERT_TRUE(regions);
  ASSERT_EQ(regions->size(), 2U);
  EXPECT_EQ((*regions)[0].name, "kernels");
  EXPECT_EQ(kProgram.substr((*regions)[0].begin, (*regions)[0].end - (*regions)[0].begin),
            "int k;\n");
  EXPECT_EQ((*regions)[1].first_line, 6);
}

TEST(Regions, AreRefusedWhenNestedUnclosedOrDoubled) {
  EXPECT_FALSE(find_regions("// cuco: evolve begin a\n// cuco: evolve begin b\n"));
  EXPECT_FALSE(find_regions("// cuco: evolve begin a\n"));
  EXPECT_FALSE(find_regions("// cuco: evolve end\n"));
  EXPECT_FALSE(find_regions("// cuco: evolve begin\n// cuco: evolve end\n"));
  EXPECT_FALSE(
      find_regions("// cuco: evolve begin a\n// cuco: evolve end\n"
                   "// cuco: evolve begin a\n// cuco: evolve end\n"));
}

TEST(Regions, AreReplacedWithoutTouchingTheRest) {
  const std::vector<Replacement> replacements{{"run", "  go();"}};
  const auto edited = replace_regions(kProgram, replacements);
  ASSERT_TRUE(edited);
  EXPECT_NE(edited->find("begin run\n  go();\n  // cuco: evolve end\n}\n"), std::string::npos);
  const auto frozen = find_frozen_edit(kProgram, *edited);
  ASSERT_TRUE(frozen);
  EXPECT_FALSE(frozen->has_value());
}

TEST(Regions, RefuseUnknownNamesAndSmuggledMarkers) {
  const std::vector<Replacement> unknown{{"x", ""}};
  EXPECT_EQ(replace_regions(kProgram, unknown).error().message(), "no evolve region 'x'");
  const std::vector<Replacement> smuggled{{"run", "// cuco: evolve end\nint free;\n"}};
  EXPECT_FALSE(replace_regions(kProgram, smuggled));
}

TEST(FrozenBytes, NameTheFirstEditedLine) {
  std::string edited(kProgram);
  edited.replace(edited.find("int k;\n"), 7, "int k;\nint l;\n");
  edited.replace(edited.find("main"), 4, "niam");
  const auto frozen = find_frozen_edit(kProgram, edited);
  ASSERT_TRUE(frozen);
  ASSERT_TRUE(frozen->has_value());
  EXPECT_EQ((*frozen)->line, 6);
  EXPECT_EQ((*frozen)->was, "int main() {");
  EXPECT_EQ((*frozen)->is, "int niam() {");
}

TEST(FrozenBytes, NoticeARenamedRegion) {
  std::string edited(kProgram);
  edited.replace(edited.find("kernels"), 7, "colonel");
  const auto frozen = find_frozen_edit(kProgram, edited);
  ASSERT_TRUE(frozen);
  EXPECT_TRUE(frozen->has_value());
}

TEST(Tokens, IgnoreCommentsAndLayout) {
  EXPECT_THAT(tokens("a+=b; // x\nk<<<g, 1>>>(1.5e-3f /*y*/, \"// no\", R\"(a\"b)\");"),
              testing::ElementsAre("a", "+=", "b", ";", "k", "<<<", "g", ",", "1", ">>>", "(",
                                   "1.5e-3f", ",", "\"// no\"", ",", "R\"(a\"b)\"", ")", ";"));
  EXPECT_THAT(tokens("#define A \\\n 1\nint b;"),
              testing::ElementsAre("#", "define", "A", "1", "\n", "int", "b", ";"));
}

TEST(Tokens, HashSeesCodeOnly) {
  const auto hash = [](std::string text) {
    return normalised_hash(single_file("p.cu", std::move(text)));
  };
  EXPECT_EQ(hash("int a; // one\n"), hash("int\n a ;/* two */"));
  EXPECT_NE(hash("int a;"), hash("int b;"));
  EXPECT_NE(hash("#define A 1\n"), hash("#define A\n1\n"));
}

TEST(Tokens, EndOnAnyText) {
  Rng rng(5);
  const std::string alphabet = "ab1.'\"\\/*\n#R()<>";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(40); n > 0; --n)
      text += alphabet[rng.below(alphabet.size())];
    (void)tokens(text);
  }
}

std::string random_text(Rng& rng) {
  std::string text;
  for (std::uint64_t n = rng.below(30); n > 0; --n) {
    text += std::string(1, static_cast<char>('a' + rng.below(4))) + "\n";
  }
  return text;
}

/// Applies a unified diff with the standard tool: the oracle for our own writer.
std::string patched(const std::string& before, const std::string& diff) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("cuco_diff_" + std::to_string(static_cast<unsigned>(getpid())));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "f") << before;
  std::ofstream(folder / "d") << diff;
  const auto command = "cd " + folder.string() + " && git apply -p1 d 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream in(folder / "f");
  std::stringstream text;
  text << in.rdbuf();
  std::filesystem::remove_all(folder);
  return status == 0 ? text.str() : "git apply failed";
}

TEST(Diff, IsEmptyForEqualTexts) {
  EXPECT_EQ(unified_diff("f", "a\n", "a\n"), "");
}

TEST(Diff, ReadsWell) {
  EXPECT_EQ(unified_diff("f", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n"),
            "--- a/f\n+++ b/f\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n");
}

TEST(Diff, AppliesBackToTheNewText) {
  Rng rng(3);
  for (int i = 0; i < 30; ++i) {
    const auto before = "start\n" + random_text(rng);
    const auto after = "start\n" + random_text(rng);
    if (before == after) continue;
    const auto diff = unified_diff("f", before, after);
    EXPECT_EQ(patched(before, diff), after) << diff;
  }
}

TEST(Diff, OfTextsWithLittleInCommonTakesNoMemoryToSpeakOf) {
  std::string much = "start\n";
  for (int i = 0; i < 100000; ++i)
    much += i % 2 == 0 ? "\n" : ";\n";
  const std::string before = "start\n1\n2\n;\n3\nend\n";
  const auto diff = unified_diff("f", before, much + "end\n");
  EXPECT_EQ(patched(before, diff), much + "end\n");
}

TEST(Regions, AreCucosBlocksTooWhereTheyPairUp) {
  const std::string text =
      "int a;\n// EVOLVE-BLOCK-START\nint b;\n// EVOLVE-BLOCK-END\nint c;\n"
      "  // EVOLVE-BLOCK-START\nint d;\n  // EVOLVE-BLOCK-END\nint main() {}\n";
  const auto regions = find_regions(text);
  ASSERT_TRUE(regions) << regions.error().message();
  ASSERT_EQ(regions->size(), 2U);
  EXPECT_EQ((*regions)[0].name, "block 1");
  EXPECT_EQ((*regions)[1].name, "block 2");
  const std::vector<Replacement> changes = {{"block 2", "int e;"}};
  const auto changed = replace_regions(text, changes);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*find_frozen_edit(text, *changed));
  std::string main_changed = *changed;
  main_changed.replace(main_changed.find("int c;"), 6, "int f;");
  EXPECT_TRUE((*find_frozen_edit(text, main_changed)).has_value());
  // A body that opens or closes blocks would move the frozen parts.
  const std::vector<Replacement> hostile = {{"block 1", "// EVOLVE-BLOCK-END\nint x;"}};
  EXPECT_FALSE(replace_regions(text, hostile));
  EXPECT_TRUE(find_regions("// EVOLVE-BLOCK-START\n// EVOLVE-BLOCK-START\n")->empty());
  EXPECT_TRUE(find_regions("// EVOLVE-BLOCK-END\n// EVOLVE-BLOCK-START\n")->empty());
}

}  // namespace
}  // namespace cuco::program
