// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bulk copies (cp.async.bulk) of a block that nobody has waited for yet: from their beginning
/// until then, nobody may touch what they write, nor write what they read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check/race/happens_before.h"
#include "vgpu/memory/bulk.h"

namespace cuco::check {

class BulkCopies {
 public:
  struct Copy {
    vgpu::BulkCopy what;
    std::uint32_t site = 0;
    unsigned warp = 0;
    ActorId writer = kNoActor;  ///< Of what it writes to global memory.
    bool has_read = false;      ///< Its source was waited for.
  };

  void reset() { copies_.clear(); }
  [[nodiscard]] bool empty() const { return copies_.empty(); }
  [[nodiscard]] const std::vector<Copy>& all() const { return copies_; }
  void add(const Copy& copy) { copies_.push_back(copy); }

  /// One that an access to the block's shared memory is in conflict with.
  [[nodiscard]] const Copy* conflict(std::uint64_t offset, std::uint64_t bytes, bool writes) const {
    const auto at = std::ranges::find_if(copies_, [&](const Copy& copy) {
      const bool is_free = copy.what.to_shared ? false : copy.has_read || !writes;
      return !is_free && offset < copy.what.shared + copy.what.bytes &&
             copy.what.shared < offset + bytes;
    });
    return at == copies_.end() ? nullptr : &*at;
  }
  [[nodiscard]] Copy* find(const vgpu::BulkCopy& copy) {
    const auto at = std::ranges::find_if(
        copies_, [&](const Copy& one) { return one.what.number == copy.number; });
    return at == copies_.end() ? nullptr : &*at;
  }
  void remove(Copy* copy) { copies_.erase(copies_.begin() + (copy - copies_.data())); }

 private:
  std::vector<Copy> copies_;
};

}  // namespace cuco::check
