// SPDX-License-Identifier: Apache-2.0
// What silu_and_mul must compute, in double precision.
#include "cuco/oracle.h"

#include <cmath>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  // Gates from -6 to 6: both tails of the sigmoid count.
  const auto owner = static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input);
  fill(bytes, n_bytes, shape->params[2] != 0, stream(key, owner), 6.0F,
       style(key, static_cast<std::uint64_t>(input), -6, 0));
}

extern "C" void cuco_oracle_reference(const cuco_shape* shape,
                                      const void* const* inputs,
                                      int n_inputs,
                                      int rank,
                                      int /*output*/,
                                      size_t first,
                                      size_t count,
                                      double* want,
                                      double* scale) {
  const auto width = static_cast<std::size_t>(shape->params[1]);
  const bool bf16 = shape->params[2] != 0;
  const void* x = inputs[rank * n_inputs];
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = (first + i) / width;
    const std::size_t col = (first + i) % width;
    const double gate = load(x, row * 2 * width + col, bf16);
    const double up = load(x, row * 2 * width + width + col, bf16);
    want[i] = gate / (1.0 + std::exp(-gate)) * up;
    scale[i] = std::abs(want[i]);
  }
}
