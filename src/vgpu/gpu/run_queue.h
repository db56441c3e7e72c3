// SPDX-License-Identifier: Apache-2.0
/// \file
/// The warps that can run, lowest clock first; equal clocks in a fixed order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "vgpu/gpu/warp.h"

namespace cuco::vgpu {

/// A binary heap that knows where each warp is, so that keys can change. Keys lie in the heap: a
/// comparison does not touch the warp.
class RunQueue {
 public:
  [[nodiscard]] VTime top_key() const { return heap_.empty() ? kNever : heap_.front().key; }

  /// Does its first warp come before one with that key and sequence?
  [[nodiscard]] bool comes_before(VTime key, std::uint64_t sequence) const {
    return !heap_.empty() && before(heap_.front(), {key, sequence, nullptr});
  }

  /// Queues the warp, or moves it.
  void update(Warp& w, VTime key) {
    w.queue_key = key;
    const Entry entry{key, w.sequence, &w};
    if (w.queue_index == UINT32_MAX) {
      heap_.push_back(entry);
      sift_up(static_cast<std::uint32_t>(heap_.size() - 1), entry);
    } else if (before(entry, heap_[w.queue_index])) {
      sift_up(w.queue_index, entry);
    } else {
      sift_down(w.queue_index, entry);
    }
  }

  void remove(Warp& w) {
    const std::uint32_t hole = w.queue_index;
    if (hole == UINT32_MAX) return;
    w.queue_index = UINT32_MAX;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.warp == &w) return;
    if (hole != 0 && before(last, heap_[(hole - 1) / 2])) {
      sift_up(hole, last);
    } else {
      sift_down(hole, last);
    }
  }

  Warp& pop() {
    Warp& w = *heap_.front().warp;
    w.queue_index = UINT32_MAX;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
    return w;
  }

 private:
  struct Entry {
    VTime key = 0;
    std::uint64_t sequence = 0;
    Warp* warp = nullptr;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.sequence < b.sequence;
  }
  void put(std::uint32_t i, const Entry& entry) {
    heap_[i] = entry;
    entry.warp->queue_index = i;
  }
  // Both move a hole to where `entry` belongs.
  void sift_up(std::uint32_t i, const Entry& entry) {
    while (i != 0 && before(entry, heap_[(i - 1) / 2])) {
      put(i, heap_[(i - 1) / 2]);
      i = (i - 1) / 2;
    }
    put(i, entry);
  }
  void sift_down(std::uint32_t i, const Entry& entry) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entry)) break;
      put(i, heap_[child]);
      i = child;
    }
    put(i, entry);
  }

  std::vector<Entry> heap_;
};

}  // namespace cuco::vgpu
