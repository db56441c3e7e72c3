// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which words of a block's shared memory cp.async is still writing: from the issue of a copy until
/// its lane has waited for it, nobody may touch them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "check/race/block_order.h"
#include "vgpu/gpu/warp.h"

namespace cuco::check {

class AsyncCopies {
 public:
  /// A new block begins.
  void reset(std::uint32_t bytes) {
    if (pending_ != 0 || words_.size() * kWordBytes < bytes) {
      words_.assign(bytes / kWordBytes + 1, 0);
    }
    known_ = {};
    pending_ = 0;
  }

  /// Takes in what the warp has issued since; to be called at each of its events.
  void follow(const vgpu::Warp& warp) {
    std::uint32_t& known = known_[warp.index % known_.size()];
    if (warp.async.size() <= known) return;
    for (; known < warp.async.size(); ++known) {
      const vgpu::AsyncCopy& copy = warp.async[known];
      mark(copy.shared, copy.bytes, true);
      ++pending_;
    }
  }

  /// A lane's copy is done: it has waited for it.
  void complete(const vgpu::Warp& warp, std::uint32_t offset, std::uint32_t bytes) {
    std::uint32_t& known = known_[warp.index % known_.size()];
    if (known == 0) return;
    --known;
    --pending_;
    mark(offset, bytes, false);
  }

  [[nodiscard]] bool empty() const { return pending_ == 0; }
  [[nodiscard]] bool touches(std::uint64_t offset, std::uint64_t bytes) const {
    if (pending_ == 0) return false;
    for (std::uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
      if (word / 64 < words_.size() && (words_[word / 64] >> (word % 64) & 1U) != 0) return true;
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kWordBytes = 256;  ///< Of shared memory, per element of words_.

  void mark(std::uint32_t offset, std::uint32_t bytes, bool value) {
    for (std::uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
      if (word / 64 >= words_.size()) return;
      const std::uint64_t bit = std::uint64_t{1} << (word % 64);
      words_[word / 64] = value ? words_[word / 64] | bit : words_[word / 64] & ~bit;
    }
  }

  std::vector<std::uint64_t> words_;                          ///< A bit for 4 bytes.
  std::array<std::uint32_t, BlockOrder::kMaxWarps> known_{};  ///< Of each warp's copies.
  std::uint32_t pending_ = 0;
};

}  // namespace cuco::check
