// SPDX-License-Identifier: Apache-2.0
#include "search/search.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "search/enumeration.h"
#include "search/race/rung_race.h"

namespace cuco::search {
namespace {
using candidate::Fidelity;
using candidate::Proposer;
using candidate::Run;

constexpr int kPerRound = 2;  ///< Beside the best of every region, so many get full shapes.

/// The parts of one search, and the order in which they come.
class Search {
 public:
  Search(Run& run, std::span<Proposer* const> proposers, const SearchOptions& options)
      : run_(run),
        options_(options),
        race_(run, options.finalists, options.policy.survey),
        spending_(options.budget, run.clock(), run.candidates()),
        incumbent_(run, race_.rung(Fidelity::Quick), options.incumbent, options.start) {
    for (Proposer* proposer : proposers)
      (proposer->enumerates() && options.policy.enumerate ? finite_ : others_).push_back(proposer);
  }

  Result<SearchResult> run() {
    CUCO_TRY(enumerate());
    if (!others_.empty() && !run_.stop_requested()) CUCO_TRY(evolve());
    if (run_.stop_requested()) return SearchResult{.reason = "interrupted"};
    CUCO_TRY(race_.promote());
    CUCO_TRY_ASSIGN(const auto winner, race_.confirm());
    if (run_.stop_requested()) reason_ = "interrupted";
    return SearchResult{winner, reason_, !spending_.by_time()};
  }

 private:
  Result<void> enumerate() {
    if (finite_.empty()) return {};
    Roster roster(finite_);
    // Who can go on from what was found gets half of what there is; who turns knobs, a quarter.
    const bool only_tune = std::ranges::all_of(others_, [](const Proposer* other) {
      return other->operations() == std::vector{candidate::Operation::Tune};
    });
    const int most = others_.empty() ? std::numeric_limits<int>::max()
                     : only_tune     ? spending_.left() - spending_.left() / 4
                                     : spending_.left() / 2;
    Enumeration enumeration(run_, roster, spending_, incumbent_, most, options_.policy,
                            options_.background.prior);
    for (;;) {
      CUCO_TRY(run_.pursue(enumeration, incumbent_.rung()));
      if (enumeration.is_over() || run_.stop_requested()) break;
      CUCO_TRY(race_.promote(kPerRound));
      enumeration.end_round();
    }
    reason_ = enumeration.reason();
    if (others_.empty() || run_.stop_requested()) return {};
    return race_.promote();
  }

  Result<void> evolve() {
    Roster roster(others_);
    // Who goes on from the fast path's version has to know where its time goes on full shapes.
    if (finite_.empty()) CUCO_TRY(race_.promote(kPerRound));
    Evolution evolution(run_, roster, spending_, incumbent_, options_.policy, options_.background);
    CUCO_TRY(evolution.start());
    while (!evolution.is_over()) {
      const candidate::Number before = run_.candidates();
      CUCO_TRY(run_.pursue(evolution, incumbent_.rung()));
      if (run_.stop_requested()) break;
      const bool few = evolution.round_size() <= kPerRound;
      if (few) CUCO_TRY(race_.promote_from(before));
      if (evolution.is_over()) break;
      if (!few) CUCO_TRY(race_.promote(kPerRound));
      CUCO_TRY(evolution.end_round());
    }
    reason_ = evolution.reason();
    return {};
  }

  Run& run_;
  const SearchOptions& options_;
  Race race_;
  Spending spending_;
  Incumbent incumbent_;
  std::vector<Proposer*> finite_;  ///< Have a space of their own.
  std::vector<Proposer*> others_;
  std::string reason_ = "no more ideas";
};

}  // namespace

Result<SearchResult> search(Run& run,
                            std::span<Proposer* const> proposers,
                            const SearchOptions& options) {
  return Search(run, proposers, options).run();
}

}  // namespace cuco::search
