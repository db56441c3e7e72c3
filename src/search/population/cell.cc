// SPDX-License-Identifier: Apache-2.0
#include "search/population/cell.h"

#include <fmt/format.h>

namespace cuco::search {
namespace {

constexpr double kLittle = 0.05;
constexpr double kSome = 0.25;

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

Cell cell_of(const design::Directive& directive, const candidate::Scored& scored) {
  return {region_of(directive), exposed_of(exposed_share(scored))};
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
