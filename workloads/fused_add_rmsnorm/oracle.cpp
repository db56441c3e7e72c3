// SPDX-License-Identifier: Apache-2.0
// What fused_add_rmsnorm must compute, in double precision.
#include "cuco/oracle.h"

#include <cmath>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

namespace {
constexpr double kEpsilon = 1e-6;
constexpr int kWeight = 2;
}  // namespace

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  const bool bf16 = shape->params[2] != 0;
  const std::uint64_t values =
      stream(key, static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input));
  if (input != kWeight) {
    fill(bytes, n_bytes, bf16, values, 2.0F, style(key, static_cast<std::uint64_t>(input), -4, 8));
    return;
  }
  // Weights around 1, none of them 1: a kernel that ignores them is wrong.
  const std::size_t count = n_bytes / (bf16 ? 2 : 4);
  for (std::size_t i = 0; i < count; ++i) {
    store(bytes, i, bf16, 1.0F + 0.5F * uniform(values, i));
  }
}

extern "C" void cuco_oracle_reference(const cuco_shape* shape,
                                      const void* const* inputs,
                                      int n_inputs,
                                      int rank,
                                      int output,
                                      size_t first,
                                      size_t count,
                                      double* want,
                                      double* scale) {
  const auto hidden = static_cast<std::size_t>(shape->params[1]);
  const bool bf16 = shape->params[2] != 0;
  const void* const* mine = inputs + rank * n_inputs;
  const auto sum = [&](std::size_t i) { return load(mine[0], i, bf16) + load(mine[1], i, bf16); };
  std::size_t known_row = ~std::size_t{0};
  double factor = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first + i;
    const std::size_t row = at / hidden;
    if (output == 1) {
      want[i] = sum(at);
      // Where the sum cancels, its rounding is still that of fp32 at the size of the terms.
      scale[i] = 1e-4 * (std::abs(load(mine[0], at, bf16)) + std::abs(load(mine[1], at, bf16)));
      continue;
    }
    if (row != known_row) {
      double squares = 0;
      for (std::size_t j = 0; j < hidden; ++j) {
        squares += sum(row * hidden + j) * sum(row * hidden + j);
      }
      factor = 1.0 / std::sqrt(squares / static_cast<double>(hidden) + kEpsilon);
      known_row = row;
    }
    want[i] = sum(at) * factor * load(mine[kWeight], at % hidden, bf16);
    scale[i] = std::abs(want[i]);
  }
}
