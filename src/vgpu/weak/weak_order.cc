// SPDX-License-Identifier: Apache-2.0
// Who has learnt of what: releases, acquires, fences and barriers.
#include <algorithm>

#include "vgpu/gpu/grid.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

WeakMemory::Level WeakMemory::level_of(Scope scope) {
  switch (scope) {
    case Scope::Cta:
    case Scope::Cluster:  // of one block
      return kBlock;
    case Scope::Gpu:
      return kGpu;
    case Scope::Sys:
      break;
  }
  return kSystem;
}

WeakMemory::Level WeakMemory::distance(const Message& message, const Thread& thread) {
  if (message.block == thread.block) return kBlock;
  return message.device == thread.device ? kGpu : kSystem;
}

void WeakMemory::acquire(Thread& thread, Level scope) {
  for (unsigned level = 0; level <= scope; ++level)
    thread.view.join(thread.acquired[level]);
}

void WeakMemory::release(Thread& thread, Level scope) {
  thread.view.forget_up_to(known_anyway(thread));
  thread.view.see_all_of(thread.uid, now_);
  for (unsigned level = 0; level <= scope; ++level)
    thread.released[level] = thread.view;
}

std::array<WeakMemory::ScOrder*, WeakMemory::kLevels> WeakMemory::sc_orders(const Thread& thread) {
  return {&sc_blocks_[thread.block], &sc_gpus_[thread.device], &sc_system_};
}

void WeakMemory::join_sc_order(Thread& thread, Level scope) {
  const auto orders = sc_orders(thread);
  for (unsigned level = 0; level <= scope; ++level) {
    thread.view.join(orders[level]->view);
    thread.floor = std::max(thread.floor, orders[level]->floor);
  }
  thread.view.forget_up_to(known_anyway(thread));
  thread.view.see_all_of(thread.uid, now_);
  for (unsigned level = 0; level <= scope; ++level) {
    orders[level]->floor = std::max(orders[level]->floor, thread.floor);
    orders[level]->view.forget_up_to(std::max(horizon_, orders[level]->floor));
    orders[level]->view.join(thread.view);
    const std::uint64_t fences = ++orders[level]->fences;
    std::uint64_t& mine = thread.postponed.sc_fences[level];
    // Others' between two of its own are not to be overlooked.
    if (thread.postponed.crosses_sc && (mine == 0 || mine + 1 == fences)) mine = fences;
  }
}

void WeakMemory::note_read(Thread& thread, const Record& record, Order order, Level scope) {
  if (!is_strong(order) || record.message == nullptr) return;
  const Message& message = *record.message;
  const Level away = distance(message, thread);
  if (message.scope < away || scope < away) return;
  thread.floor = std::max(thread.floor, message.floor);
  if (message.released[away].empty()) return;
  if (message.waits && away <= message.crossed) message.is_observed = true;
  thread.acquired[away].join(message.released[away]);
  thread.acquired[away].forget_up_to(known_anyway(thread));
}

void WeakMemory::on_fence(const Warp& warp, const Op& op, Order order, Scope scope) {
  (void)op;
  Thread& thread = thread_of(warp);
  const Level level = level_of(scope);
  if (acquires(order)) acquire(thread, level);
  if (order == Order::Sc) join_sc_order(thread, level);
  if (releases(order)) release(thread, level);
}

void WeakMemory::on_barrier_arrive(const Warp& warp,
                                   const Op& /*op*/,
                                   unsigned id,
                                   std::uint32_t /*lanes*/) {
  Thread& thread = thread_of(warp);
  BarrierState& barrier = barriers_[{thread.block, id}];
  if (barrier.released) barrier = {};
  thread.view.forget_up_to(known_anyway(thread));
  thread.view.see_all_of(thread.uid, now_);
  barrier.view.join(thread.view);
  barrier.floor = std::max(barrier.floor, thread.floor);
  for (unsigned level = 0; level < kLevels; ++level) {
    barrier.fenced[level].join(thread.released[level]);
    barrier.acquired[level].join(thread.acquired[level]);
  }
}

void WeakMemory::on_barrier_release(const Warp& warp, unsigned id, std::uint32_t /*lanes*/) {
  Thread& thread = thread_of(warp);
  BarrierState& barrier = barriers_[{thread.block, id}];
  barrier.released = true;
  thread.view.join(barrier.view);
  thread.floor = std::max(thread.floor, barrier.floor);
  for (unsigned level = 0; level < kLevels; ++level) {
    thread.acquired[level].join(barrier.acquired[level]);
    if (barrier.fenced[level].empty()) continue;
    thread.released[level] = barrier.fenced[level];
  }
}

}  // namespace cuco::vgpu
