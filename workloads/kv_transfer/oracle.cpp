// SPDX-License-Identifier: Apache-2.0
// What kv_transfer must compute, in double precision: the same K and V on both ranks, from rank 0's
// inputs.
#include "cuco/oracle.h"

#include <algorithm>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  // Rank 1 has inputs of its own, which mean nothing: a program that uses them is wrong.
  const auto owner = static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input);
  fill(bytes, n_bytes, shape->params[3] != 0, stream(key, owner), 1.0F,
       style(key, static_cast<std::uint64_t>(input), -8, 8));
}

extern "C" void cuco_oracle_reference(const cuco_shape* shape,
                                      const void* const* inputs,
                                      int /*n_inputs*/,
                                      int /*rank*/,
                                      int output,
                                      size_t first,
                                      size_t count,
                                      double* want,
                                      double* scale) {
  const auto model = static_cast<std::size_t>(shape->params[1]);
  const auto width = static_cast<std::size_t>(shape->params[2]);
  const bool bf16 = shape->params[3] != 0;
  const void* x = inputs[0];
  const void* w = inputs[1 + output];
  for (std::size_t at = first; at < first + count;) {
    const std::size_t row = at / width;
    const std::size_t end = std::min(first + count, (row + 1) * width);
    row_times_columns({x, row * model, bf16}, model, {w, at % width, bf16}, width, end - at,
                      want + (at - first), scale + (at - first));
    at = end;
  }
}
