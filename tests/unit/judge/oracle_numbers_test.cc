// SPDX-License-Identifier: Apache-2.0
#include "cuco/oracle_numbers.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace cuco_oracle {
namespace {

TEST(OracleNumbers, AreTheSameInAnyOrder) {
  const std::uint64_t one = stream(7, 1);
  const std::uint64_t other = stream(7, 2);
  std::vector<std::uint32_t> forward;
  for (std::size_t i = 0; i < 100; ++i)
    forward.push_back(word(one, i));
  for (std::size_t i = 100; i-- > 0;) {
    EXPECT_NE(word(other, i), forward[i]);
    EXPECT_EQ(word(one, i), forward[i]);
  }
}

TEST(OracleNumbers, DifferByKeyAndOwner) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t key = 0; key < 64; ++key) {
    for (std::uint64_t owner = 0; owner < 64; ++owner)
      seen.insert(stream(key, owner));
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
}

TEST(OracleNumbers, AreSpreadEvenlyOverBothSigns) {
  constexpr std::size_t kCount = 1 << 16;
  std::vector<float> values(kCount);
  fill(values.data(), kCount * sizeof(float), false, stream(1, 1), 1.0F);
  double sum = 0;
  double squares = 0;
  for (const float x : values) {
    EXPECT_LE(std::abs(x), 1.0F);
    EXPECT_NE(x, 0.0F);
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.01);
}

TEST(OracleNumbers, FillABufferAsOneByOne) {
  for (const bool bf16 : {false, true}) {
    for (unsigned kind = 0; kind < 3; ++kind) {
      for (const std::size_t count : {1, 127, 128, 129, 1000}) {
        const std::size_t size = bf16 ? 2 : 4;
        std::vector<unsigned char> filled(count * size + 1, 0xAB);
        std::vector<unsigned char> wanted = filled;
        const Style style{.factor = 0.25F, .kind = kind};
        fill(filled.data(), count * size, bf16, stream(3, count), 6.0F, style);
        for (std::size_t i = 0; i < count; ++i)
          store(wanted.data(), i, bf16, 6.0F * 0.25F * styled(stream(3, count), i, kind));
        EXPECT_EQ(filled, wanted) << bf16 << " " << kind << " " << count;
      }
    }
  }
}

TEST(OracleNumbers, ChangeAltogetherWithOneBitOfTheKey) {
  for (int bit = 0; bit < 64; ++bit) {
    const Block one = block(0x0123456789ABCDEFULL, 3, 5);
    const Block other = block(0x0123456789ABCDEFULL ^ (std::uint64_t{1} << bit), 3, 5);
    int changed = 0;
    for (int i = 0; i < 16; ++i)
      changed += std::popcount(one.words[i] ^ other.words[i]);
    EXPECT_GT(changed, 190) << bit;
    EXPECT_LT(changed, 322) << bit;
  }
}

TEST(OracleNumbers, StylesDifferByKeyAndStayInTheirRange) {
  std::set<unsigned> kinds;
  std::set<float> factors;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Style drawn = style(key, 1, -2, 3);
    kinds.insert(drawn.kind);
    factors.insert(drawn.factor);
    const Style again = style(key, 1, -2, 3);
    EXPECT_EQ(again.factor, drawn.factor);
    EXPECT_EQ(again.kind, drawn.kind);
  }
  EXPECT_EQ(kinds, (std::set<unsigned>{0, 1, 2}));
  EXPECT_EQ(factors, (std::set<float>{0.25F, 0.5F, 1, 2, 4, 8}));
  for (unsigned kind = 0; kind < 3; ++kind) {
    for (std::size_t i = 0; i < 1000; ++i)
      EXPECT_LT(std::abs(styled(stream(7, 1), i, kind)), 1.0F);
  }
}

}  // namespace
}  // namespace cuco_oracle
