// SPDX-License-Identifier: Apache-2.0
/// \file
/// Places in a range of addresses that all processes of a run have reserved: who owns the memory
/// chooses them for all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace cuco::loopback {

class AddressSpace {
 public:
  AddressSpace(std::uint64_t base, std::uint64_t bytes) : base_(base), end_(base + bytes) {}

  /// The lowest place of that size; nothing where there is none. `alignment`: a power of two.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment) {
    std::uint64_t at = aligned(base_, alignment);
    for (const auto& [begin, length] : taken_) {
      if (at <= begin && begin - at >= bytes) break;
      at = aligned(begin + length, alignment);
    }
    if (at > end_ || end_ - at < bytes) return std::nullopt;
    taken_[at] = bytes;
    return at;
  }
  void give_back(std::uint64_t at) { taken_.erase(at); }

  [[nodiscard]] bool contains(std::uint64_t address) const {
    return address >= base_ && address < end_;
  }

 private:
  static std::uint64_t aligned(std::uint64_t at, std::uint64_t alignment) {
    return (at + alignment - 1) & ~(alignment - 1);
  }

  std::uint64_t base_, end_;
  std::map<std::uint64_t, std::uint64_t> taken_;  ///< Begin -> bytes.
};

}  // namespace cuco::loopback
