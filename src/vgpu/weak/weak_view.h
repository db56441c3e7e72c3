// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a thread knows of others' writes, for weak_memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/memory/memory.h"

namespace cuco::vgpu {

/// Which writes a thread is known to have seen. Times are numbers of recorded writes.
///
/// A value that is shared until it changes: fences and barriers hand views around all the time, and
/// mostly to those who know as much already. What is in it is bounded by who runs, not by what they
/// have touched: reads of what is ordered before anyway leave nothing behind.
class View {
 public:
  void join(const View& other);
  void see_all_of(std::uint32_t writer, std::uint64_t time);
  void see_word(Address word, std::uint64_t time);
  [[nodiscard]] bool empty() const { return known_ == nullptr; }
  [[nodiscard]] bool has_seen(std::uint32_t writer, std::uint64_t time) const;
  [[nodiscard]] std::uint64_t seen_of_word(Address word) const;
  /// Everything up to `time` is visible to everybody: forgets what that makes pointless.
  void forget_up_to(std::uint64_t time);
  /// Of entries.
  [[nodiscard]] std::size_t size() const;

 private:
  /// Sorted by what they are about.
  using Times = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  struct Known {
    Times writers;                            ///< All writes of a warp up to a time.
    Times words;                              ///< A word as it was at a time, or newer.
    std::uint64_t least = ~std::uint64_t{0};  ///< No entry has a lower time.
  };
  void see(Times Known::* which, std::uint64_t key, std::uint64_t time);

  std::shared_ptr<Known> known_;  ///< Null: nothing. Changed only where nobody else has it.
};

}  // namespace cuco::vgpu
