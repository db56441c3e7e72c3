// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/shape_formula.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::analysis {
namespace {

std::vector<ShapeParameters> shapes() {
  return {{{"m", 160}, {"n", 416}, {"k", 128}}, {{"m", 208}, {"n", 512}, {"k", 80}}};
}

std::string fitted(const std::vector<std::int64_t>& values) {
  const auto formula = fit_formula(shapes(), values);
  return formula ? to_text(*formula) : "none";
}

TEST(ShapeFormula, PrefersWhatIsSimple) {
  EXPECT_EQ(fitted({64, 64}), "64");
  EXPECT_EQ(fitted({416, 512}), "n");
  EXPECT_EQ(fitted({128 * 128, 128 * 80}), "128 * k");
  EXPECT_EQ(fitted({2 * 160 * 416, 2 * 208 * 512}), "2 * m * n");
  EXPECT_EQ(fitted({208, 256}), "n / 2");
  EXPECT_EQ(fitted({-160, -208}), "-m");
  EXPECT_EQ(fitted({0, 0}), "0");
}

TEST(ShapeFormula, SaysNothingWhereThereIsNone) {
  EXPECT_EQ(fitted({7, 12}), "none");
  EXPECT_EQ(fitted({0, 5}), "none");
  EXPECT_FALSE(fit_formula({}, {}));
}

TEST(ShapeFormula, IsComputedForOtherShapes) {
  const ShapeFormula formula{3, 2, {"n"}};
  EXPECT_EQ(formula.at({{"n", 10}}), 15);
  EXPECT_EQ(formula.at({{"n", 5}}), std::nullopt);
  EXPECT_EQ(formula.at({{"m", 5}}), std::nullopt);
}

/// A product that was fitted on two shapes holds for a third that nobody has seen.
TEST(ShapeFormula, FindsRandomProducts) {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    const auto draw = [&] { return static_cast<std::int64_t>(32 + rng.below(1000)); };
    std::vector<ShapeParameters> all;
    for (int i = 0; i < 3; ++i)
      all.push_back({{"m", draw()}, {"n", draw()}, {"k", draw()}});
    const auto factor = static_cast<std::int64_t>(1 + rng.below(256));
    const std::size_t which = rng.below(7) + 1;
    const auto value = [&](const ShapeParameters& shape) {
      std::int64_t product = factor;
      for (std::size_t i = 0; i < 3; ++i)
        product *= (which >> i & 1U) != 0 ? shape[i].second : 1;
      return product;
    };
    const auto formula =
        fit_formula(std::span(all).first(2), std::vector{value(all[0]), value(all[1])});
    ASSERT_TRUE(formula);
    EXPECT_EQ(formula->at(all[2]), value(all[2])) << to_text(*formula);
  }
}

}  // namespace
}  // namespace cuco::analysis
