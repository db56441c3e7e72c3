// SPDX-License-Identifier: Apache-2.0
#include "design/dimensions.h"

#include <array>
#include <cmath>

namespace cuco::design {
namespace {

template <auto Get>
constexpr Dimension dimension(std::string_view name, bool is_quantity, int weight) {
  return {name, [](const Directive& from) { return static_cast<double>(Get(from)); },
          [](const Directive& from, Directive* to) { Get(*to) = Get(from); }, is_quantity, weight};
}

#define CUCO_DIMENSION(member) dimension<[](auto& directive) -> auto& { return directive.member; }>

constexpr auto kDimensions = std::to_array<Dimension>({
    CUCO_DIMENSION(backend)("backend", false, 4),
    CUCO_DIMENSION(placement)("placement", false, 4),
    CUCO_DIMENSION(sync)("sync", false, 2),
    CUCO_DIMENSION(issuer.unit)("issuer", false, 1),
    CUCO_DIMENSION(issuer.count)("issuers", true, 1),
    CUCO_DIMENSION(chunk.kind)("chunk", false, 1),
    CUCO_DIMENSION(chunk.bytes)("chunk bytes", true, 1),
    CUCO_DIMENSION(kernel.vector_bytes)("vector bytes", true, 1),
    CUCO_DIMENSION(kernel.rounds)("rounds", true, 1),
    CUCO_DIMENSION(kernel.shuffles)("shuffles", false, 1),
    CUCO_DIMENSION(kernel.fast_math)("fast math", false, 1),
    CUCO_DIMENSION(kernel.read_only)("read-only loads", false, 1),
    CUCO_DIMENSION(kernel.fitted)("fitted launches", false, 1),
    CUCO_DIMENSION(kernel.threads)("threads", true, 1),
    CUCO_DIMENSION(kernel.blocks_per_row)("blocks per row", true, 1),
    CUCO_DIMENSION(kernel.rows_per_block)("rows per block", true, 1),
});

#undef CUCO_DIMENSION

}  // namespace

std::span<const Dimension> dimensions() {
  return kDimensions;
}

int distance(const Directive& a, const Directive& b) {
  int sum = 0;
  for (const Dimension& dimension : kDimensions) {
    if (dimension.value(a) != dimension.value(b)) sum += dimension.weight;
  }
  return sum;
}

double likeness(const Dimension& dimension, const Directive& a, const Directive& b) {
  const double mine = dimension.value(a);
  const double other = dimension.value(b);
  if (mine == other) return 1;
  if (!dimension.is_quantity || mine <= 0 || other <= 0) return 0;
  return std::exp(-std::abs(std::log2(mine / other)));
}

}  // namespace cuco::design
