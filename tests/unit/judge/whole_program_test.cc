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
  EXPECT_THAT(key.error().message(), testing::HasSubstr("workload.toml:5: [whole] has two keys"));
  EXPECT_FALSE(load("[whole]\n"));
  EXPECT_FALSE(load_whole_program("/nonexistent"));
}

}  // namespace
}  // namespace cuco::judge
