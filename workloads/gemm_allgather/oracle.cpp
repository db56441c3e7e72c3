// SPDX-License-Identifier: Apache-2.0
// What gemm_allgather must compute, in double precision.
#include "cuco/oracle.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Shape {
  std::size_t m, n, k;
  bool bf16;
};

Shape read(const cuco_shape& shape) {
  return {static_cast<std::size_t>(shape.params[0]), static_cast<std::size_t>(shape.params[1]),
          static_cast<std::size_t>(shape.params[2]), shape.params[3] != 0};
}

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// Uniform in (-1, 1): no element is special, none is negligible.
float value(std::uint64_t key, std::size_t i) {
  const std::uint64_t bits = mix(key + 0x9E3779B97F4A7C15ULL * (i + 1));
  return static_cast<float>(static_cast<double>(bits >> 11U) * 0x1.0p-52 - 1.0);
}

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

double load(const void* bytes, std::size_t i, bool bf16) {
  if (bf16) {
    std::uint16_t half = 0;
    std::memcpy(&half, static_cast<const char*>(bytes) + 2 * i, 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
  }
  float x = 0;
  std::memcpy(&x, static_cast<const char*>(bytes) + 4 * i, 4);
  return x;
}

}  // namespace

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  const Shape s = read(*shape);
  // A belongs to the rank, B (input 1) is shared.
  const std::uint64_t own = input == 0 ? static_cast<std::uint64_t>(rank) + 2 : 1;
  const std::uint64_t stream = mix(key ^ (own * 0xD1B54A32D192ED03ULL));
  const std::size_t count = n_bytes / (s.bf16 ? 2 : 4);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = value(stream, i);
    if (s.bf16) {
      const std::uint16_t half = to_bf16(x);
      std::memcpy(static_cast<char*>(bytes) + 2 * i, &half, 2);
    } else {
      std::memcpy(static_cast<char*>(bytes) + 4 * i, &x, 4);
    }
  }
}

extern "C" void cuco_oracle_reference(const cuco_shape* shape,
                                      const void* const* inputs,
                                      int n_inputs,
                                      int /*rank*/,
                                      int /*output*/,
                                      size_t first,
                                      size_t count,
                                      double* want,
                                      double* scale) {
  const Shape s = read(*shape);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = (first + i) / s.n;
    const std::size_t col = (first + i) % s.n;
    const std::size_t owner = row / s.m;
    const void* a = inputs[owner * static_cast<std::size_t>(n_inputs) + 0];
    const void* b = inputs[owner * static_cast<std::size_t>(n_inputs) + 1];
    double sum = 0;
    double size = 0;
    for (std::size_t d = 0; d < s.k; ++d) {
      const double product = load(a, row % s.m * s.k + d, s.bf16) * load(b, d * s.n + col, s.bf16);
      sum += product;
      size += std::abs(product);
    }
    want[i] = sum;
    scale[i] = size;
  }
}
