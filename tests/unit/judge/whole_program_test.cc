// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/whole_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

Result<std::optional<WholeProgram>> load(const std::string& text) {
  const system::TempFolder folder = *system::TempFolder::create();
  EXPECT_TRUE(system::write_file(folder.path() / "workload.toml", text));
  return load_whole_program(folder.path());
}

TEST(WholeProgram, IsWhatHasAWholeTable) {
  const auto split = load("name = \"a\"\n");
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->has_value());
  const auto whole =
      load("name = \"a\"\nranks = 2\ntopology = \"nvlink4\"\n[whole]\nargs = [\"--n\", \"4\"]\n");
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->ranks, 2);
  EXPECT_THAT((*whole)->args, testing::ElementsAre("--n", "4"));
}

TEST(WholeProgram, ErrorsNameTheLine) {
  const auto key = load("name = \"a\"\nranks = 2\ntopology = \"t\"\n[whole]\narg = 1\n");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message(), testing::HasSubstr("workload.toml:5: [whole] has the keys"));
  EXPECT_FALSE(load("[whole]\n"));
  EXPECT_FALSE(load_whole_program("/nonexistent"));
}

TEST(WholeProgram, SaysHowItIsCompared) {
  const std::string head = "name = \"a\"\nranks = 2\ntopology = \"t\"\n[whole]\n";
  const auto whole = load(head +
                          "exact = false\ntype = \"bf16\"\nreduction = 4096\n"
                          "[[whole.copies]]\nbytes = 64\ntype = \"exact\"\n");
  ASSERT_TRUE(whole && *whole);
  const ComparisonRules& rules = (*whole)->rules;
  EXPECT_FALSE(rules.exact);
  EXPECT_EQ(rules.ranks, 2);
  ASSERT_EQ(rules.declared.size(), 2U);
  EXPECT_EQ(rules.declared[0].bytes, 64U);
  EXPECT_EQ(rules.declared[0].type, ElementType::Exact);
  EXPECT_EQ(rules.declared[1].type, ElementType::Bfloat16);
  EXPECT_EQ(rules.declared[1].reduction, 4096);
  for (const char* wrong :
       {"exact = 1", "type = \"float\"", "reduction = 0", "reduction = \"many\"", "copies = 3",
        "[[whole.copies]]\ntype = \"fp32\"", "[[whole.copies]]\nbytes = 4\nsize = 2", "args = 3"})
    EXPECT_FALSE(load(head + wrong + "\n")) << wrong;
}

}  // namespace
}  // namespace cuco::judge
