// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offers: what proposers with a finite space can make, and which of it to ask for next.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "candidate/proposer.h"
#include "candidate/run.h"
#include "search/forecast/design_forecast.h"

namespace cuco::search {

class Offers {
 public:
  struct Choice {
    std::size_t place = 0;  ///< In its proposer's list.
    candidate::Offer offer;
  };

  /// Lists what the proposers offer and the run does not have yet.
  Offers(const candidate::Run& run, const std::vector<candidate::Proposer*>& proposers);

  /// What their authors expect of a design; 1 where nobody offers it.
  [[nodiscard]] double promise_of(const design::Directive& directive) const;

  /// The next of a proposer's list, not to be chosen again; nothing: it lists nothing more.
  [[nodiscard]] std::optional<Choice> first(const candidate::Proposer* proposer);
  /// Any of them.
  [[nodiscard]] std::optional<Choice> any(const candidate::Proposer* proposer, Rng random);
  /// The one that promises most over `best`, a speed-up; any of those that promise the same. As
  /// long as little is known, that is by how much it differs from all that is known, and by what
  /// its author expects; later, what it has in common with the best.
  [[nodiscard]] std::optional<Choice> most_promising(const candidate::Proposer* proposer,
                                                     const DesignForecast& forecast,
                                                     double best,
                                                     Rng random);

 private:
  std::optional<Choice> take(const candidate::Proposer* proposer, std::size_t index);

  std::map<const candidate::Proposer*, std::vector<Choice>> open_;
  std::map<design::Directive, double> promise_;
  std::set<std::string> kinds_;  ///< Something of which was chosen.
};

}  // namespace cuco::search
