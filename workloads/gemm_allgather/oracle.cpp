// SPDX-License-Identifier: Apache-2.0
// What gemm_allgather must compute, in double precision.
#include "cuco/oracle.h"

#include <algorithm>
#include <cstddef>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

namespace {

struct Shape {
  std::size_t m, n, k;
  bool bf16;
};

Shape read(const cuco_shape& shape) {
  return {static_cast<std::size_t>(shape.params[0]), static_cast<std::size_t>(shape.params[1]),
          static_cast<std::size_t>(shape.params[2]), shape.params[3] != 0};
}

}  // namespace

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  const Shape s = read(*shape);
  // A belongs to the rank, B (input 1) is shared.
  const std::uint64_t owner = input == 0 ? static_cast<std::uint64_t>(rank) + 1 : 0;
  fill(bytes, n_bytes, s.bf16, stream(key, owner), 1.0F,
       style(key, static_cast<std::uint64_t>(input), -8, 8));
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
  for (std::size_t at = first; at < first + count;) {
    const std::size_t row = at / s.n;
    const std::size_t end = std::min(first + count, (row + 1) * s.n);
    const std::size_t owner = row / s.m;
    const void* a = inputs[owner * static_cast<std::size_t>(n_inputs) + 0];
    const void* b = inputs[owner * static_cast<std::size_t>(n_inputs) + 1];
    row_times_columns({a, row % s.m * s.k, s.bf16}, s.k, {b, at % s.n, s.bf16}, s.n, end - at,
                      want + (at - first), scale + (at - first));
    at = end;
  }
}
