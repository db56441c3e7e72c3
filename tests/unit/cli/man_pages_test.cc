// SPDX-License-Identifier: Apache-2.0
#include "cli/manual/man_pages.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/commands/commands.h"

namespace cuco::cli {
namespace {

using ::testing::HasSubstr;

TEST(ManPages, EveryCommandHasOneAndTheMainOneNamesThemAll) {
  const auto pages = man_pages(all_commands(), "1.2.3");
  ASSERT_EQ(pages.size(), all_commands().size() + 1);
  EXPECT_EQ(pages.front().path, "cuco.1");
  EXPECT_THAT(pages.front().text, HasSubstr(".TH CUCO 1 \"\" \"cuco 1.2.3\""));
  for (std::size_t i = 0; i < all_commands().size(); ++i) {
    const std::string name(all_commands()[i].name);
    EXPECT_EQ(pages[i + 1].path, "cuco-" + name + ".1");
    EXPECT_THAT(pages[i + 1].text, HasSubstr("cuco\\-" + name + " \\- "));
    EXPECT_THAT(pages.front().text, HasSubstr("cuco\\-" + name + "(1)"));
  }
}

TEST(ManPages, TextIsNoRequest) {
  const std::vector<std::string_view> requests = {".TH", ".SH", ".TP", ".B ", ".nf", ".fi"};
  for (const auto& page : man_pages(all_commands(), "1.2.3")) {
    for (const std::string_view line : split(page.text, '\n')) {
      EXPECT_FALSE(line.starts_with('\'')) << page.path << ": " << line;
      if (!line.starts_with('.')) continue;
      EXPECT_THAT(requests, ::testing::Contains(line.substr(0, 3))) << page.path << ": " << line;
    }
  }
}

TEST(ManPages, OptionsKeepTheirHyphens) {
  const auto pages = man_pages(all_commands(), "1.2.3");
  const auto found = std::ranges::find(pages, "cuco-best.1", &program::File::path);
  ASSERT_NE(found, pages.end());
  EXPECT_THAT(found->text, HasSubstr("\\-\\-force"));
}

}  // namespace
}  // namespace cuco::cli
