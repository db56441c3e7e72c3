// SPDX-License-Identifier: Apache-2.0
#include "search/population/islands.h"

#include <algorithm>
#include <map>

namespace cuco::search {
namespace {

bool is_taken(const Island& island, const Member& member) {
  return !island.bound || *island.bound == member.cell.region.backend;
}

}  // namespace

Islands::Islands(IslandRules rules) : rules_(std::move(rules)) {
  for (const design::Backend backend : rules_.bound)
    islands_.push_back({.name = std::string(design::name(backend)), .bound = backend});
  // At least one takes everything.
  const auto count =
      std::max(static_cast<std::size_t>(std::max(rules_.count, 1)), rules_.bound.size() + 1);
  while (islands_.size() < count)
    islands_.push_back({.name = std::to_string(islands_.size() + 1)});
}

void Islands::start_from(std::vector<Member> survivors) {
  std::stable_sort(survivors.begin(), survivors.end(),
                   [](const Member& a, const Member& b) { return a.fitness > b.fitness; });
  std::map<Region, std::size_t> homes;
  for (const Member& member : survivors) {
    const auto wanted = homes.emplace(member.cell.region, homes.size() % islands_.size());
    islands_[home(wanted.first->second, member)].archive.add(member);
  }
  if (survivors.empty()) return;
  // Nobody starts with nothing.
  for (Island& island : islands_) {
    if (island.archive.empty() && is_taken(island, survivors.front()))
      island.archive.add(survivors.front());
  }
}

std::size_t Islands::choose() {
  const auto least =
      std::min_element(islands_.begin(), islands_.end(),
                       [](const Island& a, const Island& b) { return a.asked < b.asked; });
  ++least->asked;
  return static_cast<std::size_t>(least - islands_.begin());
}

std::size_t Islands::home(std::size_t wanted, const Member& member) const {
  if (is_taken(islands_[wanted], member)) return wanted;
  const auto found = std::find_if(islands_.begin(), islands_.end(),
                                  [&](const Island& island) { return is_taken(island, member); });
  return static_cast<std::size_t>(found - islands_.begin());
}

void Islands::see(std::size_t island, const std::optional<Member>& member) {
  const Member* fastest = best();
  const double before = fastest == nullptr ? 0 : fastest->fitness;
  if (member) islands_[home(island, *member)].archive.add(*member);
  const bool gained = member && member->fitness > before;
  since_gain_ = gained ? 0 : since_gain_ + 1;
  since_island_ = gained ? 0 : since_island_ + 1;
  if (rules_.migration > 0 && ++seen_ % rules_.migration == 0) migrate();
  if (rules_.stagnation > 0 && since_island_ >= rules_.stagnation) start_another();
}

void Islands::reassess(const Member& member) {
  for (Island& island : islands_) {
    const auto members = island.archive.members();
    const bool there = std::any_of(members.begin(), members.end(),
                                   [&](const Member& old) { return old.number == member.number; });
    if (there) island.archive.add(member);
  }
}

const Member* Islands::best() const {
  const Member* found = nullptr;
  for (const Island& island : islands_) {
    const Member* best = island.archive.best();
    if (best != nullptr && (found == nullptr || best->fitness > found->fitness)) found = best;
  }
  return found;
}

void Islands::migrate() {
  // From what each has before anybody arrives: the order of islands must not matter.
  std::vector<std::optional<Member>> travellers;
  for (const Island& island : islands_) {
    const Member* best = island.archive.best();
    travellers.push_back(best == nullptr ? std::nullopt : std::optional(*best));
  }
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& neighbour = islands_[(i + 1) % islands_.size()];
    if (travellers[i] && is_taken(neighbour, *travellers[i])) neighbour.archive.add(*travellers[i]);
  }
}

void Islands::start_another() {
  since_island_ = 0;
  if (static_cast<int>(islands_.size()) >= rules_.most) return;
  const Member* fastest = best();
  if (fastest == nullptr) return;
  std::optional<Member> other;
  for (const Island& island : islands_) {
    for (const Member& elite : island.archive.elites()) {
      if (elite.cell.region == fastest->cell.region) continue;
      if (!other || elite.fitness > other->fitness) other = elite;
    }
  }
  Island fresh{.name = std::to_string(islands_.size() + 1)};
  fresh.archive.add(other.value_or(*fastest));
  // It joins the others, it does not catch up with them.
  fresh.asked =
      std::min_element(islands_.begin(), islands_.end(), [](const Island& a, const Island& b) {
        return a.asked < b.asked;
      })->asked;
  islands_.push_back(std::move(fresh));
}

}  // namespace cuco::search
