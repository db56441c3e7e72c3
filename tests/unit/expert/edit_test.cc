// SPDX-License-Identifier: Apache-2.0
// How generated lines are broken.
#include "expert/edit.h"

#include <gtest/gtest.h>

namespace cuco::expert {
namespace {

const std::string kFill(40, 'x');

TEST(ShortLines, AreBrokenUnderTheInnermostParenthesis) {
  EXPECT_EQ(with_short_lines("  call(" + kFill + ", " + kFill + ", " + kFill + ");"),
            "  call(" + kFill + ", " + kFill + ",\n       " + kFill + ");");
  EXPECT_EQ(with_short_lines("  for (" + kFill + "; " + kFill + "; " + kFill + ") {"),
            "  for (" + kFill + "; " + kFill + ";\n       " + kFill + ") {");
}

TEST(ShortLines, GoOnWhereTheLineBeforeLeftOff) {
  EXPECT_EQ(with_short_lines("void f(\n    " + kFill + ", " + kFill + ", " + kFill + ");"),
            "void f(\n    " + kFill + ", " + kFill + ",\n    " + kFill + ");");
}

TEST(ShortLines, AreBrokenBehindAParenthesisThatLeavesTooLittleRoom) {
  const std::string head = "  " + kFill + kFill + "(";
  EXPECT_EQ(with_short_lines(head + "first, second, third, fourth, fifth, sixth, seventh);"),
            head + "first, second,\n" + std::string(head.size(), ' ') + "third, fourth,\n" +
                std::string(head.size(), ' ') + "fifth, sixth,\n" + std::string(head.size(), ' ') +
                "seventh);");
  EXPECT_EQ(with_short_lines(head + kFill + ", " + kFill + ");"),
            head + "\n      " + kFill + ", " + kFill + ");");
}

TEST(ShortLines, LeaveOthersAlone) {
  const auto own = "  theirs(" + kFill + ", " + kFill + ", " + kFill + ");";
  EXPECT_EQ(with_short_lines(own, "a\n" + own + "\nb"), own);
  EXPECT_EQ(with_short_lines(own + "  // why"), own + "  // why");
  // A macro ends with its line.
  EXPECT_EQ(with_short_lines("#define M \\\n" + own), "#define M \\\n" + own);
  EXPECT_NE(with_short_lines("#define M\n" + own), "#define M\n" + own);
}

}  // namespace
}  // namespace cuco::expert
