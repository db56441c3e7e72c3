// SPDX-License-Identifier: Apache-2.0
#include "search/roster.h"

#include <algorithm>

#include "base/assert.h"

namespace cuco::search {
namespace {

constexpr int kMostFailures = 3;  ///< In a row; then a proposer is not asked any more.

}  // namespace

candidate::Proposer* Roster::next() {
  CUCO_ASSERT(!proposers_.empty());
  turn_ %= proposers_.size();
  return proposers_[turn_++];
}

void Roster::see(const candidate::Seen& seen) {
  candidate::Proposer* const asked = who_was_asked(seen);
  if (seen.candidate) {
    failures_[asked] = 0;
    return;
  }
  if (seen.set_aside) last_failure_ = seen.reason;
  if (!seen.set_aside || ++failures_[asked] >= kMostFailures) drop(asked);
}

candidate::Proposer* Roster::who_was_asked(const candidate::Seen& seen) const {
  if (seen.asked.empty() || seen.asked == seen.proposer->name()) return seen.proposer;
  const auto found = std::ranges::find(proposers_, seen.asked, &candidate::Proposer::name);
  return found == proposers_.end() ? nullptr : *found;
}

std::string Roster::why_empty() const {
  return last_failure_.empty() ? "no more ideas" : "no proposer left: " + last_failure_;
}

void Roster::drop(candidate::Proposer* proposer) {
  const auto found = std::find(proposers_.begin(), proposers_.end(), proposer);
  if (found == proposers_.end()) return;
  // The others keep their turns.
  if (found - proposers_.begin() < static_cast<std::ptrdiff_t>(turn_)) --turn_;
  proposers_.erase(found);
}

}  // namespace cuco::search
