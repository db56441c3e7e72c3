// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/abstract_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace cuco::analysis {
namespace {

constexpr int kLongestCopy = 16;  // of a copy of a copy

/// "[3]" and "[]" may be the same element; all else has to be equal.
bool may_be_same(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto next_a = std::min(a.find_first_of(".[", 1), a.size());
    const auto next_b = std::min(b.find_first_of(".[", 1), b.size());
    const auto part_a = a.substr(0, next_a);
    const auto part_b = b.substr(0, next_b);
    const bool any = part_a == kAnyElement || part_b == kAnyElement;
    if (part_a != part_b && !(any && part_a[0] == '[' && part_b[0] == '[')) return false;
    a.remove_prefix(next_a);
    b.remove_prefix(next_b);
  }
  return a.empty() && b.empty();
}

std::string name_of(const Object& owner, const std::string& path) {
  const auto dot = path.rfind('.');
  if (dot != std::string::npos) return path.substr(dot + 1);
  return owner.name + path;
}

}  // namespace

void merge(Places& into, const Places& more) {
  into.insert(more.begin(), more.end());
}

Place part(const Place& place, const std::string& path) {
  return {place.object, place.path + path};
}

Places parts(const Places& places, const std::string& path) {
  Places found;
  for (const auto& place : places)
    found.insert(part(place, path));
  return found;
}

std::string element(long long index) {
  return fmt::format("[{}]", index);
}

int AbstractMemory::object(const std::string& key, const Object& made) {
  const auto [known, added] = keys_.try_emplace(key, static_cast<int>(objects_.size()));
  if (added) objects_.push_back(made);
  return known->second;
}

Places AbstractMemory::found(const Place& place, Places& seen) const {
  Places all;
  if (!seen.insert(place).second) return all;
  const auto first = contents_.lower_bound({place.object, ""});
  for (auto at = first; at != contents_.end() && at->first.object == place.object; ++at) {
    if (may_be_same(at->first.path, place.path)) all.insert(at->second.begin(), at->second.end());
  }
  if (!all.empty()) return all;
  // Not stored here: perhaps in what this object, or the part around it, is a copy of.
  for (auto at = copies_.lower_bound({place.object, ""});
       at != copies_.end() && at->first.object == place.object; ++at) {
    const auto& prefix = at->first.path;
    if (!place.path.starts_with(prefix)) continue;
    for (const auto& source : at->second) {
      const auto more = found(part(source, place.path.substr(prefix.size())), seen);
      all.insert(more.begin(), more.end());
    }
  }
  return all;
}

/// Where an unknown pointer is kept: at the end of the copies, so that all copies share it.
Place AbstractMemory::home(const Place& place) const {
  Place at = place;
  for (int i = 0; i < kLongestCopy; ++i) {
    bool moved = false;
    for (auto copy = copies_.lower_bound({at.object, ""});
         copy != copies_.end() && copy->first.object == at.object; ++copy) {
      const auto& prefix = copy->first.path;
      if (!at.path.starts_with(prefix) || copy->second.empty()) continue;
      at = part(*copy->second.begin(), at.path.substr(prefix.size()));
      moved = true;
      break;
    }
    if (!moved) break;
  }
  return at;
}

Places AbstractMemory::load(const Places& places, bool pointer) {
  Places all;
  for (const auto& place : places) {
    Places seen;
    const auto here = found(place, seen);
    all.insert(here.begin(), here.end());
    // One of a list that was given: it may also be one that nobody has looked at yet.
    const auto& list = at(place.object);
    const bool one_of_many = place.path.ends_with(kAnyElement) && !list.role.empty();
    if ((!here.empty() && !one_of_many) || !pointer || contents_.contains(place)) continue;
    const auto kept = home(place);
    const auto& owner = at(kept.object);
    const Object unknown{.kind = ObjectKind::Unknown,
                         .name = name_of(owner, kept.path),
                         .role = owner.role,
                         .origin = {kept},
                         .span = owner.span};
    const int made = object(fmt::format("behind {} {}", kept.object, kept.path), unknown);
    contents_[kept].insert({made, ""});
    all.insert({made, ""});
  }
  return all;
}

void AbstractMemory::store(const Places& places, const Places& value, bool replace) {
  for (const auto& place : places) {
    auto& held = contents_[place];
    if (replace && places.size() == 1) held.clear();
    held.insert(value.begin(), value.end());
  }
}

void AbstractMemory::copy(const Places& to, const Places& from) {
  for (const auto& target : to) {
    for (const auto& source : from) {
      if (source == target) continue;
      std::map<Place, Places> added;
      for (auto at = contents_.lower_bound({source.object, ""});
           at != contents_.end() && at->first.object == source.object; ++at) {
        if (!at->first.path.starts_with(source.path)) continue;
        added[part(target, at->first.path.substr(source.path.size()))].insert(at->second.begin(),
                                                                              at->second.end());
      }
      for (auto& [place, value] : added)
        contents_[place].insert(value.begin(), value.end());
      if (source.object != target.object) copies_[target].insert(source);
    }
  }
}

}  // namespace cuco::analysis
