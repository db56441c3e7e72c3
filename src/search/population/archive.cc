// SPDX-License-Identifier: Apache-2.0
#include "search/population/archive.h"

#include <algorithm>

namespace cuco::search {
namespace {

bool is_better(const Member& a, const Member& b) {
  return a.fitness != b.fitness ? a.fitness > b.fitness : a.number < b.number;
}

}  // namespace

bool Archive::add(const Member& member) {
  // A higher rung may put it into another cell: it must not stand in both.
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    std::erase_if(cell->second, [&](const Member& old) { return old.number == member.number; });
    cell = cell->second.empty() ? cells_.erase(cell) : std::next(cell);
  }
  auto& cell = cells_[member.cell];
  cell.insert(std::upper_bound(cell.begin(), cell.end(), member, is_better), member);
  if (cell.size() <= kPerCell) return true;
  const bool kept = cell.back().number != member.number;
  cell.pop_back();
  return kept;
}

std::vector<Member> Archive::members() const {
  std::vector<Member> all;
  for (const auto& [cell, members] : cells_)
    all.insert(all.end(), members.begin(), members.end());
  return all;
}

std::vector<Member> Archive::elites() const {
  std::vector<Member> all;
  for (const auto& [cell, members] : cells_)
    all.push_back(members.front());
  return all;
}

const Member* Archive::best() const {
  const Member* found = nullptr;
  for (const auto& [cell, members] : cells_) {
    if (found == nullptr || is_better(members.front(), *found)) found = &members.front();
  }
  return found;
}

}  // namespace cuco::search
