// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole numbers that depend on a block's index in the grid, as an affine function of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace cuco::analysis {

using BlockIndex = std::array<std::uint32_t, 3>;

/// constant + by[0] * x + by[1] * y + by[2] * z.
struct Affine {
  std::int64_t constant = 0;
  /// Absent: all blocks that were seen have the same index there, so that nothing is known.
  std::array<std::optional<std::int64_t>, 3> by;

  [[nodiscard]] std::int64_t at(const BlockIndex& block) const;
};

struct AffineSample {
  BlockIndex block{};
  std::int64_t value = 0;
};

/// The function that all samples lie on; nothing if there is none with whole coefficients. The
/// samples may be any part of a grid: what fixes no coefficient leaves it absent.
[[nodiscard]] std::optional<Affine> fit_affine(std::span<const AffineSample> samples);

}  // namespace cuco::analysis
