// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/closeness.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::judge {
namespace {

using ::testing::HasSubstr;

constexpr std::array kTypes{ElementType::Float16, ElementType::Bfloat16, ElementType::Float32,
                            ElementType::Float64};

/// Rounded to nearest, ties to even, as the hardware does.
double rounded(double value, ElementType type) {
  if (type == ElementType::Float64) return value;
  if (type == ElementType::Float32) return static_cast<float>(value);
  if (value == 0 || !std::isfinite(value)) return value;
  const int digits = type == ElementType::Float16 ? 11 : 8;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

void store(std::vector<std::byte>& bytes, ElementType type, double value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + size_of(type));
  if (type == ElementType::Float64) {
    std::memcpy(&bytes[at], &value, 8);
    return;
  }
  const auto single = static_cast<float>(value);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(single);
  if (type == ElementType::Bfloat16) bits >>= 16U;
  if (type == ElementType::Float16) {
    // Numbers of a usual size only.
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    bits = value == 0 ? sign : sign | ((bits & 0x7FFF'FFFFU) - (112U << 23U)) >> 13U;
  }
  std::memcpy(&bytes[at], &bits, size_of(type));
}

std::vector<std::byte> array_of(ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes;
  for (const double value : values)
    store(bytes, type, value);
  return bytes;
}

/// Terms of the sums that a collective makes: by element, then by rank.
struct Terms {
  std::vector<std::vector<double>> of;

  Terms(Rng& rng, ElementType type, std::size_t elements, int ranks, bool positive) {
    for (std::size_t i = 0; i < elements; ++i) {
      auto& terms = of.emplace_back();
      for (int r = 0; r < ranks; ++r)
        terms.push_back(rounded(rng.uniform() * (positive ? 1 : 2) - (positive ? 0 : 1), type));
    }
  }

  /// Added up one after the other, in this order of ranks, rounded at each step.
  [[nodiscard]] std::vector<std::byte> sums(ElementType type, const std::vector<int>& order) const {
    std::vector<double> values;
    for (const auto& terms : of) {
      double sum = 0;
      for (const int rank : order)
        sum = rounded(sum + terms[static_cast<std::size_t>(rank)], type);
      values.push_back(sum);
    }
    return array_of(type, values);
  }
};

std::vector<int> ranks_from(int first, int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), first);
  return order;
}

Closeness usual(ElementType type, int ranks) {
  return {.type = {.type = type, .why = "as written"}, .terms = usual_terms(type, ranks)};
}

TEST(Closeness, AnyOrderOfARingOrATreeIsAccepted) {
  Rng rng(7);
  for (const ElementType type : kTypes) {
    for (const int ranks : {2, 4, 8, 16}) {
      for (const bool positive : {false, true}) {
        const Terms terms(rng, type, 2000, ranks, positive);
        std::vector<int> order = ranks_from(0, ranks);
        const auto expected = terms.sums(type, order);
        for (int trial = 0; trial < 4; ++trial) {
          for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[rng.below(i)]);
          const auto got = terms.sums(type, order);
          const auto found = deviation(expected, got, usual(type, ranks));
          EXPECT_FALSE(found) << name_of(type) << " " << ranks << ": "
                              << describe(*found, usual(type, ranks));
        }
      }
    }
  }
}

TEST(Closeness, ALeftOutRankIsNot) {
  Rng rng(8);
  for (const ElementType type : kTypes) {
    for (const int ranks : {2, 4, 8, 16, 32}) {
      for (const bool positive : {false, true}) {
        const Terms terms(rng, type, 2000, ranks, positive);
        const auto expected = terms.sums(type, ranks_from(0, ranks));
        const auto got = terms.sums(type, ranks_from(1, ranks - 1));
        EXPECT_TRUE(deviation(expected, got, usual(type, ranks))) << name_of(type) << " " << ranks;
      }
    }
  }
}

TEST(Closeness, OneChangedElementOfManyIsFoundAndNamed) {
  Rng rng(9);
  for (const ElementType type : kTypes) {
    const Terms terms(rng, type, 5000, 4, false);
    const auto expected = terms.sums(type, ranks_from(0, 4));
    const Closeness closeness = usual(type, 4);
    for (int trial = 0; trial < 50; ++trial) {
      const std::size_t at = rng.below(5000);
      const double right = element(expected, type, at);
      const double wrong = rounded(right + (trial % 2 == 0 ? 0.25 : -0.25), type);
      auto got = expected;
      std::vector<std::byte> one;
      store(one, type, wrong);
      std::ranges::copy(one, got.begin() + static_cast<std::ptrdiff_t>(at * one.size()));
      const auto found = deviation(expected, got, closeness);
      ASSERT_TRUE(found) << name_of(type);
      EXPECT_EQ(found->worst, at);
      EXPECT_EQ(found->wrong, 1U);
      EXPECT_THAT(describe(*found, closeness), HasSubstr(fmt::format("element {} is", at)));
    }
  }
}

TEST(Closeness, ZeroedSwappedAndStaleBuffersAreFound) {
  Rng rng(10);
  for (const ElementType type : kTypes) {
    const Terms first(rng, type, 500, 4, false);
    const Terms second(rng, type, 500, 4, false);
    const auto a = first.sums(type, ranks_from(0, 4));
    const auto b = second.sums(type, ranks_from(0, 4));
    const std::vector<std::byte> zeros(a.size());
    EXPECT_TRUE(deviation(a, b, usual(type, 4)));
    EXPECT_TRUE(deviation(a, zeros, usual(type, 4)));
    EXPECT_TRUE(deviation(zeros, a, usual(type, 4)));
  }
}

TEST(Closeness, SmallNumbersBesideLargeOnesKeepTheirOwnScale) {
  const auto expected = array_of(ElementType::Float32, {1.0, 1e6, 2e6, 1e6});
  const auto got = array_of(ElementType::Float32, {1.02, 1e6, 2e6, 1e6});
  EXPECT_TRUE(deviation(expected, got, usual(ElementType::Float32, 4)));
}

TEST(Closeness, TermsThatCancelLeaveTheirErrors) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i)
    values.push_back(std::sin(i + 0.5));
  values[17] = 0;
  const auto expected = array_of(ElementType::Float32, values);
  values[17] = 3e-8;
  const auto got = array_of(ElementType::Float32, values);
  EXPECT_FALSE(deviation(expected, got, usual(ElementType::Float32, 4)));
  values[17] = 1e-2;
  EXPECT_TRUE(
      deviation(expected, array_of(ElementType::Float32, values), usual(ElementType::Float32, 4)));
}

TEST(Closeness, WhatIsNoNumberMustStayNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Closeness closeness = usual(ElementType::Float32, 4);
  const auto with = [](double value) { return array_of(ElementType::Float32, {0.5, value, 1.5}); };
  EXPECT_FALSE(deviation(with(kNan), with(kNan), closeness));
  EXPECT_FALSE(deviation(with(kNan), with(-kNan), closeness));
  EXPECT_TRUE(deviation(with(kNan), with(1), closeness));
  EXPECT_TRUE(deviation(with(1), with(kNan), closeness));
  EXPECT_FALSE(deviation(with(kInfinity), with(kInfinity), closeness));
  EXPECT_TRUE(deviation(with(kInfinity), with(-kInfinity), closeness));
  EXPECT_TRUE(deviation(with(kInfinity), with(3e38), closeness));
  EXPECT_TRUE(deviation(with(3e38), with(kInfinity), closeness));
  EXPECT_TRUE(deviation(with(kInfinity), with(kNan), closeness));
  EXPECT_FALSE(deviation(with(0.0), with(-0.0), closeness));
}

TEST(Closeness, WholeNumbersInAFloatAreExact) {
  // An index or a count in an fp32: 70001 is not 70000, though it is close to it.
  const Closeness closeness = usual(ElementType::Float32, 4);
  const auto expected = array_of(ElementType::Float32, {70000, 5, 12});
  EXPECT_TRUE(deviation(expected, array_of(ElementType::Float32, {70001, 5, 12}), closeness));
  EXPECT_FALSE(deviation(expected, array_of(ElementType::Float32, {70000.0078, 5, 12}), closeness));
}

TEST(Closeness, OddSizesAndIntegersAreComparedBitByBit) {
  std::vector<std::byte> expected(7, std::byte{1});
  auto got = expected;
  got[6] = std::byte{2};
  const auto found = deviation(expected, got, usual(ElementType::Float32, 4));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worst, 6U);
  const Closeness exact{.type = {.why = "integers, as written"}};
  EXPECT_THAT(describe(*deviation(expected, got, exact), exact),
              HasSubstr("byte 6 is 0x02, expected 0x01; 1 of 7 bytes"));
}

TEST(Closeness, InMixedDataOnlyWhatLooksLikeANumberMayDiffer) {
  // Structures of an index and a value.
  std::vector<std::byte> expected;
  std::vector<std::byte> close;
  for (std::uint32_t i = 0; i < 100; ++i) {
    for (auto* bytes : {&expected, &close}) {
      const std::uint32_t index = 1000 + i;
      const float value = 0.37F * static_cast<float>(i + 1);
      const float other = bytes == &close ? std::nextafter(value, 100.F) : value;
      bytes->resize(bytes->size() + 8);
      std::memcpy(bytes->data() + bytes->size() - 8, &index, 4);
      std::memcpy(bytes->data() + bytes->size() - 4, &other, 4);
    }
  }
  const Closeness closeness{{ElementType::Float32, true, "as written"},
                            usual_terms(ElementType::Float32, 4)};
  EXPECT_FALSE(deviation(expected, close, closeness));
  close[8 * 40] ^= std::byte{1};
  const auto found = deviation(expected, close, closeness);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worst, 80U);
  EXPECT_THAT(describe(*found, closeness),
              HasSubstr("(0x411, expected 0x410), which must be the same"));
}

TEST(Closeness, OnOneGpuASmallElementThatIsWrongByATenthIsFound) {
  Rng rng(11);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(rounded(rng.uniform() * 2 - 1, ElementType::Bfloat16));
  values[500] = rounded(0.2, ElementType::Bfloat16);
  const auto expected = array_of(ElementType::Bfloat16, values);
  values[500] = rounded(0.22, ElementType::Bfloat16);
  const auto got = array_of(ElementType::Bfloat16, values);
  EXPECT_TRUE(deviation(expected, got, usual(ElementType::Bfloat16, 1)));
}

TEST(Closeness, TheMessageSaysWhereByHowMuchAndHowMany) {
  const auto expected = array_of(ElementType::Float32, {0.25, 1.5, 2.75, 3.3});
  const auto got = array_of(ElementType::Float32, {0.25, 1.5, 3.75, 3.8});
  const Closeness closeness = usual(ElementType::Float32, 4);
  const std::string text = describe(*deviation(expected, got, closeness), closeness);
  EXPECT_THAT(text, HasSubstr("element 2 is 3.75, expected 2.75"));
  EXPECT_THAT(text, HasSubstr("2 of 4 elements"));
  EXPECT_THAT(text, HasSubstr("fp32, as written, sums of 16384 terms"));
  EXPECT_THAT(text, HasSubstr("times the"));
}

}  // namespace
}  // namespace cuco::judge
