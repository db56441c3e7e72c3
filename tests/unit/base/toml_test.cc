// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <gtest/gtest.h>

namespace cuco {
namespace {

std::string message_for(std::string_view text) {
  const auto checked = parse_toml(text, "a.toml");
  return checked ? "" : checked.error().message();
}

TEST(ParseToml, LetsQuotedAndCommentedCharactersPass) {
  EXPECT_EQ(message_for(
                "# größe\na = \"µ\\\"µ\" # ✓\nb = 'µ\\'\nc = \"\"\"µ\n\"µ\"\"\"\nd = '''\nµ'''\n"),
            "");
}

TEST(ParseToml, NamesTheLineOfWhatIsNot) {
  EXPECT_EQ(message_for("a = 1\nµ = 2\n"), "a.toml:2: non-ASCII characters need quotes");
  EXPECT_EQ(message_for("a = \"x\"\n\"b\" = µ\n"), "a.toml:2: non-ASCII characters need quotes");
  EXPECT_EQ(message_for("a = \"unclosed\nµ"), "a.toml:2: non-ASCII characters need quotes");
  EXPECT_EQ(message_for("a = \"\xff\""), "a.toml:1: not plain UTF-8 text");
}

TEST(ParseToml, MalformedTextIsAnErrorNotAnAbort) {
  for (const char* text :
       {"[.x]", "[]", "a = 1979-05-27T)7:32:00Z", "a =", "a = 1\na = 2", "[[[", "a = {"}) {
    EXPECT_TRUE(message_for(text).starts_with("a.toml:")) << text;
  }
}

}  // namespace
}  // namespace cuco
