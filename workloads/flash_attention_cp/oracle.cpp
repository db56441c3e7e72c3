// SPDX-License-Identifier: Apache-2.0
// What flash_attention_cp must compute, in double precision: softmax attention over all ranks'
// keys.
#include "cuco/oracle.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  // Queries and keys large enough that the softmax is not flat: every key's place matters.
  const auto owner = static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input);
  const auto which = static_cast<std::uint64_t>(input);
  fill(bytes, n_bytes, shape->params[3] != 0, stream(key, owner), input == 2 ? 1.0F : 2.0F,
       input == 2 ? style(key, which, -8, 8) : style(key, which, -1, 0));
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
  const auto sequence = static_cast<std::size_t>(shape->params[1]);
  const auto size = static_cast<std::size_t>(shape->params[2]);
  const bool bf16 = shape->params[3] != 0;
  const auto ranks = static_cast<std::size_t>(shape->ranks);
  const auto of = [&](std::size_t r, std::size_t i) {
    return inputs[r * static_cast<std::size_t>(n_inputs) + i];
  };
  std::vector<double> weight(ranks * sequence);
  std::size_t known_row = ~std::size_t{0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = (first + i) / size;
    const std::size_t col = (first + i) % size;
    const std::size_t head = row / sequence * sequence;
    if (row != known_row) {
      double top = -1e300;
      for (std::size_t j = 0; j < weight.size(); ++j) {
        const std::size_t key_row = head + j % sequence;
        double score = 0;
        for (std::size_t d = 0; d < size; ++d) {
          score += load(of(static_cast<std::size_t>(rank), 0), row * size + d, bf16) *
                   load(of(j / sequence, 1), key_row * size + d, bf16);
        }
        weight[j] = score / std::sqrt(static_cast<double>(size));
        top = std::max(top, weight[j]);
      }
      double total = 0;
      for (double& w : weight) {
        w = std::exp(w - top);
        total += w;
      }
      for (double& w : weight) {
        w /= total;
      }
      known_row = row;
    }
    want[i] = 0;
    scale[i] = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      const double value =
          weight[j] * load(of(j / sequence, 2), (head + j % sequence) * size + col, bf16);
      want[i] += value;
      scale[i] += std::abs(value);
    }
  }
}
