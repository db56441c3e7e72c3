// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random numbers of a search: keyed, never drawn from a common stream. What one decision draws
/// depends on the run's seed, on the decision and on what is being decided, so a policy that draws
/// once more in one place changes nothing in another.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace cuco::search {

/// What is drawn for. The numbers are part of what a seed means: add at the end.
enum class Draw : std::uint64_t {
  Arm = 1,
  Parent = 2,
  Inspiration = 3,
  Landscape = 4,
  Knob = 5,
  Audit = 6,
  Offer = 7,
};

[[nodiscard]] inline Rng keyed_rng(std::uint64_t seed, std::uint64_t decision, Draw what) {
  Rng by_seed(seed);
  Rng by_decision(by_seed.next() ^ decision);
  return Rng(by_decision.next() ^ (static_cast<std::uint64_t>(what) << 32U));
}

}  // namespace cuco::search
