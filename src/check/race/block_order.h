// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the warps of one block know of each other: epochs, exchanged at the block's barriers.
///
/// Both tiers of races use it, shared memory and global memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace cuco::check {

class BlockOrder {
 public:
  static constexpr unsigned kMaxWarps = 32;
  using Epochs = std::array<std::uint32_t, kMaxWarps>;

  BlockOrder() { reset(); }

  /// A new block: epochs go on from where they were, so that stamps of the last one are all old.
  void reset() {
    base_ = *std::max_element(epoch_.begin(), epoch_.end()) + 1;
    epoch_.fill(base_);
    for (Epochs& known : known_)
      known.fill(base_ - 1);
    meetings_ = {};
  }

  /// Stamps below it are of an earlier block.
  [[nodiscard]] std::uint32_t base() const { return base_; }
  [[nodiscard]] std::uint32_t epoch(unsigned warp) const { return epoch_[warp]; }
  /// The last epoch of `other` that `warp` knows to be over.
  [[nodiscard]] std::uint32_t known(unsigned warp, unsigned other) const {
    return known_[warp][other];
  }
  [[nodiscard]] const Epochs& known(unsigned warp) const { return known_[warp]; }

  /// What a warp that releases passes on: what it knows, and its own epoch, which ends.
  [[nodiscard]] Epochs publish(unsigned warp) {
    Epochs all = known_[warp];
    all[warp] = epoch_[warp]++;
    return all;
  }
  void end_epoch(unsigned warp) { ++epoch_[warp]; }
  void learn(unsigned warp, const Epochs& published) {
    const std::uint32_t own = known_[warp][warp];
    raise(known_[warp], published);
    known_[warp][warp] = own;
  }
  static void raise(Epochs& to, const Epochs& from) {
    for (unsigned i = 0; i < kMaxWarps; ++i)
      to[i] = std::max(to[i], from[i]);
  }

  /// True: the first to arrive since the barrier was left.
  bool arrive(unsigned warp, unsigned barrier) {
    Meeting& meeting = meetings_[barrier];
    const bool first = meeting.leaving || meeting.warps == 0;
    if (meeting.leaving) meeting = {};
    raise(meeting.gathered, known_[warp]);
    meeting.gathered[warp] = std::max(meeting.gathered[warp], epoch_[warp]);
    meeting.warps |= 1U << warp;
    ++epoch_[warp];
    return first;
  }
  void leave(unsigned warp, unsigned barrier) {
    Meeting& meeting = meetings_[barrier];
    meeting.leaving = true;
    learn(warp, meeting.gathered);
  }

 private:
  struct Meeting {
    Epochs gathered{};
    std::uint32_t warps = 0;
    bool leaving = false;
  };

  std::uint32_t base_ = 0;
  Epochs epoch_{};
  std::array<Epochs, kMaxWarps> known_{};
  std::array<Meeting, 16> meetings_{};
};

}  // namespace cuco::check
