// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <utility>

#include <gtest/gtest.h>

namespace cuco {
namespace {

TEST(Text, TrimDropsBlanksAtBothEnds) {
  EXPECT_EQ(trim("  a b\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

template <class Text>
concept CanBeSplit = requires(Text&& text) { split(std::forward<Text>(text), ','); };

TEST(Text, SplitRefusesATemporary) {
  static_assert(CanBeSplit<const std::string&> && CanBeSplit<std::string_view>);
  static_assert(!CanBeSplit<std::string>, "its parts would point into freed memory");
}

TEST(Text, NearestFindsAMisspellingAndNothingFarAway) {
  const std::vector<std::string> words = {"optimize", "run", "doctor"};
  EXPECT_EQ(nearest("optimise", words), "optimize");
  EXPECT_EQ(nearest("rum", words), "run");
  EXPECT_EQ(nearest("zzzzz", words), std::nullopt);
}

TEST(Text, HumanUnitsKeepThreeDigits) {
  EXPECT_EQ(human_bytes(65536), "64 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(31.44e-6), "31.4 us");
  EXPECT_EQ(human_seconds(0.0012), "1.20 ms");
}

TEST(LineOfBadByte, FindsControlCharactersAndBrokenUtf8) {
  EXPECT_EQ(line_of_bad_byte("plain\ttext\r\nµ ✓ 🂡\n"), std::nullopt);
  EXPECT_EQ(line_of_bad_byte(std::string_view("a\nb\0c", 5)), 2U);
  EXPECT_EQ(line_of_bad_byte("\x7f"), 1U);
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_EQ(line_of_bad_byte(std::string("\n\n") + bad), 3U);
  }
}

}  // namespace
}  // namespace cuco
