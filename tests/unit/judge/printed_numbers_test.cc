// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/printed_numbers.h"

#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

bool close(std::string_view a, std::string_view b, double relative = 1e-5) {
  return is_close(parse_line(a), parse_line(b), relative);
}

TEST(PrintedNumbers, AreThoseWithAPointOrAnExponent) {
  EXPECT_EQ(parse_line("rank 3: sum = -12.50, max 1e-3 of 64").text,
            "rank 3: sum = #, max # of 64");
  EXPECT_EQ(parse_line("cuco 1.2.3, v0.4 at 0x1.8p3 in a.5").numbers.size(), 0U);
  const PrintedLine line = parse_line("x 2.50e+01.");
  ASSERT_EQ(line.numbers.size(), 1U);
  EXPECT_EQ(line.numbers[0].value, 25);
  EXPECT_NEAR(line.numbers[0].last_place, 0.1, 1e-12);
}

TEST(PrintedNumbers, MayDifferInTheirLastPlace) {
  EXPECT_TRUE(close("sum 12.50", "sum 12.51"));
  EXPECT_FALSE(close("sum 12.50", "sum 12.52"));
  EXPECT_TRUE(close("sum   9.99", "sum 10.00"));
  EXPECT_TRUE(close("1.234567890e+05", "1.234567999e+05"));
  EXPECT_FALSE(close("1.234567890e+05", "1.235567999e+05"));
}

TEST(PrintedNumbers, TextAndWholeNumbersMayNot) {
  EXPECT_FALSE(close("sum 12.5", "sun 12.5"));
  EXPECT_FALSE(close("10000 elements, 0.5", "10001 elements, 0.5"));
  EXPECT_FALSE(close("0.5 0.5", "0.5"));
  EXPECT_FALSE(close("nan", "0.0"));
}

TEST(PrintedNumbers, ErrorsBelowTheToleranceAreAlike) {
  EXPECT_TRUE(close("max error 1.2e-07", "max error 8.9e-06"));
  EXPECT_FALSE(close("max error 1.2e-07", "max error 8.9e-04"));
  EXPECT_FALSE(close("value 1.2e-07", "value 8.9e-06"));
}

}  // namespace
}  // namespace cuco::judge
