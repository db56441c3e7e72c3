// SPDX-License-Identifier: Apache-2.0
#include "search/race/rung_race.h"

#include <algorithm>
#include <limits>

namespace cuco::search {
using candidate::Fidelity;
using candidate::kSeed;
using candidate::Number;

Race::Race(candidate::Run& run, int finalists) : run_(run), target_(run.evaluator().target().kind) {
  rules_.most = static_cast<std::size_t>(std::max(finalists, 1));
}

std::vector<Standing> Race::peers(Fidelity fidelity) const {
  std::vector<Standing> list;
  for (Number number = kSeed + 1; number < run_.candidates(); ++number) {
    const double speedup = run_.speedup(number, rung(fidelity));
    if (speedup > 0)
      list.push_back({number, region_of(run_.entry(number).candidate.directive), speedup});
  }
  return list;
}

Result<void> Race::promote(int most) {
  // They need not beat the seed on a small shape: what pays on full ones may cost there.
  PromotionRules rules = rules_;
  rules.most = std::min(rules.most, static_cast<std::size_t>(std::max(most, 1)));
  PromotionRules all = rules;
  all.most = std::numeric_limits<std::size_t>::max();
  std::vector<Number> standing = promoted(peers(Fidelity::Quick), all);
  if (standing.size() > 2 * rules_.most && rules.most == rules_.most) {
    // A crowd: one more rung is cheaper than full shapes for all of them.
    CUCO_TRY(run_.evaluate(standing, rung(Fidelity::Standard)));
    standing = promoted(peers(Fidelity::Standard), rules);
  } else {
    standing = promoted(peers(Fidelity::Quick), rules);
  }
  return run_.evaluate(standing, rung(Fidelity::Scaled));
}

Result<std::optional<Number>> Race::confirm() {
  std::vector<Standing> finalists = peers(Fidelity::Scaled);
  std::erase_if(finalists,
                [](const Standing& peer) { return peer.speedup <= candidate::kLeastSpeedup; });
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const Standing& a, const Standing& b) { return a.speedup > b.speedup; });
  for (const Standing& finalist : finalists) {
    if (run_.stop_requested()) break;
    const Number number = finalist.number;
    CUCO_TRY(run_.evaluate(std::span(&number, 1), rung(Fidelity::Final)));
    CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(number, kSeed, rung(Fidelity::Final)));
    if (!faster) continue;
    CUCO_TRY(run_.set_best(number));
    return std::optional(number);
  }
  return std::optional<Number>();
}

}  // namespace cuco::search
