// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "nccl_core/small_float.h"

namespace cuco::nccl_core {
namespace {

// A storage type knows how to become the type it is accumulated in, and back.
template <typename T>
struct Plain {
  using Storage = T;
  // Unsigned arithmetic wraps as the GPU's does; signed overflow would be undefined here.
  using Accumulator = typename std::
      conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  static Accumulator load(T value) { return static_cast<Accumulator>(value); }
  static T store(Accumulator value) { return static_cast<T>(value); }
};

template <FloatFormat Format, typename T>
struct Small {
  using Storage = T;
  using Accumulator = float;
  static float load(T bits) { return decode_small<Format>(bits); }
  static T store(float value) { return static_cast<T>(encode_small<Format>(value)); }
};

struct Brain {
  using Storage = std::uint16_t;
  using Accumulator = float;
  static float load(std::uint16_t bits) { return decode_bfloat16(bits); }
  static std::uint16_t store(float value) { return encode_bfloat16(value); }
};

template <typename Traits>
using Acc = typename Traits::Accumulator;

// Max and min compare with the type's own sign; a NaN loses against a number, as on the GPU.
template <typename Traits>
Acc<Traits> extreme(Acc<Traits> a, Acc<Traits> b, bool maximum) {
  using Storage = typename Traits::Storage;
  if constexpr (std::is_floating_point_v<Acc<Traits>>) {
    return maximum ? std::fmax(a, b) : std::fmin(a, b);
  } else {
    const auto left = static_cast<Storage>(a);
    const auto right = static_cast<Storage>(b);
    return (left > right) == maximum ? a : b;
  }
}

template <typename Traits>
Acc<Traits> fold(ReduceOp op, Acc<Traits> a, Acc<Traits> b) {
  switch (op) {
    case ReduceOp::Prod:
      return static_cast<Acc<Traits>>(a * b);
    case ReduceOp::Max:
      return extreme<Traits>(a, b, true);
    case ReduceOp::Min:
      return extreme<Traits>(a, b, false);
    case ReduceOp::Sum:
    case ReduceOp::Avg:
    case ReduceOp::PreMulSum:
      return static_cast<Acc<Traits>>(a + b);
  }
  return a;
}

/// Per-rank factors of a sum that multiplies first; empty for the others.
template <typename Traits>
std::vector<Acc<Traits>> factors(const Reduction& reduction, std::size_t ranks) {
  using Storage = typename Traits::Storage;
  std::vector<Acc<Traits>> result;
  if (reduction.op == ReduceOp::PreMulSum) {
    CUCO_ASSERT(reduction.scalars.size() == ranks);
    for (const auto& bytes : reduction.scalars) {
      Storage scalar;
      std::memcpy(&scalar, bytes.data(), sizeof scalar);
      result.push_back(Traits::load(scalar));
    }
  } else if (reduction.op == ReduceOp::Avg && std::is_floating_point_v<Acc<Traits>>) {
    const auto inverse = static_cast<Acc<Traits>>(1.0 / static_cast<double>(ranks));
    result.assign(ranks, Traits::load(Traits::store(inverse)));
  }
  return result;
}

template <typename Traits>
void reduce_as(const Reduction& reduction,
               std::span<const std::byte* const> inputs,
               std::byte* output,
               std::uint64_t count) {
  using Storage = typename Traits::Storage;
  using Accumulator = Acc<Traits>;
  constexpr std::uint64_t kChunk = 2048;
  const std::vector<Accumulator> scale = factors<Traits>(reduction, inputs.size());
  std::array<Accumulator, kChunk> total;
  std::array<Storage, kChunk> staged;
  for (std::uint64_t first = 0; first < count; first += kChunk) {
    const std::uint64_t n = std::min(kChunk, count - first);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      std::memcpy(staged.data(), inputs[rank] + first * sizeof(Storage), n * sizeof(Storage));
      for (std::uint64_t i = 0; i < n; ++i) {
        Accumulator value = Traits::load(staged[i]);
        if (!scale.empty()) value = static_cast<Accumulator>(value * scale[rank]);
        total[i] = rank == 0 ? value : fold<Traits>(reduction.op, total[i], value);
      }
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      if constexpr (!std::is_floating_point_v<Accumulator>) {
        if (reduction.op == ReduceOp::Avg) {
          total[i] = static_cast<Accumulator>(static_cast<Storage>(total[i]) /
                                              static_cast<Storage>(inputs.size()));
        }
      }
      staged[i] = Traits::store(total[i]);
    }
    std::memcpy(output + first * sizeof(Storage), staged.data(), n * sizeof(Storage));
  }
}

}  // namespace

void reduce(const Reduction& reduction,
            std::span<const std::byte* const> inputs,
            std::byte* output,
            std::uint64_t count) {
  CUCO_ASSERT(!inputs.empty());
  switch (reduction.type) {
    case DataType::Int8:
      return reduce_as<Plain<std::int8_t>>(reduction, inputs, output, count);
    case DataType::Uint8:
      return reduce_as<Plain<std::uint8_t>>(reduction, inputs, output, count);
    case DataType::Int32:
      return reduce_as<Plain<std::int32_t>>(reduction, inputs, output, count);
    case DataType::Uint32:
      return reduce_as<Plain<std::uint32_t>>(reduction, inputs, output, count);
    case DataType::Int64:
      return reduce_as<Plain<std::int64_t>>(reduction, inputs, output, count);
    case DataType::Uint64:
      return reduce_as<Plain<std::uint64_t>>(reduction, inputs, output, count);
    case DataType::Float16:
      return reduce_as<Small<kBinary16, std::uint16_t>>(reduction, inputs, output, count);
    case DataType::Float32:
      return reduce_as<Plain<float>>(reduction, inputs, output, count);
    case DataType::Float64:
      return reduce_as<Plain<double>>(reduction, inputs, output, count);
    case DataType::Bfloat16:
      return reduce_as<Brain>(reduction, inputs, output, count);
    case DataType::Float8e4m3:
      return reduce_as<Small<kE4m3, std::uint8_t>>(reduction, inputs, output, count);
    case DataType::Float8e5m2:
      return reduce_as<Small<kE5m2, std::uint8_t>>(reduction, inputs, output, count);
  }
}

}  // namespace cuco::nccl_core
