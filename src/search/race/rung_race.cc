// SPDX-License-Identifier: Apache-2.0
#include "search/race/rung_race.h"

#include <algorithm>
#include <utility>

namespace cuco::search {
using candidate::Fidelity;
using candidate::kSeed;
using candidate::Number;

namespace {

/// Times the finalists: so many of a crowd are judged once more before some get full shapes.
constexpr std::size_t kCrowd = 4;

}  // namespace

Race::Race(candidate::Run& run, int finalists) : run_(run), target_(run.evaluator().target().kind) {
  rules_.most = static_cast<std::size_t>(std::max(finalists, 1));
}

std::vector<Standing> Race::peers(Fidelity fidelity) const {
  std::vector<Standing> list;
  for (Number number = kSeed + 1; number < run_.candidates(); ++number) {
    // A twin would say again what the first with its machine code says.
    const bool twin = run_.entry(number).same_as.contains(rung(fidelity));
    const double speedup = twin ? 0 : run_.speedup(number, rung(fidelity));
    if (speedup > 0)
      list.push_back({number, region_of(run_.entry(number).candidate.directive), speedup});
  }
  return list;
}

Result<void> Race::promote(int most) {
  PromotionRules rules = rules_;
  rules.most = std::min(rules.most, static_cast<std::size_t>(std::max(most, 1)));
  PromotionRules wide = rules_;
  wide.most = kCrowd * rules_.most;
  // They need not beat the seed on a small shape: what pays on full ones may cost there.
  std::vector<Standing> field = peers(Fidelity::Quick);
  const std::vector<Number> crowd = promoted(field, wide);
  if (rules.most == rules_.most && crowd.size() > 2 * rules_.most) {
    // One more rung is cheaper than full shapes for all of them.
    CUCO_TRY(run_.evaluate(crowd, rung(Fidelity::Standard)));
    field = peers(Fidelity::Standard);
  }
  return run_.evaluate(promoted(std::move(field), rules), rung(Fidelity::Scaled));
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
