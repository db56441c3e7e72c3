// SPDX-License-Identifier: Apache-2.0
// What merge_attn_states must compute, in double precision.
#include "cuco/oracle.h"

#include <algorithm>
#include <cmath>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  const std::uint64_t values =
      stream(key, static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input));
  const bool is_sum = input % 2 == 1;
  // Log-sum-exps far from 0 and up to 16 apart: exp() of them alone would overflow or vanish.
  const bool bf16 = !is_sum && shape->params[3] != 0;
  if (!is_sum) {
    return fill(bytes, n_bytes, bf16, values, 2.0F,
                style(key, static_cast<std::uint64_t>(input), -8, 8));
  }
  fill(bytes, n_bytes, bf16, values, 8.0F);
  for (std::size_t i = 0; i < n_bytes / 4; ++i) {
    store(bytes, i, false, static_cast<float>(load(bytes, i, false)) + 100.0F);
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
  const auto size = static_cast<std::size_t>(shape->params[2]);
  const bool bf16 = shape->params[3] != 0;
  const void* const* in = inputs + rank * n_inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first + i;
    const std::size_t row = output == 0 ? at / size : at;
    const double a = load(in[1], row, false);
    const double b = load(in[3], row, false);
    const double top = std::max(a, b);
    const double wa = std::exp(a - top);
    const double wb = std::exp(b - top);
    if (output == 1) {
      want[i] = top + std::log(wa + wb);
      scale[i] = std::abs(want[i]);
      continue;
    }
    const double va = load(in[0], at, bf16) * wa / (wa + wb);
    const double vb = load(in[2], at, bf16) * wb / (wa + wb);
    want[i] = va + vb;
    scale[i] = std::abs(va) + std::abs(vb);
  }
}
