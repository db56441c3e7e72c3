// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a candidate stands in the grid of an archive: facts of its design, and two that were
/// measured. Bins are fixed, so that a cell means the same at the end of a run as at its start.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "candidate/outcome.h"
#include "design/directive.h"

namespace cuco::search {

/// Designs that differ in nothing but knobs are of one region.
struct Region {
  design::Backend backend = design::Backend::Host;
  design::Placement placement = design::Placement::HostOrdered;
  design::SyncScope sync = design::SyncScope::GlobalBarrier;
  auto operator<=>(const Region&) const = default;
};

/// How much of the time is communication that nothing hides.
enum class Exposed { Unknown, Little, Some, Much };

/// How many bytes the links carry, beside the seed's on the same shapes.
enum class Wire { Unknown, Fewer, Same, More };

struct Cell {
  Region region;
  Exposed exposed = Exposed::Unknown;
  Wire wire = Wire::Unknown;
  auto operator<=>(const Cell&) const = default;
};

[[nodiscard]] Region region_of(const design::Directive& directive);
/// `seed`: its verdict at the same rung; may be null.
[[nodiscard]] Cell cell_of(const design::Directive& directive,
                           const candidate::Scored& scored,
                           const candidate::Scored* seed);

/// The share of all timed shapes' time that is spent on collectives and copies that nothing hides,
/// or on polling for signals; negative where nothing was profiled.
[[nodiscard]] double exposed_share(const candidate::Scored& scored);

/// The bin of such a share.
[[nodiscard]] Exposed exposed_of(double share);

/// What the links carry on all shapes that both have, as a multiple of the seed's; negative where
/// that is not known, or the seed sends nothing.
[[nodiscard]] double wire_share(const candidate::Scored& scored, const candidate::Scored& seed);

/// The bin of such a share.
[[nodiscard]] Wire wire_of(double share);

/// "fewer", "same", "more", "unknown".
[[nodiscard]] std::string_view name(Wire wire);

/// "little", "some", "much", "unknown".
[[nodiscard]] std::string_view name(Exposed exposed);

/// "LSA · producer-fused · per-chunk flag".
[[nodiscard]] std::string to_text(const Region& region);

}  // namespace cuco::search
