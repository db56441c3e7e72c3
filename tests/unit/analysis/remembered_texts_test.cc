// SPDX-License-Identifier: Apache-2.0
#include "analysis/remembered_texts.h"

#include <gtest/gtest.h>

namespace cuco::analysis {
namespace {

TEST(RememberedTexts, GiveBackWhatWasMadeOfATextAndNothingElse) {
  RememberedTexts texts(100);
  texts.add(sha256("a"), "made of a");
  EXPECT_EQ(texts.find(sha256("a")), "made of a");
  EXPECT_EQ(texts.find(sha256("b")), std::nullopt);
}

TEST(RememberedTexts, ForgetWhatWasNotAskedForTheLongest) {
  RememberedTexts texts(20);
  texts.add(sha256("a"), std::string(8, 'a'));
  texts.add(sha256("b"), std::string(8, 'b'));
  EXPECT_TRUE(texts.find(sha256("a")));
  texts.add(sha256("c"), std::string(8, 'c'));
  EXPECT_TRUE(texts.find(sha256("a")));
  EXPECT_FALSE(texts.find(sha256("b")));
  texts.add(sha256("d"), std::string(21, 'd'));
  EXPECT_FALSE(texts.find(sha256("d")));
  texts.add(sha256("e"), "e");
  EXPECT_TRUE(texts.find(sha256("e")));
}

}  // namespace
}  // namespace cuco::analysis
