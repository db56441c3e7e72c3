// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/changeable.h"

#include <algorithm>

#include "expert/standalone/header_place.h"

namespace cuco::expert {

using program::Region;

bool Changeable::holds(std::size_t at) const {
  return regions_.empty() || std::ranges::any_of(regions_, [&](const Region& region) {
           return region.begin <= at && at <= region.end;
         });
}

Result<std::size_t> Changeable::place_of_header(std::string_view text,
                                                const std::vector<program::Identifier>& names,
                                                std::size_t first_use) const {
  const std::size_t behind_include = place_of_include(text, names);
  if (holds(behind_include)) return behind_include;
  for (const Region& region : regions_) {
    const auto before = program::tokens(text.substr(0, region.begin));
    const bool outside = std::ranges::count(before, "{") == std::ranges::count(before, "}");
    if (outside && region.begin <= first_use) return region.begin;
  }
  return Error{ErrorKind::InvalidInput,
               "no evolve region before the first NCCL call is at file scope: headers go there"};
}

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

}  // namespace cuco::expert
