// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/element_type.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::judge {
namespace {

using namespace vcluster;  // NOLINT(google-build-using-namespace): kAsFloat32 and its like

constexpr WrittenAs kAll = kAsFloat16 | kAsBfloat16 | kAsFloat32 | kAsFloat64;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T, typename Make>
std::vector<std::byte> many(Make make) {
  Rng rng(3);
  std::vector<T> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(make(rng, i));
  return bytes_of(values);
}

double bell(Rng& rng) {
  return rng.uniform() + rng.uniform() + rng.uniform() - 1.5;
}

TEST(ElementType, ReadsEveryFormat) {
  EXPECT_EQ(element(bytes_of<std::uint16_t>({0x3C00, 0xC500}), ElementType::Float16, 1), -5);
  EXPECT_EQ(element(bytes_of<std::uint16_t>({0x0001}), ElementType::Float16, 0), 0x1p-24);
  EXPECT_EQ(element(bytes_of<std::uint16_t>({0x3F80, 0x4049}), ElementType::Bfloat16, 1), 3.140625);
  EXPECT_EQ(element(bytes_of<float>({1, -0.1F}), ElementType::Float32, 1), -0.1F);
  EXPECT_EQ(element(bytes_of<double>({1, 1e300}), ElementType::Float64, 1), 1e300);
  EXPECT_TRUE(std::isinf(element(bytes_of<std::uint16_t>({0x7C00}), ElementType::Float16, 0)));
  EXPECT_TRUE(std::isnan(element(bytes_of<std::uint16_t>({0x7FC0}), ElementType::Bfloat16, 0)));
}

TEST(ElementType, IsWhatWroteIt) {
  EXPECT_EQ(type_as_written(64, kAsFloat32)->type, ElementType::Float32);
  EXPECT_EQ(type_as_written(64, kAsInteger)->type, ElementType::Exact);
  EXPECT_TRUE(type_as_written(64, kAsInteger | kAsBfloat16)->is_mixed);
  EXPECT_FALSE(type_as_written(64, kAsFloat32 | kAsFloat64));
  EXPECT_FALSE(type_as_written(64, 0));
  EXPECT_FALSE(type_as_written(7, kAsFloat32));
}

TEST(ElementType, IsSeenInTheContents) {
  const auto type = [](const std::vector<std::byte>& bytes) {
    return type_by_contents(bytes, kAll).type;
  };
  EXPECT_EQ(type(many<float>([](Rng& rng, std::size_t) { return bell(rng); })),
            ElementType::Float32);
  EXPECT_EQ(type(many<double>([](Rng& rng, std::size_t) { return bell(rng); })),
            ElementType::Float64);
  // Few digits: the lower halves are zero.
  EXPECT_EQ(type(many<float>([](Rng&, std::size_t i) { return static_cast<double>(i % 50) + 1; })),
            ElementType::Float32);
  EXPECT_EQ(type(many<double>([](Rng&, std::size_t i) { return static_cast<double>(i % 50) + 1; })),
            ElementType::Float64);
  const auto bf16 = many<std::uint16_t>([](Rng& rng, std::size_t) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(bell(rng))) >> 16U;
  });
  EXPECT_EQ(type_by_contents(bf16, kAsBfloat16 | kAsFloat32).type, ElementType::Bfloat16);
}

TEST(ElementType, IntegersAreNeverTakenForNumbers) {
  const auto expect_exact = [](const std::vector<std::byte>& bytes) {
    for (const WrittenAs as : {kAsBfloat16, kAsFloat32, kAsFloat64, kAll})
      EXPECT_EQ(type_by_contents(bytes, as).type, ElementType::Exact);
  };
  expect_exact(many<std::uint32_t>([](Rng&, std::size_t i) { return i; }));
  expect_exact(many<std::int32_t>([](Rng&, std::size_t i) { return 500 - static_cast<int>(i); }));
  expect_exact(many<std::uint64_t>([](Rng&, std::size_t i) { return i * 4096; }));
  expect_exact(many<std::uint32_t>([](Rng& rng, std::size_t) { return rng.next(); }));
  expect_exact(many<std::uint64_t>([](Rng& rng, std::size_t) { return rng.next(); }));
  expect_exact(std::vector<std::byte>(64));
}

TEST(ElementType, NothingIsGuessedInAProgramWithoutFloats) {
  const auto floats = many<float>([](Rng& rng, std::size_t) { return bell(rng); });
  EXPECT_EQ(type_by_contents(floats, 0).type, ElementType::Exact);
  EXPECT_EQ(type_by_contents(floats, kAsInteger).type, ElementType::Exact);
}

}  // namespace
}  // namespace cuco::judge
