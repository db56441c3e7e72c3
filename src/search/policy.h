// SPDX-License-Identifier: Apache-2.0
/// \file
/// Policy: how a search decides, as data. Each part can be switched off, so that what it adds can
/// be measured; the baselines that every search has to beat are policies, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::search {

/// Which candidate is to be improved.
enum class ParentRule {
  Weighted,  ///< sigmoid of the distance from the median, less for those with many children.
  PowerLaw,  ///< Rank to the power of -1.
  Best,      ///< Always the fastest.
  Start,     ///< Always what the search started from: best of N.
  Random,    ///< Any that is correct.
};

struct Policy {
  std::string name = "search";
  ParentRule parents = ParentRule::Weighted;
  bool enumerate = true;       ///< Finite spaces of proposers are raced first.
  bool draws = false;          ///< Of listed spaces any is raced next, not what promises most.
  bool survey = false;         ///< All that is correct gets full shapes: for replays to draw from.
  bool bandit = true;          ///< Off: proposers and operations take turns.
  bool plans = true;           ///< Tree search over plans; off: every rewrite starts from a parent.
  bool repair = true;          ///< Near misses get another try, with the finding.
  bool forecast = true;        ///< Jumps to designs that promise most by those so far.
  bool inspirations = true;    ///< Others' candidates and instructive failures are shown.
  int islands = 0;             ///< 0: by the budget.
  double explore_share = 0.4;  ///< Of the budget; the rest is for exploitation.
  int stagnation = 12;         ///< So many candidates without a gain end a phase, or add an island.
  int migration = 8;           ///< Candidates between two migrations.
  int round = 8;               ///< Candidates between two promotions to the next rung.
};

/// "search", "greedy", "power-law", "random", "best-of-n" or "survey", then parts to switch off:
/// "search, no-bandit,no-plans". The error lists what there is.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text);

/// The names that parse_policy() takes, without parts.
[[nodiscard]] std::vector<std::string> policy_names();

}  // namespace cuco::search
