// SPDX-License-Identifier: Apache-2.0
#include "search/race/promotion.h"

#include <algorithm>
#include <set>

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

}  // namespace cuco::search
