// SPDX-License-Identifier: Apache-2.0
#include "search/race/rung_race.h"

#include <algorithm>
#include <utility>

#include "search/race/forecast.h"

namespace cuco::search {
using candidate::Fidelity;
using candidate::kSeed;
using candidate::Number;

namespace {

/// Times the finalists: so many of a crowd are judged once more before some get full shapes.
constexpr std::size_t kCrowd = 4;
/// Full shapes at once, whatever the number of jobs: what they show decides who comes next.
constexpr std::size_t kSideBySide = 2;

}  // namespace

Race::Race(candidate::Run& run, int finalists, bool survey)
    : run_(run), survey_(survey), target_(run.evaluator().target().kind) {
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

Race::Open Race::open(std::span<const Standing> field) const {
  Forecast forecast;
  for (const Standing& peer : field) {
    const double full = run_.speedup(peer.number, rung(Fidelity::Scaled));
    if (full > 0) forecast.learn(peer.region, peer.speedup, full);
  }
  Open open;
  for (const Standing& peer : field) {
    const candidate::Entry& entry = run_.entry(peer.number);
    const double full = run_.speedup(peer.number, rung(Fidelity::Scaled));
    const double expected = full > 0 ? full : forecast.expect(peer.region, peer.speedup);
    if (full > 0) {
      open.regions.insert(peer.region);
      open.fastest = std::max(open.fastest, full);
    } else if (entry.outcomes.contains(rung(Fidelity::Scaled)) ||
               entry.set_aside.contains(rung(Fidelity::Scaled))) {
      continue;
    } else {
      open.challengers.push_back(
          {peer.number, peer.region, expected, forecast.deviation(peer.region)});
    }
    open.leader = std::max(open.leader, expected);
  }
  return open;
}

Result<void> Race::promote(int most) {
  const auto wanted = std::min(rules_.most, static_cast<std::size_t>(std::max(most, 1)));
  PromotionRules wide = rules_;
  wide.most = kCrowd * rules_.most;
  // They need not beat the seed on a small shape: what pays on full ones may cost there.
  std::vector<Standing> field = peers(Fidelity::Quick);
  if (survey_) {
    std::vector<Number> all;
    for (const Standing& peer : field)
      all.push_back(peer.number);
    return run_.evaluate(all, rung(Fidelity::Scaled));
  }
  const std::vector<Number> crowd = promoted(field, wide);
  if (wanted == rules_.most && crowd.size() > 2 * rules_.most) {
    // One more rung is cheaper than full shapes for all of them.
    CUCO_TRY(run_.evaluate(crowd, rung(Fidelity::Standard)));
    field = peers(Fidelity::Standard);
  }
  const Open at_first = open(field);
  CUCO_TRY(
      run_.evaluate(regions_best(at_first.challengers, at_first.regions, at_first.leader, rules_),
                    rung(Fidelity::Scaled)));
  for (std::size_t left = wanted; left > 0 && !run_.stop_requested();) {
    const Open now = open(field);
    const auto next = worth_full_shapes(now.challengers, now.fastest, std::min(left, kSideBySide));
    if (next.empty()) break;
    CUCO_TRY(run_.evaluate(next, rung(Fidelity::Scaled)));
    left -= next.size();
  }
  return {};
}

Result<void> Race::promote_from(Number first) {
  std::vector<Number> list;
  for (const Standing& peer : peers(Fidelity::Quick)) {
    if (peer.number >= first) list.push_back(peer.number);
  }
  return run_.evaluate(list, rung(Fidelity::Scaled));
}

Result<std::optional<Number>> Race::confirm() {
  std::set<Number> tried;
  for (std::size_t left = rules_.most;;) {
    CUCO_TRY_ASSIGN(const auto winner, confirm_one(&tried));
    if (winner || left == 0 || run_.stop_requested()) return winner;
    // All were refused: those who come next, if anybody does.
    Open next = open(peers(Fidelity::Quick));
    std::erase_if(next.challengers, [](const Challenger& challenger) {
      return challenger.expected <= candidate::kLeastSpeedup;
    });
    std::ranges::stable_sort(next.challengers, std::ranges::greater(), &Challenger::expected);
    std::vector<Number> more;
    for (const Challenger& challenger : next.challengers) {
      if (more.size() < std::min(left, kSideBySide)) more.push_back(challenger.number);
    }
    if (more.empty()) return std::optional<Number>();
    CUCO_TRY(run_.evaluate(more, rung(Fidelity::Scaled)));
    left -= more.size();
  }
}

Result<std::optional<Number>> Race::confirm_one(std::set<Number>* tried) {
  std::vector<Standing> finalists = peers(Fidelity::Scaled);
  std::erase_if(finalists, [&](const Standing& peer) {
    return peer.speedup <= candidate::kLeastSpeedup || tried->contains(peer.number);
  });
  std::ranges::stable_sort(finalists, std::ranges::greater(), &Standing::speedup);
  for (const Standing& finalist : finalists) {
    if (run_.stop_requested()) break;
    const Number number = finalist.number;
    tried->insert(number);
    CUCO_TRY(run_.evaluate(std::span(&number, 1), rung(Fidelity::Final)));
    CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(number, kSeed, rung(Fidelity::Final)));
    if (!faster) continue;
    CUCO_TRY(run_.set_best(number));
    return std::optional(number);
  }
  return std::optional<Number>();
}

}  // namespace cuco::search
