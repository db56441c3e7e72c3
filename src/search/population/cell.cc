// SPDX-License-Identifier: Apache-2.0
#include "search/population/cell.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::search {
namespace {

constexpr double kLittle = 0.05;
constexpr double kSome = 0.25;
constexpr double kAsMany = 0.1;  ///< More or fewer bytes than the seed's, as a share of them.

}  // namespace

Region region_of(const design::Directive& directive) {
  return {directive.backend, directive.placement, directive.sync};
}

double exposed_share(const candidate::Scored& scored) {
  double all = 0;
  double exposed = 0;
  for (const auto& shape : scored.shapes) {
    for (const auto& phase : shape.phases) {
      all += phase.seconds;
      if (phase.phase == candidate::kNotHidden || phase.phase == candidate::kPolling)
        exposed += phase.seconds;
    }
  }
  return all > 0 ? exposed / all : -1;
}

double wire_share(const candidate::Scored& scored, const candidate::Scored& seed) {
  double own = 0;
  double seeds = 0;
  for (const auto& shape : scored.shapes) {
    const auto other = std::ranges::find(seed.shapes, shape.shape, &candidate::ShapeTime::shape);
    if (other == seed.shapes.end() || shape.wire_bytes < 0 || other->wire_bytes < 0) continue;
    own += shape.wire_bytes;
    seeds += other->wire_bytes;
  }
  return seeds > 0 ? own / seeds : -1;
}

Wire wire_of(double share) {
  return share < 0             ? Wire::Unknown
         : share < 1 - kAsMany ? Wire::Fewer
         : share > 1 + kAsMany ? Wire::More
                               : Wire::Same;
}

std::string_view name(Wire wire) {
  switch (wire) {
    case Wire::Unknown:
      return "unknown";
    case Wire::Fewer:
      return "fewer";
    case Wire::Same:
      return "same";
    case Wire::More:
      return "more";
  }
  return "?";
}

Cell cell_of(const design::Directive& directive,
             const candidate::Scored& scored,
             const candidate::Scored* seed) {
  return {region_of(directive), exposed_of(exposed_share(scored)),
          wire_of(seed == nullptr ? -1 : wire_share(scored, *seed))};
}

Exposed exposed_of(double share) {
  return share < 0         ? Exposed::Unknown
         : share < kLittle ? Exposed::Little
         : share < kSome   ? Exposed::Some
                           : Exposed::Much;
}

std::string_view name(Exposed exposed) {
  switch (exposed) {
    case Exposed::Unknown:
      return "unknown";
    case Exposed::Little:
      return "little";
    case Exposed::Some:
      return "some";
    case Exposed::Much:
      return "much";
  }
  return "?";
}

std::string to_text(const Region& region) {
  return fmt::format("{} · {} · {}", design::name(region.backend), design::name(region.placement),
                     design::name(region.sync));
}

}  // namespace cuco::search
