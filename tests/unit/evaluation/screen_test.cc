// SPDX-License-Identifier: Apache-2.0
#include "evaluation/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/elf.h"
#include "system/files.h"

namespace cuco::evaluation {
namespace {

using testing::HasSubstr;

const std::string kSeed =
    "// cuco: evolve begin a\n"
    "int x;\n"
    "// cuco: evolve end\n"
    "extern \"C\" int cuco_run(void* state) { return run(state); }\n";

std::string with_region(const std::string& body) {
  return "// cuco: evolve begin a\n" + body + "// cuco: evolve end\n" +
         kSeed.substr(kSeed.find("extern"));
}

TEST(Screen, EvolveRegionsMayChange) {
  EXPECT_FALSE(screen_source(kSeed, with_region("double y;\n#define BLOCK 128\n"))->has_value());
}

TEST(Screen, FrozenBytesMayNot) {
  std::string edited = kSeed;
  edited.replace(edited.find("return"), 6, "RETURN");
  const auto rejected = *screen_source(kSeed, edited);
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->rule, "frozen bytes");
  EXPECT_EQ(rejected->where.line, 4);
}

TEST(Screen, RegionsMayNotDisappear) {
  EXPECT_TRUE(screen_source(kSeed, "int x;\n")->has_value());
}

TEST(Screen, MacrosMayNotTakeNamesFromFrozenCode) {
  for (const char* trick :
       {"#define run(x) 0\n", "#  define  cuco_run other\n", "#undef run\n", "%:define run(x) 0\n",
        "#def\\\nine run(x) 0\n", "# \\ \t\ndefine run(x) 0\n"}) {
    const auto rejected = *screen_source(kSeed, with_region(trick));
    ASSERT_TRUE(rejected.has_value()) << trick;
    EXPECT_EQ(rejected->rule, "macro");
  }
}

TEST(Elf, ReadsARealLibrary) {
  const std::string bytes = *system::read_file("/proc/self/exe");
  const auto facts = read_elf(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_FALSE(facts->undefined.empty());
  EXPECT_GE(facts->init_entries, 1U);
}

TEST(Elf, SurvivesAnyTruncationAndAnyByte) {
  const std::string whole = (*system::read_file("/proc/self/exe"));
  EXPECT_FALSE(read_elf({}));
  for (const std::size_t size : {1U, 16U, 63U, 64U, 1000U, 4096U}) {
    EXPECT_FALSE(read_elf(std::as_bytes(std::span(whole).first(size)))) << size;
  }
  std::string broken = whole;
  for (std::size_t i = 0; i < 64; ++i) {
    broken[i] = static_cast<char>(~broken[i]);
    static_cast<void>(
        read_elf(std::as_bytes(std::span(broken))));  // an answer or an error, no crash
    broken[i] = whole[i];
  }
}

TEST(Elf, ScreenNamesAMissingEntryPoint) {
  const std::string bytes = *system::read_file("/proc/self/exe");
  const auto rejected = screen_object(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(rejected && rejected->has_value());
  EXPECT_EQ((*rejected)->rule, "entry points");
  EXPECT_THAT((*rejected)->reason, HasSubstr("cuco_setup"));
}

}  // namespace
}  // namespace cuco::evaluation
