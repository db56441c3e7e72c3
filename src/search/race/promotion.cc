// SPDX-License-Identifier: Apache-2.0
#include "search/race/promotion.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "search/forecast/normal.h"

namespace cuco::search {

std::vector<candidate::Number> promoted(std::vector<Standing> peers, const PromotionRules& rules) {
  std::erase_if(peers, [](const Standing& peer) { return peer.speedup <= 0; });
  if (peers.empty()) return {};
  std::sort(peers.begin(), peers.end(), [](const Standing& a, const Standing& b) {
    return a.speedup != b.speedup ? a.speedup > b.speedup : a.number < b.number;
  });
  const double least = rules.hopeless * peers.front().speedup;
  const std::size_t half = (peers.size() + 1) / 2;
  std::vector<candidate::Number> first;
  std::vector<candidate::Number> others;
  std::set<Region> regions;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    const Standing& peer = peers[rank];
    if (regions.insert(peer.region).second && peer.speedup >= least) {
      first.push_back(peer.number);
    } else if (rank < half) {
      others.push_back(peer.number);
    }
  }
  const std::size_t most = std::max<std::size_t>(rules.most, 1);
  const std::size_t left = most > first.size() ? most - first.size() : 0;
  others.resize(std::min(others.size(), left));
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

std::vector<candidate::Number> regions_best(std::span<const Challenger> challengers,
                                            const std::set<Region>& known,
                                            double leader,
                                            const PromotionRules& rules) {
  std::map<Region, const Challenger*> best;
  for (const Challenger& challenger : challengers) {
    if (known.contains(challenger.region) || challenger.expected < rules.hopeless * leader)
      continue;
    const Challenger*& found = best[challenger.region];
    if (found == nullptr || challenger.expected > found->expected) found = &challenger;
  }
  std::vector<const Challenger*> sorted;
  for (const auto& [region, challenger] : best)
    sorted.push_back(challenger);
  std::ranges::sort(sorted, [](const Challenger* a, const Challenger* b) {
    return a->expected != b->expected ? a->expected > b->expected : a->number < b->number;
  });
  std::vector<candidate::Number> list;
  for (const Challenger* challenger : sorted)
    list.push_back(challenger->number);
  return list;
}

std::vector<candidate::Number> worth_full_shapes(std::vector<Challenger> challengers,
                                                 double fastest,
                                                 std::size_t most) {
  constexpr double kLeastGain = 0.005;
  std::vector<candidate::Number> list;
  double bar = std::log(std::max(fastest, 1.0));
  while (list.size() < most) {
    auto best = challengers.end();
    double gain = kLeastGain;
    for (auto at = challengers.begin(); at != challengers.end(); ++at) {
      const double hoped = expected_above(std::log(at->expected), at->deviation, bar);
      if (hoped <= gain) continue;
      gain = hoped;
      best = at;
    }
    if (best == challengers.end()) break;
    list.push_back(best->number);
    // The next one has to be better than this one is believed to be.
    bar = std::max(bar, std::log(best->expected));
    challengers.erase(best);
  }
  return list;
}

}  // namespace cuco::search
