// SPDX-License-Identifier: Apache-2.0
/// \file
/// The warps that can run, lowest clock first; equal clocks in a fixed order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "vgpu/warp.h"

namespace cuco::vgpu {

/// A binary heap that knows where each warp is, so that keys can change.
class RunQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Warp& top() const { return *heap_.front(); }
  [[nodiscard]] VTime top_key() const { return heap_.empty() ? kNever : heap_.front()->queue_key; }

  /// Queues the warp, or moves it.
  void update(Warp& w, VTime key) {
    if (w.queue_index == UINT32_MAX) {
      w.queue_index = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(&w);
    }
    w.queue_key = key;
    sift_up(w.queue_index);
    sift_down(w.queue_index);
  }

  void remove(Warp& w) {
    if (w.queue_index == UINT32_MAX) return;
    const std::uint32_t hole = w.queue_index;
    Warp* last = heap_.back();
    heap_.pop_back();
    w.queue_index = UINT32_MAX;
    if (last == &w) return;
    heap_[hole] = last;
    last->queue_index = hole;
    sift_up(hole);
    sift_down(last->queue_index);
  }

  Warp& pop() {
    Warp& w = *heap_.front();
    remove(w);
    return w;
  }

 private:
  static bool before(const Warp& a, const Warp& b) {
    return a.queue_key != b.queue_key ? a.queue_key < b.queue_key : a.sequence < b.sequence;
  }
  void swap_at(std::uint32_t i, std::uint32_t j) {
    std::swap(heap_[i], heap_[j]);
    heap_[i]->queue_index = i;
    heap_[j]->queue_index = j;
  }
  void sift_up(std::uint32_t i) {
    while (i != 0 && before(*heap_[i], *heap_[(i - 1) / 2])) {
      swap_at(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sift_down(std::uint32_t i) {
    while (true) {
      std::uint32_t least = i;
      for (std::uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap_.size(); ++child) {
        if (before(*heap_[child], *heap_[least])) least = child;
      }
      if (least == i) return;
      swap_at(i, least);
      i = least;
    }
  }

  std::vector<Warp*> heap_;
};

}  // namespace cuco::vgpu
