// SPDX-License-Identifier: Apache-2.0
// Blocks onto SMs and off again. Blocks of a grid start in order; grids share what room there is,
// those of higher priority first, then in launch order.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/rng.h"
#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

namespace {

constexpr VTime kBlockJitter = 2 * kMicrosecond;

}  // namespace

void reset_warp(Warp& w, Block& block, std::uint32_t index, VTime start) {
  Grid& grid = *block.grid;
  const std::uint32_t threads = std::min(kLanes, grid.threads - index * kLanes);
  w.kernel = grid.kernel;
  w.block = &block;
  w.grid = &grid;
  w.memory = grid.memory;
  w.observer = grid.observer;
  w.sm = block.sm;
  w.shared = block.shared.data();
  w.shared_bytes = static_cast<std::uint32_t>(block.shared.size());
  w.clock = start;
  w.load_ready.fill(0);
  w.stall = {};
  w.index = index;
  w.alive = threads == kLanes ? kFullMask : (1U << threads) - 1;
  w.is_tail = threads != kLanes;
  w.carry = 0;
  w.shared_passes = 0;
  w.local.clear();
  w.local_stride = 0;
  w.async.clear();
  if (std::exchange(w.uses_async, false)) {
    w.async_groups.fill(0);
    w.bulk_groups.fill(0);
  }
  w.progress = 0;
  w.reads_clock = false;
  w.departed = false;
  w.running = false;
  w.frames.clear();
  w.splits.clear();
  Split& split = w.splits.emplace_back();
  split.op = grid.kernel->functions.front().first_op;
  split.mask = w.alive;
  split.ready_at = start;
}

VTime Gpu::Impl::next_arrival() const {
  VTime soonest = kNever;
  for (const auto& grid : grids) {
    if (!grid->arrived) soonest = std::min(soonest, grid->start);
  }
  return soonest;
}

bool Gpu::Impl::fits(const Sm& sm, const Grid& grid, VTime now) const {
  return sm.taken_until <= now && sm.blocks < description.blocks_per_sm &&
         sm.threads + grid.warps_per_block * kLanes <= description.threads_per_sm &&
         sm.registers + grid.registers <= description.registers_per_sm &&
         sm.shared + block_shared(grid.shared_bytes) <= description.shared_per_sm;
}

std::uint32_t Gpu::Impl::least_load(const Grid& grid, VTime now) const {
  std::uint32_t least = UINT32_MAX;
  for (const auto& sm : sms) {
    if (fits(*sm, grid, now)) least = std::min(least, sm->threads);
  }
  return least;
}

void Gpu::Impl::place_arrived(VTime now) {
  for (const auto& grid : grids) {
    if (grid->arrived || grid->start > now) continue;
    grid->arrived = true;
    for (const auto& sm : sms)
      settle(*sm, now);
    // Breadth first: one block per SM and round, where there is most room.
    for (bool placed = true; placed;) {
      placed = false;
      const std::uint32_t least = least_load(*grid, now);
      for (const auto& sm : sms) {
        if (grid->next_block == grid->block_count || !fits(*sm, *grid, now)) continue;
        if (sm->threads > least) continue;
        place_block(*grid, *sm, grid->start);
        placed = true;
      }
    }
  }
  await_taken(now);
}

void Gpu::Impl::await_taken(VTime now) {
  if (!has_waiting_blocks()) return;
  for (const auto& sm : sms) {
    if (sm->taken_until > now) vacancies.emplace(sm->taken_until, sm->index);
    for (const Sm::Leaving& leaving : sm->leaving)
      vacancies.emplace(leaving.when, sm->index);
  }
}

void Gpu::Impl::refill(Sm& sm, VTime now) {
  settle(sm, now);
  for (const auto& grid : grids) {
    if (!grid->arrived || grid->trap) continue;
    while (grid->next_block < grid->block_count && fits(sm, *grid, now)) {
      place_block(*grid, sm, std::max(grid->start, now));
    }
  }
  if (sm.taken_until > now && has_waiting_blocks()) vacancies.emplace(sm.taken_until, sm.index);
}

bool Gpu::Impl::has_waiting_blocks() const {
  return std::any_of(grids.begin(), grids.end(), [](const auto& grid) {
    return grid->arrived && grid->next_block < grid->block_count;
  });
}

void Gpu::Impl::deliver_at(Block& block, VTime when) {
  copies.emplace(when, &block);
}

VTime Gpu::Impl::next_copy() const {
  return copies.empty() ? kNever : copies.begin()->first;
}

void Gpu::Impl::place_due() {
  while (true) {
    const VTime arrival = next_arrival();
    const VTime vacancy = vacancies.empty() ? kNever : vacancies.top().first;
    const VTime copy = next_copy();
    const VTime due = std::min({arrival, vacancy, copy});
    if (due == kNever || due > lowest()) return;
    if (copy == due) {
      Block* const block = copies.begin()->second;
      copies.erase(copies.begin());
      deliver_bulk(*block, copy);
    } else if (arrival <= vacancy) {
      place_arrived(arrival);
    } else {
      const auto [when, index] = vacancies.top();
      vacancies.pop();
      refill(*sms[index], when);
    }
  }
}

std::uint64_t Gpu::Impl::issued_block(const Grid& grid, std::uint64_t position) const {
  const Schedule& schedule = environment.schedule;
  if (schedule.seed == 0 || !schedule.shuffle_blocks) return position;
  // Chunks of what is resident at once: all lower chunks are placed before, so no block waits for
  // one that cannot come.
  const std::uint64_t resident =
      std::uint64_t{blocks_per_sm(grid.kernel->info, grid.threads, grid.request.dynamic_shared)} *
      description.sms;
  const std::uint64_t base = position / resident * resident;
  const std::uint64_t count = std::min(resident, grid.block_count - base);
  // x -> a x + b mod count, with a coprime to count.
  Rng rng(schedule.seed ^ (grid.id * 0x9E37'79B9'7F4A'7C15ULL) ^ base);
  const std::uint64_t shift = rng.below(count);
  std::uint64_t step = 1 + rng.below(count);
  while (std::gcd(step, count) != 1)
    ++step;
  return base + ((position - base) * step + shift) % count;
}

VTime Gpu::Impl::draw_block_delay() {
  const Schedule& schedule = environment.schedule;
  if (schedule.seed == 0 || schedule.block_delay <= 0) return 0;
  return static_cast<VTime>(adversary.below(static_cast<std::uint64_t>(schedule.block_delay)));
}

void Gpu::Impl::place_block(Grid& grid, Sm& sm, VTime start) {
  if (sm.last_grid != grid.id) {
    sm.l1.clear();
    sm.last_grid = grid.id;
  }
  sm.blocks += 1;
  sm.threads += grid.warps_per_block * kLanes;
  sm.registers += grid.registers;
  sm.shared += block_shared(grid.shared_bytes);
  ++grid.counters.blocks;
  Sm::Pending pending{&grid, issued_block(grid, grid.next_block++), next_sequence,
                      start + timing.cycles(description.block_start_cycles)};
  next_sequence += grid.warps_per_block;
  // Blocks are sent to their SMs one by one.
  dispatched =
      std::max(dispatched + static_cast<VTime>(description.block_ns * kNanosecond), pending.start);
  pending.start = dispatched;
  // A seed makes another run of the same machine: blocks start a little late, equal clocks in
  // another order.
  if (environment.seed != 0) {
    pending.start +=
        static_cast<VTime>(Rng(environment.seed ^ pending.sequence).below(kBlockJitter));
  }
  pending.start += draw_block_delay();
  const auto later = [](const Sm::Pending& a, const Sm::Pending& b) { return a.start < b.start; };
  sm.pending.insert(std::upper_bound(sm.pending.begin(), sm.pending.end(), pending, later),
                    pending);
  note_key(sm);
}

void Gpu::Impl::start_blocks(Sm& sm) {
  // As late as the order of warps allows: a block that starts uses what the last one left in the
  // host's cache. With a seed equal clocks are in an order of their own.
  const bool in_order = environment.seed == 0 && environment.schedule.seed == 0;
  while (!sm.pending.empty() && sm.pending.front().start <= sm.queue.top_key()) {
    const Sm::Pending pending = sm.pending.front();
    if (in_order && sm.queue.comes_before(pending.start, pending.sequence)) return;
    sm.pending.pop_front();
    start_block(sm, pending);
  }
}

void Gpu::Impl::start_block(Sm& sm, const Sm::Pending& pending) {
  Grid& grid = *pending.grid;
  auto& spare = spare_blocks[grid.warps_per_block];
  std::unique_ptr<Block> block;
  if (!spare.empty()) {
    block = std::move(spare.back());
    spare.pop_back();
  } else {
    block = std::make_unique<Block>();
    for (std::uint32_t i = 0; i < grid.warps_per_block; ++i) {
      block->warps.push_back(std::make_unique<Warp>());
    }
  }
  const Dim3& dims = grid.request.grid;
  block->grid = &grid;
  block->sm = &sm;
  block->number = pending.number;
  block->index = {static_cast<std::uint32_t>(pending.number % dims[0]),
                  static_cast<std::uint32_t>(pending.number / dims[0] % dims[1]),
                  static_cast<std::uint32_t>(pending.number / dims[0] / dims[1])};
  block->live_threads = grid.threads;
  block->live_warps = grid.warps_per_block;
  block->slot = static_cast<std::uint32_t>(std::countr_one(sm.slots)) % kMostBlocks;
  sm.slots |= 1U << block->slot;
  block->last_exit = block->stored = pending.start;
  block->shared.assign(grid.shared_bytes, std::byte{0});
  for (; block->armed != 0; block->armed &= block->armed - 1) {
    block->barriers[static_cast<unsigned>(std::countr_zero(block->armed))] = Barrier{};
  }
  block->watches.clear();
  block->copies.clear();
  block->place = static_cast<std::uint32_t>(grid.blocks.size());
  for (std::uint32_t i = 0; i < grid.warps_per_block; ++i) {
    Warp& w = *block->warps[i];
    const VTime start = pending.start + draw_block_delay();
    reset_warp(w, *block, i, start);
    w.sequence = pending.sequence + i;
    const std::uint64_t seed = environment.seed ^ environment.schedule.seed;
    if (seed != 0) w.sequence = Rng(seed ^ w.sequence).next();
    sm.queue.update(w, start);
  }
  grid.blocks.push_back(std::move(block));
}

void Gpu::Impl::release_sm(const Grid& grid, Sm& sm, VTime when) const {
  sm.leaving.push_back(
      {when, grid.warps_per_block * kLanes, grid.registers, block_shared(grid.shared_bytes)});
}

void Gpu::Impl::settle(Sm& sm, VTime now) {
  std::erase_if(sm.leaving, [&](const Sm::Leaving& leaving) {
    if (leaving.when > now) return false;
    sm.blocks -= 1;
    sm.threads -= leaving.threads;
    sm.registers -= leaving.registers;
    sm.shared -= leaving.shared;
    return true;
  });
}

void Gpu::Impl::finish_block(Block& block) {
  deliver_bulk(block, kNever);
  block.unseen_copies.clear();
  std::erase_if(copies, [&](const auto& entry) { return entry.second == &block; });
  Grid& grid = *block.grid;
  Sm& sm = *block.sm;
  release_sm(grid, sm, block.last_exit);
  sm.slots &= ~(1U << block.slot);
  grid.finish = std::max(grid.finish, block.last_exit);
  ++grid.finished_blocks;
  const VTime now = block.last_exit;
  // Swap with the last: blocks are found by their place.
  std::unique_ptr<Block> owned = std::move(grid.blocks[block.place]);
  if (block.place + 1 != grid.blocks.size()) {
    grid.blocks[block.place] = std::move(grid.blocks.back());
    grid.blocks[block.place]->place = block.place;
  }
  grid.blocks.pop_back();
  spare_blocks[grid.warps_per_block].push_back(std::move(owned));
  if (has_waiting_blocks()) vacancies.emplace(now, sm.index);
  if (grid.finished_blocks == grid.block_count) retire(grid);
}

void Gpu::Impl::finish_counters(Grid& grid) const {
  Counters& counters = grid.counters;
  std::int64_t threads = 0;
  std::int64_t warps = 0;
  for (std::size_t i = 0; i < grid.kernel->ops.size(); ++i) {
    threads += grid.counts[i].threads;
    warps += grid.counts[i].warps;
    const auto cost = static_cast<std::size_t>(grid.kernel->ops[i].cost);
    counters.threads[cost] += static_cast<std::uint64_t>(threads);
    counters.warps[cost] += static_cast<std::uint64_t>(warps);
    counters.thread_instructions += static_cast<std::uint64_t>(threads);
    counters.warp_instructions += static_cast<std::uint64_t>(warps);
  }
}

void Gpu::Impl::retire(Grid& grid) {
  std::erase_if(copies, [&](const auto& entry) { return entry.second->grid == &grid; });
  for (const auto& block : grid.blocks) {
    for (const auto& w : block->warps) {
      dequeue(*w);
      drop_watches(*w);
      grid.finish = std::max(grid.finish, w->clock);
    }
    release_sm(grid, *block->sm, grid.finish);
    block->sm->slots &= ~(1U << block->slot);
  }
  for (const auto& sm : sms) {
    const std::size_t dropped = std::erase_if(
        sm->pending, [&](const Sm::Pending& pending) { return pending.grid == &grid; });
    for (std::size_t i = 0; i < dropped; ++i)
      release_sm(grid, *sm, grid.finish);
    if (dropped != 0) note_key(*sm);
  }
  finish_counters(grid);
  // What comes after it finds what it stored, however late that arrives.
  const VTime settled = grid.weak != nullptr ? grid.weak->settled_at(grid) : 0;
  if (grid.observer != nullptr) grid.observer->on_grid_end(grid);
  free_slots.push_back(grid.parameters);
  GridResult result;
  result.id = grid.id;
  result.trap = std::move(grid.trap);
  result.started = grid.start;
  result.finished = std::max(grid.finish, settled);
  result.counters = grid.counters;
  const Done done = std::move(grid.done);
  const bool made_room = grid.finished_blocks != grid.block_count;
  std::erase_if(grids, [&](const auto& owned) { return owned.get() == &grid; });
  if (made_room && has_waiting_blocks()) {
    for (const auto& sm : sms)
      vacancies.emplace(result.finished, sm->index);
  }
  if (done) done(result);
}

}  // namespace cuco::vgpu
