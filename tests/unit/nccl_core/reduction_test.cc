// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/reduction.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "nccl_core/small_float.h"

namespace cuco::nccl_core {
namespace {

double read_as(DataType type, const std::byte* at) {
  const auto load = [&]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case DataType::Int8:
      return load(std::int8_t{});
    case DataType::Uint8:
      return load(std::uint8_t{});
    case DataType::Int32:
      return load(std::int32_t{});
    case DataType::Uint32:
      return load(std::uint32_t{});
    case DataType::Int64:
      return static_cast<double>(load(std::int64_t{}));
    case DataType::Uint64:
      return static_cast<double>(load(std::uint64_t{}));
    case DataType::Float16:
      return decode_small<kBinary16>(load(std::uint16_t{}));
    case DataType::Float32:
      return load(float{});
    case DataType::Float64:
      return load(double{});
    case DataType::Bfloat16:
      return decode_bfloat16(load(std::uint16_t{}));
    case DataType::Float8e4m3:
      return decode_small<kE4m3>(load(std::uint8_t{}));
    case DataType::Float8e5m2:
      return decode_small<kE5m2>(load(std::uint8_t{}));
  }
  return 0;
}

void write_as(DataType type, std::byte* at, int value) {
  const auto store = [&](auto stored) { std::memcpy(at, &stored, sizeof stored); };
  const auto real = static_cast<float>(value);
  switch (type) {
    case DataType::Int8:
    case DataType::Uint8:
      return store(static_cast<std::int8_t>(value));
    case DataType::Int32:
    case DataType::Uint32:
      return store(std::int32_t{value});
    case DataType::Int64:
    case DataType::Uint64:
      return store(std::int64_t{value});
    case DataType::Float16:
      return store(static_cast<std::uint16_t>(encode_small<kBinary16>(real)));
    case DataType::Float32:
      return store(real);
    case DataType::Float64:
      return store(static_cast<double>(value));
    case DataType::Bfloat16:
      return store(encode_bfloat16(real));
    case DataType::Float8e4m3:
      return store(static_cast<std::uint8_t>(encode_small<kE4m3>(real)));
    case DataType::Float8e5m2:
      return store(static_cast<std::uint8_t>(encode_small<kE5m2>(real)));
  }
}

double reference(ReduceOp op, const std::vector<double>& values, double scalar) {
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = op == ReduceOp::PreMulSum ? values[i] * scalar : values[i];
    if (i == 0) {
      total = value;
    } else if (op == ReduceOp::Prod) {
      total *= value;
    } else if (op == ReduceOp::Max) {
      total = std::max(total, value);
    } else if (op == ReduceOp::Min) {
      total = std::min(total, value);
    } else {
      total += value;
    }
  }
  return op == ReduceOp::Avg ? total / static_cast<double>(values.size()) : total;
}

// Small integers: every type holds them and their sums and products of four exactly.
TEST(Reduction, EveryTypeAndOpAgreesWithDoubleArithmetic) {
  constexpr std::size_t kCount = 5000;
  for (int t = 0; t < kDataTypes; ++t) {
    for (int o = 0; o <= kBuiltInOps; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<ReduceOp>(o);
      const std::size_t size = size_of(type);
      Rng rng(static_cast<std::uint64_t>(t * 10 + o));
      std::vector<std::vector<std::byte>> inputs(4, std::vector<std::byte>(kCount * size));
      std::vector<std::array<std::byte, 8>> scalars(4);
      std::vector<const std::byte*> pointers;
      for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t i = 0; i < kCount; ++i) {
          // Averages stay exact when all inputs are equal.
          const int value =
              op == ReduceOp::Avg ? static_cast<int>(i % 3) : static_cast<int>(rng.below(3));
          write_as(type, inputs[r].data() + i * size, value);
        }
        write_as(type, scalars[r].data(), 2);
        pointers.push_back(inputs[r].data());
      }
      std::vector<std::byte> output(kCount * size);
      reduce({type, op, scalars}, pointers, output.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        std::vector<double> values;
        for (const auto& input : inputs)
          values.push_back(read_as(type, input.data() + i * size));
        ASSERT_EQ(read_as(type, output.data() + i * size), reference(op, values, 2))
            << name_of(type) << ' ' << name_of(op) << " element " << i;
      }
    }
  }
}

TEST(Reduction, IntegersWrapAndSignedAveragesTruncate) {
  const std::int32_t big = std::numeric_limits<std::int32_t>::max();
  const std::int32_t one = 1;
  const std::byte* sum[] = {reinterpret_cast<const std::byte*>(&big),
                            reinterpret_cast<const std::byte*>(&one)};
  std::int32_t out = 0;
  reduce({DataType::Int32, ReduceOp::Sum, {}}, sum, reinterpret_cast<std::byte*>(&out), 1);
  EXPECT_EQ(out, std::numeric_limits<std::int32_t>::min());
  const std::int32_t minus = -4;
  const std::byte* average[] = {reinterpret_cast<const std::byte*>(&minus),
                                reinterpret_cast<const std::byte*>(&one)};
  reduce({DataType::Int32, ReduceOp::Avg, {}}, average, reinterpret_cast<std::byte*>(&out), 1);
  EXPECT_EQ(out, -1);
}

TEST(SmallFloat, EveryPatternSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = decode_small<kBinary16>(bits);
    if (!std::isnan(value)) {
      ASSERT_EQ(encode_small<kBinary16>(value), bits);
    }
  }
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const float e4m3 = decode_small<kE4m3>(bits);
    if (!std::isnan(e4m3)) {
      ASSERT_EQ(encode_small<kE4m3>(e4m3), bits);
    }
    const float e5m2 = decode_small<kE5m2>(bits);
    if (std::isfinite(e5m2)) {
      ASSERT_EQ(encode_small<kE5m2>(e5m2), bits);
    }
  }
}

TEST(SmallFloat, RoundsToNearestEvenAndSaturates) {
  EXPECT_EQ(encode_small<kBinary16>(65519.0F), 0x7BFFU);
  EXPECT_EQ(encode_small<kBinary16>(65520.0F), 0x7C00U);
  EXPECT_EQ(encode_small<kBinary16>(1e30F), 0x7C00U);
  EXPECT_EQ(encode_small<kBinary16>(2049.0F), encode_small<kBinary16>(2048.0F));
  EXPECT_EQ(encode_small<kE4m3>(1000.0F), 0x7EU);
  EXPECT_EQ(encode_small<kE4m3>(448.0F), 0x7EU);
  EXPECT_EQ(encode_small<kE5m2>(1e9F), 0x7BU);
  EXPECT_EQ(encode_small<kE4m3>(std::nanf("")), 0x7FU);
  EXPECT_EQ(encode_bfloat16(1.0F + 0x1.0p-8F), 0x3F80U);
  EXPECT_EQ(encode_small<kBinary16>(0x1.0p-25F), 0U);
  EXPECT_EQ(encode_small<kBinary16>(0x1.8p-25F), 1U);
}

}  // namespace
}  // namespace cuco::nccl_core
