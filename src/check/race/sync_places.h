// SPDX-License-Identifier: Apache-2.0
/// \file
/// Locations that strong operations meet on, by where they are and how large.
///
/// Two strong operations order something only if they overlap completely (PTX ISA, "morally
/// strong"): a flag that is raised in 8 bytes and awaited in 4 is none. Operations of less than
/// four bytes meet on their word: libcu++ makes read-modify-writes of them from those of the word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/race/sync_history.h"
#include "vgpu/memory/address_map.h"

namespace cuco::check {

class SyncPlaces {
 public:
  using Address = vgpu::Address;

  [[nodiscard]] SyncHistory* find(Address address, std::uint64_t bytes) {
    const auto found = granules_.find(address / kGranule);
    if (found == granules_.end()) return nullptr;
    const Extent wanted = extent(address, bytes);
    const auto at = std::ranges::find(found->second, wanted, &Place::extent);
    return at == found->second.end() ? nullptr : &at->history;
  }
  /// Where none is; what others of these bytes have published ends here.
  SyncHistory& add(Address address, std::uint64_t bytes, std::optional<std::uint64_t> value) {
    forget(address, bytes);
    std::vector<Place>& places = granules_[address / kGranule];
    places.push_back(
        {extent(address, bytes), SyncHistory(value, static_cast<std::uint32_t>(bytes))});
    ++count_;
    return places.back().history;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  void clear() {
    granules_.clear();
    count_ = 0;
  }
  /// The one that holds the address, whatever its size.
  [[nodiscard]] const SyncHistory* at(Address address) const {
    const auto found = granules_.find(address / kGranule);
    if (found == granules_.end()) return nullptr;
    const auto at = std::ranges::find_if(
        found->second, [&](const Place& place) { return overlap(place.extent, {address, 1}); });
    return at == found->second.end() ? nullptr : &at->history;
  }
  /// All that overlap.
  void forget(Address address, std::uint64_t bytes) {
    const Extent gone = extent(address, bytes);
    const auto forget_in = [&](std::vector<Place>& places) {
      count_ -=
          std::erase_if(places, [&](const Place& place) { return overlap(place.extent, gone); });
      return places.empty();
    };
    const Address first = address / kGranule;
    const Address last = (address + bytes - 1) / kGranule;
    if (last - first >= granules_.size()) {
      for (auto at = granules_.begin(); at != granules_.end();) {
        const bool is_empty = at->first >= first && at->first <= last && forget_in(at->second);
        at = is_empty ? granules_.erase(at) : std::next(at);
      }
      return;
    }
    for (Address granule = first; granule <= last; ++granule) {
      const auto found = granules_.find(granule);
      if (found != granules_.end() && forget_in(found->second)) granules_.erase(found);
    }
  }

 private:
  static constexpr Address kGranule = 16;  ///< No operation reaches over the end of one.
  struct Extent {
    Address address = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Extent&) const = default;
  };
  struct Place {
    Extent extent;
    SyncHistory history;
  };
  [[nodiscard]] static Extent extent(Address address, std::uint64_t bytes) {
    return bytes < 4 ? Extent{address & ~Address{3}, 4} : Extent{address, bytes};
  }
  [[nodiscard]] static bool overlap(const Extent& a, const Extent& b) {
    return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
  }

  std::unordered_map<Address, std::vector<Place>> granules_;
  std::size_t count_ = 0;
};

}  // namespace cuco::check
