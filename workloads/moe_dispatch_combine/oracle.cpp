// SPDX-License-Identifier: Apache-2.0
// What moe_dispatch_combine must compute, in double precision, and who goes where.
#include "cuco/oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "cuco/oracle_numbers.h"

using namespace cuco_oracle;

namespace {

struct Shape {
  std::size_t ranks, tokens, hidden, inter, experts, top, skew;
  bool empty, bf16;
};

Shape read(const cuco_shape& shape) {
  const auto at = [&](int i) { return static_cast<std::size_t>(shape.params[i]); };
  return {static_cast<std::size_t>(shape.ranks),
          at(0),
          at(1),
          at(2),
          at(3),
          at(4),
          at(5),
          at(6) != 0,
          at(7) != 0};
}

enum Input { kX, kW13, kW2, kRoute, kGate };

/// How many tokens of one rank go to each expert: linear from skew to 1, none to an empty one. The
/// same on every rank, and known to programs (see program.cu); which tokens they are is not.
std::vector<std::size_t> quotas(const Shape& s) {
  const std::size_t used = s.experts - (s.empty ? 1 : 0);
  const auto weight = [&](std::size_t e) {
    return e >= used ? 0 : used > 1 ? used - 1 + (s.skew - 1) * (used - 1 - e) : 1;
  };
  std::size_t all = 0;
  for (std::size_t e = 0; e < used; ++e)
    all += weight(e);
  std::vector<std::size_t> quota(s.experts);
  std::size_t left = s.tokens * s.top;
  for (std::size_t e = 0; e < used; ++e) {
    quota[e] = std::min(s.tokens * s.top * weight(e) / all, s.tokens);
    left -= quota[e];
  }
  for (std::size_t e = 0; left > 0; e = (e + 1) % used) {
    if (quota[e] == s.tokens) continue;
    ++quota[e];
    --left;
  }
  return quota;
}

/// Numbers of a stream, one after the other.
struct Dice {
  std::uint64_t stream_key;
  std::size_t next = 0;
  std::size_t below(std::size_t end) { return word(stream_key, next++) % end; }
};

/// Experts in runs as long as their quotas, dealt out over the tokens in turn: no token gets an
/// expert twice. Then tokens, and the experts of each token, change places.
std::vector<std::int32_t> routes(const Shape& s, std::uint64_t key) {
  Dice dice{key};
  const std::vector<std::size_t> quota = quotas(s);
  std::vector<std::size_t> place(s.tokens);
  std::iota(place.begin(), place.end(), std::size_t{0});
  for (std::size_t i = s.tokens; i > 1; --i)
    std::swap(place[i - 1], place[dice.below(i)]);
  std::vector<std::int32_t> route(s.tokens * s.top);
  std::size_t slot = 0;
  for (std::size_t e = 0; e < s.experts; ++e) {
    for (std::size_t i = 0; i < quota[e]; ++i, ++slot) {
      route[place[slot % s.tokens] * s.top + slot / s.tokens] = static_cast<std::int32_t>(e);
    }
  }
  for (std::size_t t = 0; t < s.tokens; ++t) {
    for (std::size_t j = s.top; j > 1; --j)
      std::swap(route[t * s.top + j - 1], route[t * s.top + dice.below(j)]);
  }
  return route;
}

/// What an expert makes of one token before its second product, and what rounding errors of it are
/// relative to.
struct Activation {
  double value;
  double size;
};

/// Adds to each sum its column of the rows from `row` on, times the row's value; one row after the
/// other, as if there were one sum only.
template <std::size_t kRows, typename Term>
void add_rows(std::vector<double>& sums,
              const std::array<double, kRows>& values,
              const void* rows,
              std::size_t row,
              bool bf16,
              const Term& term) {
  const std::size_t width = sums.size();
  double* const to = sums.data();
  const auto add = [&](bool is_bf16) {
    for (std::size_t i = 0; i < width; ++i) {
      double sum = to[i];
      for (std::size_t r = 0; r < kRows; ++r)
        sum += term(values[r] * load(rows, (row + r) * width + i, is_bf16));
      to[i] = sum;
    }
  };
  bf16 ? add(true) : add(false);
}

/// Sums of the first product may cancel: their errors in fp32 are those of their summands. In bf16
/// the rounding of the activation itself is larger than all of them.
std::vector<Activation> activations(
    const Shape& s, const void* w13, std::size_t local, const void* x, std::size_t token) {
  std::vector<double> sums(2 * s.inter);
  std::vector<double> sizes(2 * s.inter);
  constexpr std::size_t kRows = 8;  // of s.hidden, which is a multiple of 16
  for (std::size_t d = 0; d < s.hidden; d += kRows) {
    std::array<double, kRows> values;
    for (std::size_t r = 0; r < kRows; ++r)
      values[r] = load(x, token * s.hidden + d + r, s.bf16);
    const std::size_t row = local * s.hidden + d;
    add_rows(sums, values, w13, row, s.bf16, [](double part) { return part; });
    if (!s.bf16)
      add_rows(sizes, values, w13, row, false, [](double part) { return std::abs(part); });
  }
  std::vector<Activation> result(s.inter);
  for (std::size_t i = 0; i < s.inter; ++i) {
    const double gate = sums[i];
    const double up = sums[s.inter + i];
    const double sigmoid = 1.0 / (1.0 + std::exp(-gate));
    const double silu = gate * sigmoid;
    const double slope = sigmoid * (1.0 + gate * (1.0 - sigmoid));
    const double value = silu * up;
    const double summands = std::abs(slope * up) * sizes[i] + std::abs(silu) * sizes[s.inter + i];
    result[i] = {value, s.bf16 ? std::abs(value) : summands};
  }
  return result;
}

}  // namespace

extern "C" void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {
  const Shape s = read(*shape);
  const std::uint64_t own =
      stream(key, static_cast<std::uint64_t>(rank) * 8 + static_cast<std::uint64_t>(input));
  if (input == kRoute) {
    const auto route = routes(s, own);
    std::memcpy(bytes, route.data(), n_bytes);
  } else if (input == kGate) {
    for (std::size_t i = 0; i < n_bytes / 4; ++i)
      store(bytes, i, false, 0.55F + 0.45F * uniform(own, i));
  } else {
    // The first product is of size 1, where the gate bends.
    const float scale = input == kW13 ? 4.0F / std::sqrt(static_cast<float>(s.hidden)) : 1.0F;
    const auto which = static_cast<std::uint64_t>(input);
    fill(bytes, n_bytes, s.bf16, own, scale,
         input == kW2 ? style(key, which, -8, 8) : style(key, which, -2, 0));
  }
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
  const Shape s = read(*shape);
  const std::size_t local_experts = s.experts / s.ranks;
  const auto of = [&](std::size_t r, Input i) {
    return inputs[r * static_cast<std::size_t>(n_inputs) + static_cast<std::size_t>(i)];
  };
  const auto self = static_cast<std::size_t>(rank);
  std::fill_n(want, count, 0.0);
  std::fill_n(scale, count, 0.0);
  for (std::size_t begin = first; begin < first + count;) {
    const std::size_t token = begin / s.hidden;
    const std::size_t end = std::min(first + count, (token + 1) * s.hidden);
    for (std::size_t j = 0; j < s.top; ++j) {
      std::int32_t expert = 0;
      std::memcpy(&expert, static_cast<const char*>(of(self, kRoute)) + 4 * (token * s.top + j), 4);
      const std::size_t home = static_cast<std::size_t>(expert) / local_experts;
      const std::size_t local = static_cast<std::size_t>(expert) % local_experts;
      const double weight = load(of(self, kGate), token * s.top + j, false);
      const auto activation = activations(s, of(home, kW13), local, of(self, kX), token);
      for (std::size_t i = 0; i < s.inter; ++i) {
        const std::size_t from = (local * s.inter + i) * s.hidden + begin % s.hidden;
        for (std::size_t at = begin; at < end; ++at) {
          const double factor = weight * load(of(home, kW2), from + (at - begin), s.bf16);
          want[at - first] += factor * activation[i].value;
          scale[at - first] += std::abs(factor) * activation[i].size;
        }
      }
    }
    begin = end;
  }
}
