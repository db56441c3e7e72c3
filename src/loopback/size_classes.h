// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small pieces of memory out of large ones: device memory of the driver comes in 2 MiB, programs
/// ask for four bytes. Freed pieces are handed out again, never given back.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace cuco::loopback {

class SizeClasses {
 public:
  static constexpr std::uint64_t kSmallest = 512;  ///< CUDA's alignment of allocations is 256.
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 20U;

  /// Nothing: a slab has to be added first.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) {
    const std::uint64_t size = std::bit_ceil(bytes < kSmallest ? kSmallest : bytes);
    std::vector<std::uint64_t>& free = free_[size];
    if (free.empty()) {
      if (end_ - next_ < size) return std::nullopt;
      next_ = (next_ + size - 1) / size * size;  // Its own size's alignment.
      if (next_ > end_ || end_ - next_ < size) return std::nullopt;
      free.push_back(next_);
      next_ += size;
    }
    const std::uint64_t address = free.back();
    free.pop_back();
    used_[address] = size;
    return address;
  }

  /// The rest of the slab before is lost.
  void add_slab(std::uint64_t address, std::uint64_t bytes) {
    next_ = address;
    end_ = address + bytes;
  }

  /// False: not handed out from here.
  [[nodiscard]] bool give_back(std::uint64_t address) {
    const auto found = used_.find(address);
    if (found == used_.end()) return false;
    free_[found->second].push_back(address);
    used_.erase(found);
    return true;
  }

 private:
  std::uint64_t next_ = 0, end_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_;
  std::unordered_map<std::uint64_t, std::uint64_t> used_;
};

}  // namespace cuco::loopback
