// SPDX-License-Identifier: Apache-2.0
// Blocks of a grid differ in one index only from some other one, nearly always: then a coefficient
// is the difference of two values. Where the blocks that took part lie in no such order (a
// diagonal) the coefficients are not determined one by one, and no function is claimed.
#include "analysis/trace/affine.h"

#include <map>
#include <utility>

namespace cuco::analysis {
namespace {

/// Two samples whose blocks differ along this axis alone.
std::optional<std::pair<AffineSample, AffineSample>> neighbours(
    std::span<const AffineSample> samples, std::size_t axis) {
  std::map<BlockIndex, AffineSample> seen;  // By the other two indices.
  for (const AffineSample& sample : samples) {
    BlockIndex others = sample.block;
    others[axis] = 0;
    const auto [found, is_new] = seen.try_emplace(others, sample);
    if (!is_new && found->second.block[axis] != sample.block[axis])
      return std::pair(found->second, sample);
  }
  return std::nullopt;
}

bool varies(std::span<const AffineSample> samples, std::size_t axis) {
  for (const AffineSample& sample : samples) {
    if (sample.block[axis] != samples.front().block[axis]) return true;
  }
  return false;
}

}  // namespace

std::int64_t Affine::at(const BlockIndex& block) const {
  std::int64_t value = constant;
  for (std::size_t axis = 0; axis < 3; ++axis)
    value += by[axis].value_or(0) * static_cast<std::int64_t>(block[axis]);
  return value;
}

std::optional<Affine> fit_affine(std::span<const AffineSample> samples) {
  if (samples.empty()) return std::nullopt;
  Affine fit;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!varies(samples, axis)) continue;
    const auto pair = neighbours(samples, axis);
    if (!pair) return std::nullopt;
    const auto& [a, b] = *pair;
    const std::int64_t steps =
        static_cast<std::int64_t>(b.block[axis]) - static_cast<std::int64_t>(a.block[axis]);
    if ((b.value - a.value) % steps != 0) return std::nullopt;
    fit.by[axis] = (b.value - a.value) / steps;
  }
  fit.constant = samples.front().value - fit.at(samples.front().block);
  for (const AffineSample& sample : samples) {
    if (fit.at(sample.block) != sample.value) return std::nullopt;
  }
  return fit;
}

}  // namespace cuco::analysis
