// SPDX-License-Identifier: Apache-2.0
// What an access costs: each lane pays for the memory that it goes to.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/release.h"
#include "vgpu/timing/warp_clock.h"

namespace cuco::vgpu {

namespace {

/// How long a store may be under way before its warp has to wait: more than any wire's latency.
constexpr VTime kStoreWindow = 2 * kMicrosecond;

/// Cycles of the SM's memory path, as measured on an H200 (bench/sanity).
constexpr unsigned kPartialStoreCycles = 2;  ///< A sector that is not written whole.
constexpr unsigned kConstantCycles = 8;      ///< Each further word of constant memory.

/// Pages that are not at hand: 1,024 of 2 MiB by turns (bench/sanity, far_pages). A few come in
/// time.
constexpr VTime kTranslationTime = 500 * kNanosecond;
constexpr unsigned kPagesAtOnce = 4;

/// Distinct 128-byte lines of an access, each with the sectors and bytes asked for.
struct Lines {
  static constexpr unsigned kMost = 8 * kLanes;  ///< 32 bytes of local memory lie in 8 lines.
  struct Bytes {
    std::array<std::uint32_t, 4> of_sector;
  };
  std::array<std::uint64_t, kMost> line;
  std::array<std::uint32_t, kMost> sectors;
  std::array<Bytes, kMost> bytes;
  unsigned count = 0;

  void add(Address at, std::uint32_t size) {
    while (size != 0) {
      const auto within = static_cast<std::uint32_t>(at & 31U);
      const std::uint32_t part = std::min(size, 32 - within);
      const unsigned i = find(at >> 7U);
      const auto sector = static_cast<unsigned>(at >> 5U & 3U);
      sectors[i] |= 1U << sector;
      bytes[i].of_sector[sector] |=
          static_cast<std::uint32_t>(((std::uint64_t{1} << part) - 1) << within);
      at += part;
      size -= part;
    }
  }
  /// Sectors of which only a part is asked for.
  [[nodiscard]] std::uint32_t partial(unsigned i) const {
    std::uint32_t out = 0;
    for (unsigned s = 0; s < 4; ++s) {
      if ((sectors[i] >> s & 1U) != 0 && bytes[i].of_sector[s] != ~0U) out |= 1U << s;
    }
    return out;
  }

 private:
  unsigned find(std::uint64_t wanted) {
    if (count != 0 && line[count - 1] == wanted) return count - 1;
    for (unsigned i = 0; i < count; ++i) {
      if (line[i] == wanted) return i;
    }
    CUCO_ASSERT(count < kMost);
    line[count] = wanted;
    sectors[count] = 0;
    bytes[count].of_sector.fill(0);
    return count++;
  }
};

/// A line and its places in the caches.
struct Line {
  CacheTags::Place l1, l2;
};
[[gnu::always_inline]] inline Line find_line(const Warp& w, std::uint64_t line) {
  return {w.sm->l1.prefetch(line), w.sm->timing->l2_tags.prefetch(line)};
}

/// What is asked of a line.
struct Wish {
  std::uint32_t sectors = 0;
  std::uint32_t partial = 0;  ///< Of these, stored in part.
  bool store = false;
  bool atomic = false;
  bool use_l1 = false;
};

/// What the L2 itself has to do for it.
[[gnu::always_inline]] inline VTime l2_work(const Timing& timing,
                                            const Wish& wish,
                                            unsigned sectors) {
  if (!wish.store && !wish.atomic) return timing.l2_sectors[sectors];
  // A store in part is merged with what is there; atomics have units of their own, at four thirds
  // of that rate (1 M of each on a million words: 10.2 and 13.4 us).
  const VTime part = wish.atomic ? timing.l2_part / 2 : wish.partial != 0 ? timing.l2_part : 0;
  return timing.l2_stored_sectors[sectors] + part;
}

/// The sectors that HBM moves for these.
[[gnu::always_inline]] inline std::uint32_t granules(const Timing& timing, std::uint32_t sectors) {
  if (!timing.hbm_by_pairs) return sectors;
  return sectors | (sectors & 0x5U) << 1U | (sectors & 0xAU) >> 1U;
}

/// What HBM needs for the sectors of a line that it reads and writes. `open`: those that were read
/// a moment ago.
[[gnu::always_inline]] inline VTime hbm_work(const Timing& timing,
                                             std::uint32_t read,
                                             std::uint32_t written,
                                             std::uint32_t open) {
  const auto moved = static_cast<unsigned>(std::popcount(read) + std::popcount(written));
  VTime time = timing.hbm_sectors[moved];
  if (!timing.hbm_by_pairs) return time;
  // A burst costs more than its bytes where nothing else is wanted from its page: as much as 56
  // more (bench/calibration/traffic.cu, read_pieces_64). Half a line is taken for such a one, until
  // the other half is wanted, too, while its page is open.
  const VTime opening = timing.hbm_sectors[7] / 4;
  const auto is_half = [](std::uint32_t sectors) { return sectors == 0x3 || sectors == 0xC; };
  if (is_half(written)) time += opening;
  if (is_half(read)) time += (open & ~read) != 0 ? -opening : opening;
  return time;
}

/// The busier HBM is, the longer requests wait in its channels, long before it is full: three
/// quarters more than when it is idle, at full load (add_rms_norm of bench/calibration/further.cu).
[[gnu::always_inline]] inline VTime hbm_latency(const Timing& timing, VTime when) {
  return timing.hbm_latency + timing.hbm_latency * timing.hbm.load(when) * 3 / 1024;
}

/// Time of a line's sectors through L1, L2 and HBM: when the data is there, or, of a store, when
/// the memory system has taken it.
[[gnu::always_inline]] inline VTime line_time(Warp& w, const Line& line, const Wish& wish) {
  Timing& timing = *w.sm->timing;
  Counters& counters = w.grid->counters;
  std::uint32_t sectors = wish.sectors;
  counters.sectors += static_cast<std::uint64_t>(std::popcount(sectors));
  if (wish.use_l1) {
    const std::uint32_t hit = w.sm->l1.touch(line.l1, sectors).hit & sectors;
    if (!wish.store) {
      counters.l1_hits += static_cast<std::uint64_t>(std::popcount(hit));
      sectors &= ~hit;
    }
    if (sectors == 0) return 0;
  }
  const auto asked = static_cast<unsigned>(std::popcount(sectors));
  const VTime l2_done = timing.l2.reserve(w.clock, l2_work(timing, wish, asked));
  // What comes along from HBM is there, too.
  const std::uint32_t fetched = granules(timing, wish.store ? wish.partial : sectors);
  const auto [present, written, recent] =
      timing.l2_tags.touch(line.l2, sectors | fetched, wish.store || wish.atomic);
  const std::uint32_t hit = present & sectors;
  counters.l2_hits += static_cast<std::uint64_t>(std::popcount(hit));
  // Whole sectors are stored without being read; dirty ones are written when they leave.
  sectors = (wish.store ? wish.partial : sectors) & ~hit;
  const VTime ready = l2_done + timing.l2_latency;
  if ((sectors | written) == 0) return ready;
  const std::uint32_t in = granules(timing, sectors);
  const std::uint32_t out = granules(timing, written);
  counters.hbm_bytes += std::uint64_t{32} * static_cast<unsigned>(std::popcount(in | out << 4U));
  const VTime hbm_done =
      timing.hbm.reserve(w.clock, hbm_work(timing, in, out, recent ? present : 0));
  // Nobody waits for what a store in part has to read.
  const bool read = sectors != 0 && !wish.store;
  return std::max(ready, read ? hbm_done + hbm_latency(timing, w.clock) : hbm_done);
}

/// Time of bytes that go to or come from other memories than this GPU's.
VTime remote_time(Warp& w, RemoteRequest request) {
  Timing& timing = *w.sm->timing;
  w.grid->counters.remote_bytes += request.bytes;
  request.when = w.clock;
  const VTime ready = timing.remote ? timing.remote(request) : w.clock + timing.remote_latency;
  // Of the GPU's own memory, a fence's price says it all.
  if (request.store) w.block->stored = std::max(w.block->stored, ready);
  return ready;
}

/// Local memory lies in the GPU's memory, word by word, the lanes of a warp side by side: the same
/// word of all of them is one line. Each warp that can be resident has a place of its own.
std::uint64_t local_line(const Warp& w, Address offset) {
  constexpr std::uint64_t kRegion = std::uint64_t{1} << 56U;  // No address of a program.
  const std::uint64_t place =
      (std::uint64_t{w.sm->index} * kMostBlocks + w.block->slot) * kMostWarps + w.index;
  return kRegion | place << 24U | offset >> 2U;
}

void add_local(const Warp& w, unsigned lane, Address at, std::uint32_t size, Lines& lines) {
  while (size != 0) {
    const auto within = static_cast<std::uint32_t>(at & 3U);
    const std::uint32_t part = std::min(size, 4 - within);
    lines.add((local_line(w, at) << 7U) + std::uint64_t{lane} * 4 + within, part);
    at += part;
    size -= part;
  }
}

/// How much earlier ptxas has the load issued than the PTX says: it comes before whatever its block
/// waits for.
[[gnu::always_inline]] inline VTime head_start(const Warp& w, const Op& op) {
  if ((op.aux >> MemoryAux::kEarlyBit & 1U) == 0 || w.stall.pass != w.pass) return 0;
  const std::uint32_t begin =
      w.kernel->block_begin[static_cast<std::size_t>(&op - w.kernel->ops.data())];
  return w.stall.op >= begin ? w.stall.time : 0;
}

/// The op's results are there at `ready`. A slot may hold several: the latest counts.
[[gnu::always_inline]] inline void set_ready(Warp& w, const Op& op, VTime ready) {
  ready -= head_start(w, op);
  for (std::uint32_t slots = op.set_slots; slots != 0; slots &= slots - 1) {
    VTime& slot = w.load_ready[static_cast<unsigned>(std::countr_zero(slots))];
    slot = std::max(slot, ready);
  }
}

/// The access is done at `ready`: who has to know.
[[gnu::always_inline]] inline void finish_access(Warp& w,
                                                 const Op& op,
                                                 AccessKind kind,
                                                 VTime ready) {
  // A full memory system pushes back, and the block ends when all is done.
  w.clock = std::max(w.clock, ready - kStoreWindow);
  w.block->last_exit = std::max(w.block->last_exit, ready);
  if (kind == AccessKind::Store) {
    ++w.grid->counters.global_stores;
    return;
  }
  ++w.grid->counters.global_loads;
  if (kind == AccessKind::Atomic) {
    ++w.grid->counters.atomics;
    ready = std::max(ready, w.clock + w.sm->timing->atomic_latency);
  }
  set_ready(w, op, ready);
}

bool uses_l1(const Op& op, AccessKind kind) {
  const bool weak = (op.aux >> 3U & 7U) == static_cast<std::uint32_t>(Order::Weak);
  return kind == AccessKind::Load && weak && (op.aux >> 21U & 1U) == 0;  // MemoryAux::no_l1
}

/// When the SM's memory path has taken that many cycles' worth.
[[gnu::always_inline]] inline VTime enter_l1(Warp& w, unsigned cycles) {
  const Timing& timing = *w.sm->timing;
  return w.sm->lsu.reserve(w.clock, cycles * timing.cycle) + timing.l1_latency;
}

/// Cycles of a line on its way in or out: 64 bytes each, at least one.
unsigned path_cycles(const Wish& wish) {
  const auto whole = static_cast<unsigned>(std::popcount(wish.sectors & ~wish.partial));
  const auto partial = static_cast<unsigned>(std::popcount(wish.partial));
  if (!wish.store) return 1;
  return std::max(1U, (whole + 1) / 2 + partial * kPartialStoreCycles);
}

/// Is the SM without the translation of this page? Then it gets it.
bool is_far(Warp& w, Address address) {
  const auto page = static_cast<std::uint32_t>(address >> kGranuleShift) + 1;
  std::uint32_t& place = w.sm->pages[page % w.sm->pages.size()];
  return std::exchange(place, page) != page;
}

/// The lines of an access, local memory included: when all of them are done.
VTime time_of(Warp& w, const Op& op, const Lines& lines, AccessKind kind, bool local) {
  const bool store = kind == AccessKind::Store;
  // Nobody waits for an answer to a reduction.
  const bool one_way = store || (kind == AccessKind::Atomic && op.set_slots == 0);
  VTime ready = 0;
  unsigned cycles = 0;
  unsigned far_pages = 0;
  for (unsigned i = 0; i < lines.count; ++i) {
    const Wish wish{.sectors = lines.sectors[i],
                    .partial = store ? lines.partial(i) : 0,
                    .store = store,
                    .atomic = kind == AccessKind::Atomic,
                    .use_l1 = local || uses_l1(op, kind)};
    cycles += path_cycles(wish) + (kind == AccessKind::Atomic ? 1 : 0);  // There, and back.
    const std::uint8_t owner =
        local ? w.grid->device : w.memory->granule(lines.line[i] << 7U).owner;
    const auto asked = static_cast<std::uint64_t>(std::popcount(wish.sectors));
    if (owner == w.grid->device) {
      // Lines leave the SM one by one.
      ready = std::max(ready, line_time(w, find_line(w, lines.line[i]), wish) +
                                  static_cast<VTime>(i) * w.sm->timing->cycle);
      if (!local) far_pages += is_far(w, lines.line[i] << 7U) ? 1 : 0;
    } else {
      w.grid->counters.sectors += asked;
      ready = std::max(
          ready, remote_time(w, {.owners = {&owner, 1}, .bytes = 32 * asked, .store = one_way}));
    }
    if (local) w.grid->counters.local_sectors += asked;
  }
  if (far_pages > kPagesAtOnce) ready += kTranslationTime;
  return std::max(ready, enter_l1(w, cycles));
}

/// Lanes of an access by the memory that they go to.
struct Parts {
  std::uint32_t shared = 0;
  std::uint32_t local = 0;
  std::uint32_t constant = 0;  ///< And parameters.
  std::uint32_t global = 0;
};

Parts parts_of(ptx::Space space, std::uint32_t active, const LaneAddresses& addresses) {
  switch (space) {
    case ptx::Space::Shared:
      return {.shared = active};
    case ptx::Space::Local:
      return {.local = active};
    case ptx::Space::Const:
    case ptx::Space::Param:
      return {.constant = active};
    case ptx::Space::Generic:
      break;
    default:
      return {.global = active};
  }
  Parts parts;
  for_active(active, [&](unsigned l) {
    if (is_shared(addresses[l])) {
      parts.shared |= 1U << l;
    } else if (is_local(addresses[l])) {
      parts.local |= 1U << l;
    } else {
      parts.global |= 1U << l;
    }
  });
  return parts;
}

/// Constant memory gives one word at a time to all lanes that want it.
void count_constants(Warp& w, std::uint32_t lanes, const LaneAddresses& addresses) {
  unsigned distinct = 0;
  std::array<Address, kLanes> seen;
  for_active(lanes, [&](unsigned l) {
    const auto end = seen.begin() + distinct;
    if (std::find(seen.begin(), end, addresses[l]) == end) seen[distinct++] = addresses[l];
  });
  if (distinct > 1) w.shared_passes += (distinct - 1) * kConstantCycles;
}

constexpr bool is_multicast(Address a) {
  return (a >> 40U) >= (kMulticastBase >> 40U) && a < kHostBase;
}

std::uint32_t multicast_lanes(std::uint32_t lanes, const LaneAddresses& addresses) {
  std::uint32_t out = 0;
  for_active(lanes, [&](unsigned l) { out |= (is_multicast(addresses[l]) ? 1U : 0U) << l; });
  return out;
}

/// Through the switch: the sender's link carries stored bytes once, every member's link all of
/// them; of a reduction every member sends, and what comes back is one of them.
VTime multicast_time(Warp& w,
                     AccessKind kind,
                     std::uint32_t lanes,
                     const LaneAddresses& addresses,
                     std::uint32_t bytes) {
  Lines lines;
  for_active(lanes, [&](unsigned l) { lines.add(addresses[l], bytes); });
  VTime ready = enter_l1(w, lines.count);
  for (unsigned i = 0; i < lines.count; ++i) {
    const Multicast* cast = w.memory->find_multicast(lines.line[i] << 7U);
    if (cast == nullptr) continue;  // The access has trapped, or will.
    std::vector<std::uint8_t> owners;
    owners.reserve(cast->members.size());
    for (const Address member : cast->members)
      owners.push_back(w.memory->granule(member).owner);
    const auto sectors = static_cast<std::uint64_t>(std::popcount(lines.sectors[i]));
    w.grid->counters.sectors += sectors;
    ready = std::max(ready, remote_time(w, {.owners = owners,
                                            .bytes = 32 * sectors,
                                            .store = kind != AccessKind::Load}));
  }
  return ready;
}

/// Lanes of one warp that want words of one line.
struct OneLine {
  std::array<std::uint8_t, 64> on_word{};
  std::array<std::uint8_t, 4> most{};  ///< On one word, by sector.
  std::uint8_t lanes = 0;

  void add(Address address) {
    std::uint8_t& sector = most[address >> 5U & 3U];
    sector = std::max(sector, ++on_word[address >> 1U & 63U]);
    ++lanes;
  }
  [[nodiscard]] bool clashes() const {
    return std::ranges::any_of(most, [](std::uint8_t sector) { return sector > 1; });
  }
};

/// How long the line's unit is busy with them.
VTime unit_time(const Timing& timing, const Op& op, const OneLine& line) {
  const std::uint8_t user = MemoryAux::unpack(op.aux).user;
  const bool returns = op.set_slots != 0 && (user & AtomicIsUnread) == 0;
  const bool uniform = (user & AtomicIsUniform) != 0;
  const VTime unit = (user & AtomicIsFloat) != 0 ? timing.atomic_float_unit : timing.atomic_unit;
  // Where two lanes want one word, a reduction takes all of the line one by one.
  if (!returns && !uniform && line.clashes())
    return line.lanes * std::max(unit, timing.atomic_clash_unit);
  // Different words of a sector are changed side by side. What the lanes get back of their sum is
  // made from what comes back of the warp's.
  VTime turns = 0;
  for (const std::uint8_t sector : line.most)
    turns += uniform ? std::min<VTime>(sector, returns ? 3 : 1) : sector;
  return turns * unit;
}

/// The unit of an L2 that has the line's atomics.
std::uint64_t atomic_unit_of(std::uint64_t line) {
  return line * 0x9E37'79B9'7F4A'7C15ULL >> (64 - Timing::kAtomicUnitBits);
}

/// Atomics on one word come one after the other, wherever they come from. Places of the table are
/// shared by words that hash alike, as the units of an L2 are.
VTime serialise_atomics(Warp& w,
                        const Op& op,
                        std::uint32_t lanes,
                        const LaneAddresses& addresses) {
  Timing& timing = *w.sm->timing;
  VTime ready = 0;
  std::uint32_t open = lanes;
  while (open != 0) {
    const Address number = addresses[static_cast<unsigned>(std::countr_zero(open))] >> 7U;
    OneLine line;
    for_active(open, [&](unsigned l) {
      if (addresses[l] >> 7U != number) return;
      open &= ~(1U << l);
      line.add(addresses[l]);
    });
    const VTime done =
        timing.atomic_units[atomic_unit_of(number)].reserve(w.clock, unit_time(timing, op, line));
    ready = std::max(ready, done + timing.atomic_latency);
  }
  return ready;
}

bool is_strong_access(const Op& op) {
  return (op.aux >> 3U & 7U) != static_cast<std::uint32_t>(Order::Weak);
}

/// Flags on their way to other GPUs are there at `when`.
void note_arrivals(Warp& w, std::uint32_t lanes, const LaneAddresses& addresses, VTime when) {
  const auto note = [&](Address address) {
    const std::uint8_t owner = w.memory->granule(address).owner;
    if (owner == w.grid->device || owner == kHostOwner) return;
    w.memory->arrivals.note(w.memory->canonical(address), when);
  };
  for_active(lanes, [&](unsigned l) {
    if (!is_multicast(addresses[l])) return note(addresses[l]);
    const Multicast* cast = w.memory->find_multicast(addresses[l]);
    if (cast == nullptr) return;  // The access has trapped, or will.
    for (const Address member : cast->members)
      note(member + (addresses[l] - cast->base));
  });
}

/// When all that the lanes read has arrived.
VTime last_arrival(const Warp& w, std::uint32_t lanes, const LaneAddresses& addresses) {
  VTime last = 0;
  for_active(lanes, [&](unsigned l) {
    if (is_multicast(addresses[l])) return;
    last = std::max(last, w.memory->arrivals.of(w.memory->canonical(addresses[l])));
  });
  return last;
}

/// Flags, of whatever kind: a writer's are on their way, a reader waits for those that are.
VTime flag_time(
    Warp& w, AccessKind kind, std::uint32_t lanes, const LaneAddresses& addresses, VTime ready) {
  if (kind != AccessKind::Store && !w.memory->arrivals.empty()) {
    const VTime arrived = last_arrival(w, lanes, addresses);
    if (arrived > w.clock) ready = std::max(ready, arrived + w.sm->timing->l2_latency);
  }
  if (kind != AccessKind::Load) note_arrivals(w, lanes, addresses, ready);
  return ready;
}

}  // namespace

void wait_for_result(Warp& w, const Op& op) {
  for (std::uint32_t slots = op.set_slots; slots != 0; slots &= slots - 1) {
    w.clock = std::max(w.clock, w.load_ready[static_cast<unsigned>(std::countr_zero(slots))]);
  }
}

void wait_for_stores(Warp& w, Scope scope) {
  w.spend(w.sm->timing->fence_cycles[static_cast<unsigned>(scope)]);
  if (scope >= Scope::Gpu) w.clock = std::max(w.clock, w.block->stored);
}

void account(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes) {
  if (w.observer != nullptr) observe(w, op, kind, addresses, bytes);
  const auto space = static_cast<ptx::Space>(op.aux & 7U);
  if (space == ptx::Space::Local && op.aux >> 24U == kInRegisters) return;
  const Parts parts = parts_of(space, w.active, addresses);
  if (parts.shared != 0) {
    if (kind == AccessKind::Atomic) {
      count_shared_atomics(w, op, parts.shared, addresses, bytes);
    } else {
      count_bank_conflicts(w, parts.shared, addresses, bytes);
    }
  }
  if (parts.constant != 0) count_constants(w, parts.constant, addresses);
  if ((parts.local | parts.global) == 0) {
    if (kind == AccessKind::Atomic) ++w.grid->counters.atomics;
    if (op.set_slots == 0) return;
    w.sync_clock();
    return set_ready(w, op, w.clock + w.sm->timing->shared_latency);
  }
  w.sync_clock();
  VTime ready = parts.shared != 0 ? w.clock + w.sm->timing->shared_latency : 0;
  if (parts.local != 0) {
    Lines lines;
    for_active(parts.local,
               [&](unsigned l) { add_local(w, l, addresses[l] & kLocalOffset, bytes, lines); });
    ready = std::max(ready, time_of(w, op, lines, kind, true));
  }
  if (parts.global != 0) {
    Lines lines;
    for_active(parts.global, [&](unsigned l) {
      if (!is_multicast(addresses[l])) lines.add(addresses[l], bytes);
    });
    ready = std::max(ready, time_of(w, op, lines, kind, false));
    if (kind == AccessKind::Atomic) {
      ready = std::max(ready, serialise_atomics(w, op, parts.global, addresses));
    }
    const std::uint32_t cast = multicast_lanes(parts.global, addresses);
    if (cast != 0) ready = std::max(ready, multicast_time(w, kind, cast, addresses, bytes));
    if (is_strong_access(op)) ready = flag_time(w, kind, parts.global, addresses, ready);
  }
  finish_access(w, op, kind, ready);
}

void account_multicast(
    Warp& w, const Op& op, AccessKind kind, const LaneAddresses& addresses, std::uint32_t bytes) {
  w.sync_clock();
  const VTime ready = multicast_time(w, kind, w.active, addresses, bytes);
  if (kind != AccessKind::Load && is_strong_access(op)) {
    note_arrivals(w, w.active, addresses, ready);
  }
  finish_access(w, op, kind, ready);
}

namespace {

/// One whole line: what coalesced code asks for.
template <AccessKind Kind>
[[gnu::always_inline]] inline void account_line(Warp& w, const Op& op, std::uint64_t number) {
  const Line line = find_line(w, number);
  constexpr bool kStore = Kind == AccessKind::Store;
  advance_clock(w);
  const Wish wish{.sectors = 0xF, .store = kStore, .use_l1 = uses_l1(op, Kind)};
  const VTime entered = enter_l1(w, path_cycles(wish));
  finish_access(w, op, Kind, std::max(entered, line_time(w, line, wish)));
}

}  // namespace

VTime range_time(Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes) {
  w.sync_clock();
  const bool store = kind == AccessKind::Store;
  VTime ready = 0;
  unsigned cycles = 0;
  for (Address at = start, end = start + bytes; at < end;) {
    const Address next = std::min(end, (at | 127U) + 1);  // All that is wanted of this line.
    Lines line;
    line.add(at, static_cast<std::uint32_t>(next - at));
    const Wish wish{.sectors = line.sectors[0],
                    .partial = store ? line.partial(0) : 0,
                    .store = store,
                    .use_l1 = uses_l1(op, kind)};
    cycles += path_cycles(wish);
    ready = std::max(ready, line_time(w, find_line(w, at >> 7U), wish));
    at = next;
  }
  return std::max(ready, enter_l1(w, cycles));
}

VTime bulk_time(Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes) {
  const bool store = kind == AccessKind::Store;
  VTime ready = 0;
  for (Address at = start, end = start + bytes; at < end;) {
    const Address next = std::min(end, (at | (kGranule - 1)) + 1);
    const auto size = static_cast<std::uint32_t>(next - at);
    const std::uint8_t owner = w.memory->granule(at).owner;
    if (owner == w.grid->device) {
      ready = std::max(ready, range_time(w, op, kind, at, size));
    } else {
      w.sync_clock();
      // Sectors travel whole.
      const std::uint64_t sectors = ((next - 1) >> 5U) - (at >> 5U) + 1;
      w.grid->counters.sectors += sectors;
      ready = std::max(ready, remote_time(w, {.owners = {&owner, 1},
                                              .bytes = 32 * sectors,
                                              .store = store,
                                              .asynchronous = true}));
    }
    at = next;
  }
  w.block->last_exit = std::max(w.block->last_exit, ready);
  ++(store ? w.grid->counters.global_stores : w.grid->counters.global_loads);
  return ready;
}

VTime bulk_reduce_time(Warp& w, Address start, std::uint32_t bytes, bool is_float) {
  Timing& timing = *w.sm->timing;
  const VTime unit = is_float ? timing.atomic_float_unit : timing.atomic_unit;
  VTime ready = 0;
  for (Address at = start, end = start + bytes; at < end;) {
    const Address next = std::min(end, (at | 127U) + 1);
    const std::uint64_t sectors = ((next - 1) >> 5U) - (at >> 5U) + 1;
    const VTime done =
        timing.atomic_units[atomic_unit_of(at >> 7U)].reserve(w.clock, sectors * unit);
    ready = std::max(ready, done + timing.atomic_latency);
    at = next;
  }
  ++w.grid->counters.atomics;
  return ready;
}

void account_range(Warp& w, const Op& op, AccessKind kind, Address start, std::uint32_t bytes) {
  if ((start & 127U) == 0 && bytes == 128) {
    return kind == AccessKind::Store ? account_line<AccessKind::Store>(w, op, start >> 7U)
                                     : account_line<AccessKind::Load>(w, op, start >> 7U);
  }
  finish_access(w, op, kind, range_time(w, op, kind, start, bytes));
}

}  // namespace cuco::vgpu
