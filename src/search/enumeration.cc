// SPDX-License-Identifier: Apache-2.0
#include "search/enumeration.h"

namespace cuco::search {

std::optional<candidate::Assignment> Enumeration::ends(std::string reason) {
  reason_ = std::move(reason);
  return std::nullopt;
}

std::optional<candidate::Assignment> Enumeration::next(int unseen) {
  if (run_.stop_requested()) return ends("interrupted");
  if (auto over = spending_.over(unseen)) return ends(*std::move(over));
  if (given_ + unseen >= most_) return ends("share of the budget used up");
  if (roster_.empty()) return ends(roster_.why_empty());
  candidate::Assignment assignment{.proposer = roster_.next()};
  assignment.task.phase = phase_;
  assignment.task.parent = incumbent_.to_improve();
  return assignment;
}

Result<void> Enumeration::see(const candidate::Seen& seen) {
  roster_.see(seen);
  if (!seen.candidate) return {};
  ++given_;
  spending_.add_candidate();
  CUCO_TRY(incumbent_.challenge(*seen.candidate));
  return {};
}

}  // namespace cuco::search
