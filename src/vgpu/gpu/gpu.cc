// SPDX-License-Identifier: Apache-2.0
#include "vgpu/gpu/gpu.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "vgpu/gpu/gpu_impl.h"
#include "vgpu/gpu/spin.h"

namespace cuco::vgpu {

namespace {

/// How far a warp may run ahead of the lowest clock, and how long it runs at most: the price of
/// switching warps against the precision of contention.
constexpr VTime kSlack = 1 * kMicrosecond;
/// Strong operations keep the order of clocks this closely. It must exceed the cost of one op, or
/// two warps at the same clock would let each other go first for ever.
constexpr VTime kStrictSlack = 50 * kNanosecond;
constexpr VTime kQuantum = 20 * kMicrosecond;
/// How far an SM may run ahead of the others.
constexpr VTime kSmSlack = 10 * kMicrosecond;

/// A trap that no instruction raised.
Trap outside_trap(const Grid& grid, TrapKind kind, std::string message) {
  Trap trap;
  trap.kind = kind;
  trap.message = std::move(message);
  trap.kernel = grid.kernel->info.name;
  return trap;
}

VTime add(VTime time, VTime more) {
  return time > kNever - more ? kNever : time + more;
}

}  // namespace

Gpu::Impl::Impl(unsigned number,
                const hardware::GpuDescription& gpu,
                Memory& all_memory,
                Environment outer)
    : device(number),
      description(gpu),
      memory(all_memory),
      environment(std::move(outer)),
      timing(gpu),
      adversary(environment.schedule.seed ^ (number + 1) * 0xD1B5'4A32'D192'ED03ULL) {
  if (environment.schedule.seed != 0) slowdown = environment.schedule.slowdown;
  timing.remote = environment.remote;
  for (std::uint32_t i = 0; i < gpu.sms; ++i) {
    sms.push_back(std::make_unique<Sm>(i, timing, gpu.l1_bytes / 2));
  }
  sm_keys.assign(gpu.sms, kNever);
}

Gpu::Impl::~Impl() {
  for (const auto& grid : grids) {
    for (const auto& block : grid->blocks) {
      for (const auto& w : block->warps)
        drop_watches(*w);
    }
  }
  for (const Address slot : all_slots)
    (void)memory.free(slot).has_value();
  for (const auto& [address, bytes] : heap)
    (void)memory.free(address).has_value();
}

void Gpu::Impl::note_key(const Sm& sm) {
  const VTime key = sm.key();
  if (sm.index != current) {
    if (key > sm_keys[sm.index]) others_known = false;
    others = std::min(others, key);
  }
  sm_keys[sm.index] = key;
}

void Gpu::Impl::enqueue(Warp& w, VTime key) {
  w.sm->queue.update(w, key);
  note_key(*w.sm);
}

void Gpu::Impl::dequeue(Warp& w) {
  w.sm->queue.remove(w);
  note_key(*w.sm);
}

VTime Gpu::Impl::lowest() const {
  if (others_known) return std::min(others, sm_keys[current]);
  return *std::min_element(sm_keys.begin(), sm_keys.end());
}

VTime Gpu::Impl::lowest_of_others() {
  if (!others_known) {
    const VTime own = std::exchange(sm_keys[current], kNever);
    others = lowest();
    sm_keys[current] = own;
    others_known = true;
  }
  return others;
}

bool Gpu::Impl::select_sm() {
  // Staying on one SM keeps its warps' registers in the host's cache.
  const VTime slack = std::min(kSmSlack, environment.schedule.run_ahead);
  if (sm_keys[current] == kNever || sm_keys[current] > add(lowest_of_others(), slack)) {
    const auto least = std::min_element(sm_keys.begin(), sm_keys.end());
    current = static_cast<std::size_t>(least - sm_keys.begin());
    others_known = false;
  }
  return sm_keys[current] != kNever;
}

VTime Gpu::Impl::draw_stall() {
  const Schedule& schedule = environment.schedule;
  if (schedule.stall_one_in == 0 || adversary.below(schedule.stall_one_in) != 0) return 0;
  return static_cast<VTime>(adversary.below(static_cast<std::uint64_t>(schedule.stall) + 1));
}

void Gpu::Impl::wake(Warp& w, VTime when) {
  if (w.running) return;
  const VTime key = std::max(w.clock, when);
  if (w.queue_index == UINT32_MAX || key < w.queue_key) enqueue(w, key);
}

void Gpu::Impl::print(const Grid& grid, std::string_view text) {
  if (grid.request.print) {
    grid.request.print(text);
  } else if (environment.print) {
    environment.print(text);
  }
}

Address Gpu::Impl::heap_allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > environment.heap_bytes || heap_used + bytes > environment.heap_bytes) {
    return 0;
  }
  const auto address = memory.allocate(device, bytes, 256);
  if (!address) return 0;
  heap[*address] = bytes;
  heap_used += bytes;
  return *address;
}

void Gpu::Impl::heap_free(Address address) {
  const auto found = heap.find(address);
  if (found == heap.end()) return;
  heap_used -= found->second;
  heap.erase(found);
  (void)memory.free(address).has_value();
}

Gpu::Gpu(unsigned device,
         const hardware::GpuDescription& description,
         Memory& memory,
         Environment environment)
    : impl_(std::make_unique<Impl>(device, description, memory, std::move(environment))) {}
Gpu::~Gpu() = default;

Result<GridId> Gpu::launch(LaunchRequest request, VTime start, Done done) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c")) {
    return Error(ErrorKind::Unavailable, "the virtual GPU needs a CPU with AVX2, FMA and F16C");
  }
  CUCO_TRY_ASSIGN(std::unique_ptr<Grid> grid, impl_->make_grid(std::move(request), start));
  grid->done = std::move(done);
  const GridId id = grid->id;
  auto& grids = impl_->grids;
  const auto behind = std::ranges::upper_bound(
      grids, grid->request.priority, {}, [](const auto& other) { return other->request.priority; });
  grids.insert(behind, std::move(grid));
  return id;
}

void Gpu::take_sms(std::uint32_t count, VTime until) {
  std::vector<Sm*> by_load;
  for (const auto& sm : impl_->sms)
    by_load.push_back(sm.get());
  // Where there is most room; blocks of small grids start from the other end.
  std::stable_sort(by_load.begin(), by_load.end(), [](const Sm* a, const Sm* b) {
    return a->threads != b->threads ? a->threads < b->threads : a->index > b->index;
  });
  // A kernel beside it gets on: one SM is always left.
  by_load.resize(std::min<std::size_t>(count, by_load.size() - 1));
  for (Sm* sm : by_load)
    sm->taken_until = std::max(sm->taken_until, until);
}

std::optional<VTime> Gpu::next_time() const {
  VTime soonest = std::min({impl_->lowest(), impl_->next_arrival(), impl_->next_copy()});
  if (!impl_->vacancies.empty()) soonest = std::min(soonest, impl_->vacancies.top().first);
  if (soonest == kNever) return std::nullopt;
  return soonest;
}

void Gpu::step(VTime limit) {
  impl_->place_due();
  if (!impl_->select_sm()) return;
  Sm& sm = *impl_->sms[impl_->current];
  impl_->start_blocks(sm);
  const VTime slack = std::min(kSlack, impl_->environment.schedule.run_ahead);
  if (impl_->environment.schedule.seed != 0) {
    // Its blocks may start so late that others come first.
    impl_->note_key(sm);
    if (sm.key() > add(std::min(limit, impl_->lowest_of_others()), slack)) return;
  }
  Warp& w = sm.queue.pop();
  impl_->note_key(sm);
  Grid& grid = *w.grid;
  const VTime key = w.queue_key;
  const VTime neighbour = sm.key();
  const VTime strict = std::min({limit, neighbour, impl_->lowest_of_others(), impl_->next_copy()});
  const VTime end = std::min(
      {add(std::max(neighbour, key), slack), add(std::max(limit, key), slack), add(key, kQuantum)});
  const VTime before = w.clock - w.idle;
  run_warp(w, end, add(std::max(strict, key), kStrictSlack));
  // Waiting takes as long as it takes: two that wait for each other would wait longer each time.
  w.clock += (w.clock - w.idle - before) * (impl_->slowdown - 1);
  if (impl_->environment.schedule.seed != 0) w.clock += impl_->draw_stall();
  if (!grid.trap && impl_->environment.cancel != nullptr &&
      impl_->environment.cancel->load(std::memory_order_relaxed)) {
    grid.trap = Trap{
        .kind = TrapKind::Cancelled, .message = "by request", .kernel = grid.kernel->info.name};
  }
  const std::uint64_t budget = grid.request.instruction_budget;
  if (!grid.trap && budget != 0 && grid.warp_instructions > budget) {
    grid.trap = outside_trap(grid, TrapKind::Budget,
                             fmt::format("{} warp-instructions", grid.warp_instructions));
  }
  if (grid.trap) {
    impl_->retire(grid);
    return;
  }
  if (w.alive == 0) {
    for (auto& frame : w.frames)
      impl_->spare_frames.push_back(std::move(frame));
    w.frames.clear();
    if (w.block->live_warps == 0) impl_->finish_block(*w.block);
    return;
  }
  const VTime next = runnable_at(w);
  if (next != kNever) impl_->enqueue(w, next);
}

void Gpu::set_slowdown(std::int32_t factor) {
  impl_->slowdown = std::max(factor, 1);
}

Gpu::Sweep Gpu::sweep(Address start, std::uint64_t bytes, bool store) {
  Timing& timing = impl_->timing;
  Sweep sum;
  // Of a range that is much larger than the L2, only the end can be there afterwards.
  const std::uint64_t most = 2 * impl_->description.l2_bytes;
  const std::uint64_t ahead = bytes > most ? bytes - most : 0;
  const auto& l2 = store ? timing.l2_stored_sectors : timing.l2_sectors;
  sum.l2 = static_cast<VTime>(ahead / 128) * l2[4];
  sum.hbm = static_cast<VTime>(ahead / 128) * timing.hbm_sectors[4];
  for (Address line = (start + ahead) >> 7U; line < (start + bytes + 127) >> 7U; ++line) {
    const auto [hit, written, recent] =
        timing.l2_tags.touch(timing.l2_tags.place_of(line), 0xF, store);
    const int moved = std::popcount(written) + (store ? 0 : 4 - std::popcount(hit));
    sum.l2 += l2[4];
    sum.hbm += timing.hbm_sectors[static_cast<unsigned>(moved)];
  }
  return sum;
}

void Gpu::flush_cache() {
  impl_->timing.l2_tags.clear();
}

bool Gpu::idle() const {
  return impl_->grids.empty();
}

void Gpu::kill(GridId id, TrapKind kind, std::string message) {
  for (const auto& grid : impl_->grids) {
    if (grid->id != id) continue;
    if (!grid->trap) {
      grid->trap = outside_trap(*grid, kind, std::move(message));
    }
    impl_->retire(*grid);
    return;
  }
}

std::uint32_t Gpu::occupancy(const KernelInfo& kernel,
                             std::uint32_t threads,
                             std::uint32_t dynamic_shared) const {
  return impl_->blocks_per_sm(kernel, threads, dynamic_shared);
}

const hardware::GpuDescription& Gpu::description() const {
  return impl_->description;
}
unsigned Gpu::device() const {
  return impl_->device;
}

}  // namespace cuco::vgpu
