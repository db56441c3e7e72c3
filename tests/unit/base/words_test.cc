// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco {
namespace {
using testing::ElementsAre;

TEST(Words, AreQuotedAsInAShellAndNothingIsExpanded) {
  EXPECT_THAT(
      *split_words("claude  -p 'two words' a\"b c\"d \"\" x\\ y '\\' \"\\\"\" $HOME *"),
      ElementsAre("claude", "-p", "two words", "ab cd", "", "x y", "\\", "\"", "$HOME", "*"));
  EXPECT_THAT(*split_words(" \t\n"), ElementsAre());
}

TEST(Words, WithAnOpenQuoteAreRefused) {
  EXPECT_EQ(split_words("a 'b").error().message(), "no closing '");
  EXPECT_EQ(split_words("a \"b").error().message(), "no closing \"");
  EXPECT_FALSE(split_words("a\\"));
}

TEST(Words, SurviveTheWayThereAndBack) {
  Rng rng(3);
  const std::string alphabet = "ab '\"\\$\n";
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> words(rng.below(4));
    for (auto& word : words) {
      for (std::uint64_t n = rng.below(6); n > 0; --n)
        word += alphabet[rng.below(alphabet.size())];
    }
    const auto read = split_words(join_words(words));
    ASSERT_TRUE(read) << join_words(words);
    EXPECT_EQ(*read, words);
  }
}

}  // namespace
}  // namespace cuco
