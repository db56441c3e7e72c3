// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/input_variation.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "vcluster/device/varied_inputs.h"

namespace cuco::vcluster {
namespace {

constexpr WrittenAs kFloats = kAsFloat16 | kAsBfloat16 | kAsFloat32 | kAsFloat64;
constexpr std::size_t kCount = 1000;

template <typename T>
std::vector<T> varied(std::vector<T> values, std::uint64_t key = 7, WrittenAs types = kFloats) {
  InputVariation{key, types}.apply(std::as_writable_bytes(std::span(values)));
  return values;
}

std::vector<float> some_floats() {
  Rng rng(1);
  std::vector<float> values(kCount);
  for (float& value : values)
    value = static_cast<float>(rng.uniform() * 4 - 2);
  return values;
}

TEST(InputVariation, GivesOtherNumbersOfTheSameSignAndScale) {
  const std::vector<float> before = some_floats();
  const std::vector<float> after = varied(before);
  std::size_t same = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    same += before[i] == after[i] ? 1U : 0U;
    EXPECT_EQ(std::signbit(before[i]), std::signbit(after[i]));
    EXPECT_EQ(std::ilogb(before[i]), std::ilogb(after[i]));
  }
  EXPECT_LT(same, kCount / 10);
  EXPECT_NE(after, varied(before, 8)) << "another secret gives other numbers";
}

TEST(InputVariation, DoesNotDependOnPiecesOrOrder) {
  const std::vector<float> before = some_floats();
  const std::vector<float> whole = varied(before);
  std::vector<float> pieces(before.rbegin(), before.rend());
  const auto bytes = std::as_writable_bytes(std::span(pieces));
  InputVariation{7, kFloats}.apply(bytes.subspan(4 * 300));
  InputVariation{7, kFloats}.apply(bytes.first(4 * 300));
  EXPECT_EQ(std::vector<float>(pieces.rbegin(), pieces.rend()), whole);
}

TEST(InputVariation, ChangesNothingTwice) {
  const std::vector<float> once = varied(some_floats());
  EXPECT_EQ(varied(once), once);
  std::vector<double> doubles;
  for (const float value : some_floats())
    doubles.push_back(value);
  EXPECT_EQ(varied(varied(doubles)), varied(doubles));
}

TEST(InputVariation, LeavesZerosAndWhatIsNoArrayOfNumbers) {
  std::vector<float> with_zeros = some_floats();
  for (std::size_t i = 0; i < kCount; i += 3)
    with_zeros[i] = 0;
  const auto after = varied(with_zeros);
  for (std::size_t i = 0; i < kCount; i += 3)
    EXPECT_EQ(after[i], 0);

  Rng rng(2);
  std::vector<std::int32_t> indices(kCount);
  std::vector<std::uint64_t> hashes(kCount);
  std::vector<std::uint64_t> pointers(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    indices[i] = static_cast<std::int32_t>(rng.below(100'000));
    hashes[i] = rng.next();
    pointers[i] = 0x7f0000001000 + 256 * i;
  }
  EXPECT_EQ(varied(indices), indices);
  EXPECT_EQ(varied(hashes), hashes);
  EXPECT_EQ(varied(pointers), pointers);
  EXPECT_EQ(varied(some_floats(), 7, 0), some_floats()) << "no kernel knows floats";
}

TEST(InputVariation, KnowsBf16WhereKernelsDo) {
  Rng rng(3);
  std::vector<std::uint16_t> halves(kCount);
  for (std::uint16_t& half : halves) {
    const auto value = static_cast<float>(rng.uniform() * 4 - 2);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    half = static_cast<std::uint16_t>(bits >> 16U);
  }
  const auto after = varied(halves, 7, kAsBfloat16 | kAsFloat32);
  for (std::size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(after[i] >> 7U, halves[i] >> 7U) << "sign and exponent";
  EXPECT_NE(after, halves);
}

TEST(VariedInputs, AreThoseOfADeviceThatHasSentNothingBack) {
  VariedInputs inputs({7, kFloats}, 2);
  EXPECT_TRUE(inputs.note_copy({}, 0));
  EXPECT_FALSE(inputs.note_copy(0, 1)) << "between devices";
  EXPECT_FALSE(inputs.note_copy(0, {}));
  EXPECT_FALSE(inputs.note_copy({}, 0)) << "it may depend on what came back";
  EXPECT_TRUE(inputs.note_copy({}, 1));
}

}  // namespace
}  // namespace cuco::vcluster
