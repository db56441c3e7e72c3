// SPDX-License-Identifier: Apache-2.0
// The memory port: lane addresses to server memory, and the bookkeeping of every access.
#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/plain_spin.h"
#include "vgpu/memory/access.h"
#include "vgpu/timing/warp_clock.h"

namespace cuco::vgpu {

namespace {

/// How long a store may be under way before its warp has to wait: more than any wire's latency.
constexpr VTime kStoreWindow = 2 * kMicrosecond;

/// Distinct 128-byte lines of an access, each with the sectors asked for.
struct Lines {
  std::array<std::uint64_t, 2 * kLanes> line;
  std::array<std::uint32_t, 2 * kLanes> sectors;
  unsigned count = 0;

  void add(Address first, Address last) {
    for (Address sector = first >> 5U; sector <= last >> 5U; ++sector) {
      const std::uint64_t wanted = sector >> 2U;
      const std::uint32_t bit = 1U << (sector & 3U);
      if (count != 0 && line[count - 1] == wanted) {
        sectors[count - 1] |= bit;
        continue;
      }
      unsigned i = 0;
      while (i < count && line[i] != wanted)
        ++i;
      if (i == count) {
        if (count == line.size()) return;
        line[count] = wanted;
        sectors[count++] = 0;
      }
      sectors[i] |= bit;
    }
  }
};

/// A line and its places in the caches.
struct Line {
  CacheTags::Place l1, l2;
};
[[gnu::always_inline]] inline Line find_line(const Warp& w, std::uint64_t line) {
  return {w.sm->l1.prefetch(line), w.sm->timing->l2_tags.prefetch(line)};
}

/// Time of a line's sectors through L1, L2 and HBM: when the data is there, or, of a store, when
/// the memory system has taken it.
[[gnu::always_inline]] inline VTime line_time(
    Warp& w, const Line& line, std::uint32_t sectors, bool store, bool use_l1) {
  Timing& timing = *w.sm->timing;
  Counters& counters = w.grid->counters;
  counters.sectors += static_cast<std::uint64_t>(std::popcount(sectors));
  if (use_l1) {
    const std::uint32_t hit = w.sm->l1.touch(line.l1, sectors).hit;
    counters.l1_hits += static_cast<std::uint64_t>(std::popcount(hit));
    sectors &= ~hit;
    if (sectors == 0) return 0;
  }
  const auto asked = static_cast<unsigned>(std::popcount(sectors));
  const VTime l2_done = timing.l2.reserve(w.clock, timing.l2_sectors[asked]);
  const auto [hit, written] = timing.l2_tags.touch(line.l2, sectors, store);
  counters.l2_hits += static_cast<std::uint64_t>(std::popcount(hit));
  // Whole sectors are stored without being read; dirty ones are written when they leave.
  sectors = store ? 0 : sectors & ~hit;
  const VTime ready = l2_done + timing.l2_latency;
  if ((sectors | written) == 0) return ready;
  const auto moved = static_cast<unsigned>(std::popcount(sectors) + std::popcount(written));
  counters.hbm_bytes += 32U * moved;
  const VTime hbm_done = timing.hbm.reserve(w.clock, timing.hbm_sectors[moved]);
  return std::max(ready, sectors != 0 ? hbm_done + timing.hbm_latency : hbm_done);
}

VTime remote_time(Warp& w, std::uint8_t owner, std::uint32_t sectors, bool store) {
  Timing& timing = *w.sm->timing;
  w.grid->counters.sectors += static_cast<std::uint64_t>(std::popcount(sectors));
  const std::uint64_t bytes = 32U * static_cast<unsigned>(std::popcount(sectors));
  return timing.remote ? timing.remote(owner, bytes, store, w.clock)
                       : w.clock + timing.remote_latency;
}

/// The access is done at `ready`: who has to know.
[[gnu::always_inline]] inline void finish_access(Warp& w,
                                                 const Op& op,
                                                 AccessKind kind,
                                                 VTime ready) {
  if (kind == AccessKind::Store) {
    ++w.grid->counters.global_stores;
    // Stores are posted; a full memory system pushes back. The block ends when they are done.
    w.clock = std::max(w.clock, ready - kStoreWindow);
    w.block->last_exit = std::max(w.block->last_exit, ready);
    return;
  }
  ++w.grid->counters.global_loads;
  if (kind == AccessKind::Atomic) {
    ++w.grid->counters.atomics;
    ready = std::max(ready, w.clock + w.sm->timing->atomic_latency);
  }
  for (std::uint32_t slots = op.set_slots; slots != 0; slots &= slots - 1) {
    w.load_ready[static_cast<unsigned>(std::countr_zero(slots))] = ready;
  }
}

bool uses_l1(const Op& op, AccessKind kind) {
  return kind == AccessKind::Load && (op.aux >> 21U & 1U) == 0;  // MemoryAux::no_l1
}

/// When the L1 pipe has taken that many lines.
[[gnu::always_inline]] inline VTime enter_l1(Warp& w, unsigned lines) {
  const Timing& timing = *w.sm->timing;
  return w.sm->lsu.reserve(w.clock, lines * timing.cycle) + timing.l1_latency;
}

void finish_global(Warp& w, const Op& op, AccessKind kind, const Lines& lines) {
  w.sync_clock();
  const bool store = kind == AccessKind::Store;
  const bool use_l1 = uses_l1(op, kind);
  VTime ready = enter_l1(w, lines.count);
  for (unsigned i = 0; i < lines.count; ++i) {
    const Granule& granule = w.memory->granule(lines.line[i] << 7U);
    ready = std::max(
        ready, granule.owner == w.grid->device
                   ? line_time(w, find_line(w, lines.line[i]), lines.sectors[i], store, use_l1)
                   : remote_time(w, granule.owner, lines.sectors[i], store));
  }
  finish_access(w, op, kind, ready);
}

[[gnu::noinline]] void observe(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  AccessEvent event{.kind = kind,
                    .space = aux.space,
                    .order = aux.order,
                    .scope = aux.scope,
                    .bytes = bytes,
                    .lanes = w.active,
                    .addresses = addresses};
  if (aux.space == ptx::Space::Shared || aux.space == ptx::Space::Local ||
      aux.space == ptx::Space::Param) {
    w.observer->on_access(w, op, event);
    return;
  }
  // Generic accesses are reported by the space they really go to.
  LaneAddresses own{};
  std::array<std::uint32_t, 3> groups{};
  for_active(w.active, [&](unsigned l) {
    const Address a = addresses[l];
    const bool generic = aux.space == ptx::Space::Generic;
    const unsigned group = generic && is_shared(a) ? 1 : generic && is_local(a) ? 2 : 0;
    own[l] = group == 1   ? a - kSharedWindow
             : group == 2 ? a - kLocalWindow
                          : (is_mapped_region(a) ? w.memory->canonical(a) : a);
    groups[group] |= 1U << l;
  });
  constexpr std::array kSpaces{ptx::Space::Global, ptx::Space::Shared, ptx::Space::Local};
  for (unsigned g = 0; g < 3; ++g) {
    if (groups[g] == 0) continue;
    AccessEvent part{.kind = kind,
                     .space = kSpaces[g],
                     .order = aux.order,
                     .scope = aux.scope,
                     .bytes = bytes,
                     .lanes = groups[g],
                     .addresses = own};
    w.observer->on_access(w, op, part);
  }
}

std::byte* bad_address(
    Warp& w, const Op& op, unsigned lane, Address address, std::uint32_t bytes, const char* why) {
  w.raise(op, TrapKind::IllegalAddress, lane,
          fmt::format("{} of {} bytes at {:#x}: {}", w.kernel->origins[op.source].instruction->text,
                      bytes, address, why),
          address);
  return nullptr;
}

}  // namespace

void gather_addresses(const Warp& w, const Op& op, LaneAddresses& out) {
  if ((op.aux >> 20U & 1U) != 0) {
    const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
    const auto offset = static_cast<std::uint32_t>(op.imm);
    for (unsigned l = 0; l < kLanes; ++l)
      out[l] = a[l] + offset;
  } else {
    const std::uint64_t* a = w.slots<std::uint64_t>(op.a);
    for (unsigned l = 0; l < kLanes; ++l)
      out[l] = a[l] + op.imm;
  }
}

std::byte* resolve(
    Warp& w, const Op& op, ptx::Space space, unsigned lane, Address address, std::uint32_t bytes) {
  if ((address & (std::min(bytes, 16U) - 1)) != 0) {
    w.raise(op, TrapKind::Misaligned, lane,
            fmt::format("{} of {} bytes at {:#x}", w.kernel->origins[op.source].instruction->text,
                        bytes, address),
            address);
    return nullptr;
  }
  if (space == ptx::Space::Generic) {
    if (is_shared(address)) {
      space = ptx::Space::Shared;
      address -= kSharedWindow;
    } else if (is_local(address)) {
      space = ptx::Space::Local;
      address -= kLocalWindow;
    }
  }
  if (space == ptx::Space::Shared) {
    const std::uint64_t size = w.block->shared.size();
    if (address >= size || bytes > size - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the block's shared memory");
    }
    return w.block->shared.data() + address;
  }
  if (space == ptx::Space::Local) {
    if (address >= w.local_stride || bytes > w.local_stride - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the thread's local memory");
    }
    return w.local.data() + std::size_t{lane} * w.local_stride + address;
  }
  if (space == ptx::Space::Param) {
    if (address >= w.kernel->info.argument_bytes ||
        bytes > w.kernel->info.argument_bytes - address) {
      return bad_address(w, op, lane, address, bytes, "outside of the parameters");
    }
    return Memory::at(w.grid->parameters + address);
  }
  const Granule& granule = w.memory->granule(address);
  if ((granule.flags & Granule::Valid) == 0) {
    return bad_address(w, op, lane, address, bytes,
                       (granule.flags & Granule::Multicast) != 0
                           ? "a multicast address takes multimem and stores only"
                           : "nothing is mapped there");
  }
  if (granule.owner != w.grid->device && granule.owner != kHostOwner &&
      (w.grid->peers >> granule.owner & 1U) == 0) {
    return bad_address(w, op, lane, address, bytes, "no peer access to that device");
  }
  return Memory::at(address);
}

void after_write(Warp& w, ptx::Space space, Address address, std::uint32_t bytes) {
  if (space == ptx::Space::Generic) {
    if (is_local(address)) {
      space = ptx::Space::Local;
    } else if (is_shared(address)) {
      space = ptx::Space::Shared;
      address -= kSharedWindow;
    }
  }
  // Nobody else reads local memory; it is part of the state that spins are recognised by.
  if (space == ptx::Space::Local && w.local.size() <= kMaxSpinLocal) return;
  note_progress(w);
  if (space == ptx::Space::Shared) {
    if (!w.block->watches.empty()) {
      w.sync_clock();
      notify_shared(*w.block, static_cast<std::uint32_t>(address), bytes, w.clock);
    }
  } else if (space != ptx::Space::Local && w.memory->has_watches()) {
    w.sync_clock();
    w.memory->notify_kernel_write(address, bytes, w.clock);
  }
}

void observe_row(const Warp& w, RowEvent row) {
  if (row.space == ptx::Space::Const) row.space = ptx::Space::Global;
  if (row.space == ptx::Space::Global && is_mapped_region(row.first)) {
    row.first = w.memory->canonical(row.first);
  }
  w.observer->on_rows(w, {&row, 1});
}

void account(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes) {
  if (w.observer != nullptr) observe(w, op, kind, addresses, bytes);
  auto space = static_cast<ptx::Space>(op.aux & 7U);
  const Address first = addresses[static_cast<unsigned>(std::countr_zero(w.active))];
  if (space == ptx::Space::Generic && is_shared(first)) space = ptx::Space::Shared;
  if (space == ptx::Space::Generic && is_local(first)) space = ptx::Space::Local;
  if (space == ptx::Space::Global || space == ptx::Space::Generic) {
    Lines lines;
    for_active(w.active, [&](unsigned l) { lines.add(addresses[l], addresses[l] + bytes - 1); });
    finish_global(w, op, kind, lines);
    return;
  }
  if (space == ptx::Space::Shared) count_bank_conflicts(w, addresses, bytes);
  if (kind == AccessKind::Atomic) ++w.grid->counters.atomics;
  if (op.set_slots != 0) {
    w.sync_clock();
    const VTime done = w.clock + w.sm->timing->shared_latency;
    for (std::uint32_t slots = op.set_slots; slots != 0; slots &= slots - 1) {
      w.load_ready[static_cast<unsigned>(std::countr_zero(slots))] = done;
    }
  }
}

namespace {

/// One whole line: what coalesced code asks for.
template <AccessKind kKind>
[[gnu::always_inline]] inline void account_line(Warp& w, const Op& op, std::uint64_t number) {
  const Line line = find_line(w, number);
  constexpr bool kStore = kKind == AccessKind::Store;
  advance_clock(w);
  const VTime entered = enter_l1(w, 1);
  finish_access(w, op, kKind,
                std::max(entered, line_time(w, line, 0xF, kStore, uses_l1(op, kKind))));
}

[[gnu::noinline]] void account_lines(
    Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes) {
  w.sync_clock();
  const bool store = kind == AccessKind::Store;
  const bool use_l1 = uses_l1(op, kind);
  const Address first = start >> 5U;
  const Address last = (start + bytes - 1) >> 5U;
  VTime ready = enter_l1(w, static_cast<unsigned>((last >> 2U) - (first >> 2U) + 1));
  for (Address sector = first; sector <= last;) {
    // All wanted sectors of this line at once.
    const Address end = std::min(last, sector | 3U);
    const std::uint32_t sectors = ((2U << (end & 3U)) - 1) & ~((1U << (sector & 3U)) - 1);
    ready = std::max(ready, line_time(w, find_line(w, sector >> 2U), sectors, store, use_l1));
    sector = end + 1;
  }
  finish_access(w, op, kind, ready);
}

}  // namespace

void account_range(Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes) {
  if ((start & 127U) == 0 && bytes == 128) {
    return kind == AccessKind::Store ? account_line<AccessKind::Store>(w, op, start >> 7U)
                                     : account_line<AccessKind::Load>(w, op, start >> 7U);
  }
  account_lines(w, op, kind, start, bytes);
}

namespace {

/// Passes of one group of lanes: the most words that any bank has to give.
std::uint32_t passes_of(const Address* addresses,
                        unsigned group,
                        std::uint32_t active,
                        std::uint32_t bytes) {
  std::array<std::uint32_t, 32> last;
  std::array<std::uint8_t, 32> count{};
  last.fill(~0U);
  std::uint8_t worst = 0;
  for (unsigned l = 0; l < group; ++l) {
    if ((active >> l & 1U) == 0) continue;
    for (std::uint32_t b = 0; b < bytes; b += 4) {
      const auto word = static_cast<std::uint32_t>((addresses[l] + b) >> 2U);
      const std::uint32_t bank = word & 31U;
      if (last[bank] == word) continue;
      last[bank] = word;
      worst = std::max(worst, ++count[bank]);
    }
  }
  return worst;
}

/// Words that lie within one row of banks get into nobody's way: one pass.
bool is_one_row(const Address* addresses, unsigned group, std::uint32_t bytes) {
  Address differ = 0;
  for (unsigned l = 0; l < group; ++l)
    differ |= addresses[l] ^ addresses[0];
  if (differ < 128) return true;
  auto low = static_cast<std::uint32_t>(addresses[0]);
  std::uint32_t high = low;
  for (unsigned l = 1; l < group; ++l) {
    low = std::min(low, static_cast<std::uint32_t>(addresses[l]));
    high = std::max(high, static_cast<std::uint32_t>(addresses[l]));
  }
  return ((high + bytes - 1) >> 2U) - (low >> 2U) < 32;
}

}  // namespace

void count_bank_conflicts(Warp& w, const LaneAddresses& addresses, std::uint32_t bytes) {
  // Wide accesses are served by halves or quarters of the warp, 128 bytes at a time.
  const unsigned group = bytes <= 4 ? 32 : std::max(128 / bytes, 1U);
  const bool all = w.active == kFullMask;
  std::uint32_t passes = 0;
  for (unsigned start = 0; start < kLanes; start += group) {
    passes += all && is_one_row(addresses.data() + start, group, bytes)
                  ? 1
                  : passes_of(addresses.data() + start, group, w.active >> start, bytes);
  }
  if (passes <= 1) return;
  // Passes beyond what the width needs anyway are conflicts.
  const std::uint32_t needed =
      std::max(1U, static_cast<std::uint32_t>(std::popcount(w.active)) * bytes / 128);
  if (passes > needed) w.grid->counters.bank_conflicts += passes - needed;
  w.shared_passes += passes - 1;
}

}  // namespace cuco::vgpu
