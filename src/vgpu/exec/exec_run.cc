// SPDX-License-Identifier: Apache-2.0
// The inner loop, and the splits of a diverged warp.
//
// PTX has no reconvergence points. A warp is a list of splits; the one in the deepest call with the
// lowest op runs, so that those behind catch up, and splits that meet at the same op of the same
// frame become one. That alone could starve the split that holds a lock, so each split has a budget
// of backward branches after which others go first.
#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/plain_spin.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/timing/warp_clock.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t kBackwardBudget = 256;

bool is_mergeable(const Split& split) {
  return split.state == Split::State::Runnable || split.state == Split::State::Sync;
}

/// Less runs first.
bool runs_before(const Split& a, const Split& b) {
  const std::uint32_t turn_a = a.backward / kBackwardBudget;
  const std::uint32_t turn_b = b.backward / kBackwardBudget;
  if (turn_a != turn_b) return turn_a < turn_b;
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.op < b.op;
}

/// May these two be one? Those that wait at the same .sync for different members stay apart.
bool belong_together(const Split& a, const Split& b) {
  if (!is_mergeable(b) || a.op != b.op || a.frame != b.frame) return false;
  const bool both_wait = a.state == Split::State::Sync && b.state == Split::State::Sync;
  return !both_wait || a.members == b.members;
}

/// Joins splits that are at the same op of the same frame. Those that waited for company run again.
void merge_splits(Warp& w) {
  for (std::size_t i = 0; i < w.splits.size(); ++i) {
    if (!is_mergeable(w.splits[i])) continue;
    for (std::size_t j = i + 1; j < w.splits.size();) {
      Split& a = w.splits[i];
      Split& b = w.splits[j];
      if (!belong_together(a, b)) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.state = Split::State::Runnable;
      a.ready_at = std::max(a.ready_at, b.ready_at);
      a.backward = std::min(a.backward, b.backward);
      // What one of them knows of its loop holds for both: they come apart there again.
      if (a.spin == nullptr) a.spin = std::move(b.spin);
      w.splits.erase(w.splits.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

/// Picks the split to run; false if none can run before the limit.
bool select_split(Warp& w) {
  if (w.splits.size() > 1) merge_splits(w);
  const Split* best = nullptr;
  VTime soonest = kNever;
  for (const Split& split : w.splits) {
    if (split.state != Split::State::Runnable && split.state != Split::State::Asleep) continue;
    soonest = std::min(soonest, split.ready_at);
  }
  if (soonest == kNever) return false;
  const VTime now = std::max(w.clock, soonest);
  if (now > w.limit) return false;
  for (const Split& split : w.splits) {
    if (split.state != Split::State::Runnable && split.state != Split::State::Asleep) continue;
    if (split.ready_at > now) continue;
    if (best == nullptr || runs_before(split, *best)) best = &split;
  }
  w.idle += now - w.clock;
  w.clock = now;
  w.current = static_cast<std::uint32_t>(best - w.splits.data());
  return true;
}

void enter_split(Warp& w) {
  Split& split = w.splits[w.current];
  split.state = Split::State::Runnable;
  if (split.spin != nullptr && split.spin->ticket != 0) {
    note_poll_end(w, split, w.clock);
    forget_watches(w, *split.spin);
  }
  w.mask = split.mask;
  w.bank = {split.frame->registers.data(), w.grid->constants.data()};
  w.predicates = split.frame->predicates.data();
  w.go_to(w.kernel->ops.data() + split.op);
  ++w.epoch;
  ++w.pass;
  update_stop(w);
}

void note_stall(Warp& w, const Op& op, VTime time) {
  const auto at = static_cast<std::uint32_t>(&op - w.kernel->ops.data());
  if (w.stall.pass != w.pass || w.stall.op < w.kernel->block_begin[at]) {
    w.stall = {.pass = w.pass, .op = at};
  }
  w.stall.time += time;
}

void wait_for_loads(Warp& w, const Op& op) {
  VTime ready = 0;
  for (std::uint32_t slots = op.wait_slots; slots != 0; slots &= slots - 1) {
    ready = std::max(ready, w.load_ready[static_cast<unsigned>(std::countr_zero(slots))]);
  }
  // The clock without the open segment is a lower bound: most waits end here.
  if (ready <= w.clock) return;
  --w.ip;
  w.sync_clock();
  ++w.ip;
  if (ready > w.clock) {
    note_stall(w, op, ready - w.clock);
    w.grid->counters.waiting += ready - w.clock;
    if (w.observer != nullptr) w.observer->on_wait(w, op, WaitKind::Load, w.clock, ready);
    w.clock = ready;
  }
}

void run_split(Warp& w) {
  do {
    const Op& op = *w.ip++;
    std::uint32_t active = w.mask;
    if (op.flags != 0) {
      if ((op.flags & Op::WaitsForLoads) != 0) wait_for_loads(w, op);
      if ((op.flags & Op::Guarded) != 0) {
        const std::uint32_t guard = w.predicates[op.guard];
        active &= (op.flags & Op::GuardNegated) != 0 ? ~guard : guard;
        if (active == 0) continue;
      }
    }
    w.active = active;
    op.run(w, op);
  } while (w.ip < w.stop);
}

}  // namespace

void update_stop(Warp& w) {
  const Op* const first = w.kernel->ops.data();
  const auto here = static_cast<std::uint32_t>(w.ip - first);
  const Frame* frame = w.splits[w.current].frame;
  std::uint32_t stop = static_cast<std::uint32_t>(w.kernel->ops.size());
  if (w.splits.size() > 1) {
    for (std::size_t i = 0; i < w.splits.size(); ++i) {
      const Split& other = w.splits[i];
      if (i == w.current || !is_mergeable(other) || other.frame != frame) continue;
      if (other.op > here) stop = std::min(stop, other.op);
    }
  }
  w.stop = first + stop;
}

void isolate(Warp& w, std::uint32_t lanes) {
  if (w.mask == lanes) return;
  w.flush_segment();
  Split rest;
  rest.frame = w.splits[w.current].frame;
  rest.op = static_cast<std::uint32_t>(w.ip - w.kernel->ops.data());
  rest.mask = w.mask & ~lanes;
  rest.ready_at = w.clock;
  w.splits[w.current].mask = lanes;
  w.mask = lanes;
  w.splits.push_back(std::move(rest));
}

void block_split(Warp& w, Split::State state, const Op* next) {
  w.flush_segment();
  Split& split = w.splits[w.current];
  split.state = state;
  split.since = w.clock;
  split.ready_at = w.clock;
  w.go_to(next);
  w.stop = nullptr;
}

void run_warp(Warp& w, VTime limit, VTime strict_limit) {
  w.limit = limit;
  w.strict_limit = strict_limit;
  w.running = true;
  if (w.frames.empty()) {
    // First run: only now it needs registers, and gets those that are still in the cache.
    Frame& entry = add_frame(w, w.kernel->functions.front());
    entry.parent = nullptr;
    entry.plan = nullptr;
    entry.depth = 0;
    entry.lanes = w.alive;
    entry.local_base = 0;
    if (w.kernel->info.local_bytes != 0) {
      w.local_stride = (w.kernel->info.local_bytes + 15U) / 16U * 16U;
      w.local.assign(std::size_t{w.local_stride} * kLanes, kNeverWritten);
    }
    w.splits.front().frame = &entry;
  }
  while (w.alive != 0 && !w.grid->trap && select_split(w)) {
    enter_split(w);
    run_split(w);
    if (w.splits.empty() || w.grid->trap) break;
    if (w.departed) {  // The split is gone: all its lanes exited.
      w.departed = false;
      continue;
    }
    w.flush_segment();
    w.splits[w.current].op = static_cast<std::uint32_t>(w.ip - w.kernel->ops.data());
    if (w.clock > w.limit) {
      note_quantum_end(w);
      break;
    }
  }
  w.running = false;
  w.departed = false;
}

VTime runnable_at(const Warp& w) {
  VTime soonest = kNever;
  for (const Split& split : w.splits) {
    if (split.state == Split::State::Runnable || split.state == Split::State::Asleep) {
      soonest = std::min(soonest, std::max(split.ready_at, w.clock));
    }
  }
  return soonest;
}

void Warp::sync_clock() {
  advance_clock(*this);
}

void Warp::flush_segment() {
  advance_clock(*this);
  if (ip <= counted) {
    counted = ip;
    return;
  }
  const Op* const first = kernel->ops.data();
  const auto from = static_cast<std::size_t>(counted - first);
  const auto to = static_cast<std::size_t>(ip - first);
  const auto lanes = std::popcount(mask);
  Grid::SegmentCount* counts = grid->counts.data();
  counts[from].threads += lanes;
  counts[from].warps += 1;
  counts[to].threads -= lanes;
  counts[to].warps -= 1;
  grid->warp_instructions += to - from;
  counted = ip;
}

void Warp::spend(std::uint32_t cycles) {
  sync_clock();
  clock += cycles * sm->timing->cycle;
}

}  // namespace cuco::vgpu
