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

namespace {

/// Rows of keys or values that lie one after the other.
struct Rows {
  const void* bytes;
  std::size_t first;
  std::size_t size;
  bool bf16;
  [[nodiscard]] double at(std::size_t row, std::size_t col) const {
    return load(bytes, (first + row) * size + col, bf16);
  }
};

/// Dot products with so many rows at once, each in the order of its elements.
template <std::size_t kCount>
void dot(const std::vector<double>& query, const Rows& keys, std::size_t row, double* scores) {
  double sums[kCount] = {};
  for (std::size_t d = 0; d < query.size(); ++d) {
    for (std::size_t k = 0; k < kCount; ++k)
      sums[k] += query[d] * keys.at(row + k, d);
  }
  std::copy_n(sums, kCount, scores);
}

/// Adds the rows one after the other, as if there were one column only.
void add_rows(const Rows& values,
              const double* weights,
              std::size_t count,
              std::size_t col,
              std::size_t cols,
              double* want,
              double* scale) {
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < cols; ++i) {
      const double value = weights[j] * values.at(j, col + i);
      want[i] += value;
      scale[i] += std::abs(value);
    }
  }
}

}  // namespace

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
  std::vector<double> query(size);
  std::vector<double> weight(ranks * sequence);
  std::fill_n(want, count, 0.0);
  std::fill_n(scale, count, 0.0);
  for (std::size_t at = first; at < first + count;) {
    const std::size_t row = at / size;
    const std::size_t end = std::min(first + count, (row + 1) * size);
    const std::size_t head = row / sequence * sequence;
    for (std::size_t d = 0; d < size; ++d)
      query[d] = load(of(static_cast<std::size_t>(rank), 0), row * size + d, bf16);
    for (std::size_t r = 0; r < ranks; ++r) {
      const Rows keys{of(r, 1), head, size, bf16};
      double* const scores = weight.data() + r * sequence;
      constexpr std::size_t kAtOnce = 8;
      std::size_t j = 0;
      for (; j + kAtOnce <= sequence; j += kAtOnce)
        dot<kAtOnce>(query, keys, j, scores + j);
      for (; j < sequence; ++j)
        dot<1>(query, keys, j, scores + j);
    }
    double top = -1e300;
    for (double& w : weight) {
      w /= std::sqrt(static_cast<double>(size));
      top = std::max(top, w);
    }
    double total = 0;
    for (double& w : weight) {
      w = std::exp(w - top);
      total += w;
    }
    for (double& w : weight) {
      w /= total;
    }
    for (std::size_t r = 0; r < ranks; ++r)
      add_rows({of(r, 2), head, size, bf16}, weight.data() + r * sequence, sequence, at % size,
               end - at, want + (at - first), scale + (at - first));
    at = end;
  }
}
