// SPDX-License-Identifier: Apache-2.0
// What {{name}} must compute, in double precision. Trusted: no candidate can reach this process.
#include "cuco/oracle.h"

#include <cmath>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

extern "C" void cuco_oracle_input(
    const cuco_shape*, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  // Its own stream for each rank and input: no rank can compute its peers' answers itself.
  const auto owner = static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input);
  // The size of the values and how they are distributed are drawn anew in each iteration.
  fill(bytes, n_bytes, false, stream(key, owner), 1.0F,
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
  const auto n = static_cast<std::size_t>(shape->params[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t owner = (first + i) / n;
    const double x =
        load(inputs[owner * static_cast<std::size_t>(n_inputs)], (first + i) % n, false);
    want[i] = x * x;
    scale[i] = std::abs(want[i]);  // of what was added up: rounding errors are proportional to it
  }
}
