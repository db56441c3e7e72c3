// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roster: the proposers that can still be asked. One without further ideas drops out, and so does
/// one that cannot be asked time after time.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "candidate/strategy.h"

namespace cuco::search {

class Roster {
 public:
  explicit Roster(std::vector<candidate::Proposer*> proposers) : proposers_(std::move(proposers)) {}

  [[nodiscard]] bool empty() const { return proposers_.empty(); }
  [[nodiscard]] const std::vector<candidate::Proposer*>& all() const { return proposers_; }

  /// Each in its turn; the roster must not be empty.
  [[nodiscard]] candidate::Proposer* next();

  /// What a decision of one of them gave.
  void see(const candidate::Seen& seen);

  /// Why it is empty: "no more ideas", or what went wrong last.
  [[nodiscard]] std::string why_empty() const;

 private:
  /// Nobody, if whom the store names is not here any more.
  [[nodiscard]] candidate::Proposer* who_was_asked(const candidate::Seen& seen) const;
  void drop(candidate::Proposer* proposer);

  std::vector<candidate::Proposer*> proposers_;
  std::size_t turn_ = 0;
  std::map<candidate::Proposer*, int> failures_;  ///< In a row.
  std::string last_failure_;
};

}  // namespace cuco::search
