// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enumeration: proposers with a finite space of their own are asked for all of it, in turn.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "search/budget.h"
#include "search/incumbent.h"
#include "search/roster.h"

namespace cuco::search {

class Enumeration final : public candidate::Strategy {
 public:
  /// All must outlive it. At most `most` candidates come of it.
  Enumeration(candidate::Run& run,
              Roster& roster,
              Spending& spending,
              Incumbent& incumbent,
              int most,
              std::string phase)
      : run_(run),
        roster_(roster),
        spending_(spending),
        incumbent_(incumbent),
        most_(most),
        phase_(std::move(phase)) {}

  std::optional<candidate::Assignment> next(int unseen) override;
  Result<void> see(const candidate::Seen& seen) override;

  /// Why there is nothing more to enumerate.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::optional<candidate::Assignment> ends(std::string reason);

  candidate::Run& run_;
  Roster& roster_;
  Spending& spending_;
  Incumbent& incumbent_;
  int most_;
  std::string phase_;
  int given_ = 0;
  std::string reason_;
};

}  // namespace cuco::search
