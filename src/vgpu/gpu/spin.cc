// SPDX-License-Identifier: Apache-2.0
#include "vgpu/gpu/spin.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/plain_spin.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

namespace {

constexpr std::size_t kMaxLocations = 1U << 16U;
constexpr std::size_t kRepeatsSought = 64;  ///< Among so many of the last locations.
constexpr VTime kPollTime =
    2 * kMicrosecond;                        ///< A timed loop polls so long before it skips ahead.
constexpr std::uint64_t kQuietQuanta = 4;    ///< Looks without progress before states are compared.
constexpr std::uint64_t kClockLooks = 256;   ///< So many reads of the clock alone are a delay,
constexpr VTime kLookTime = 100'000;         ///< if one follows the other within 100 ns.
constexpr VTime kPatience = 3600 * kSecond;  ///< Polling longer than this is waiting for ever.
/// A loop that counts its tries is never twice in one state. It is compared now and then only, and
/// after so many tries that read the same it waits for ever.
constexpr std::uint64_t kComparedTries = 4096;
constexpr std::uint64_t kComparedEvery = 64;
constexpr std::uint64_t kMaxTries = std::uint64_t{1} << 22U;

std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  digest = (digest ^ value) * 0x9E37'79B9'7F4A'7C15ULL;
  return digest ^ (digest >> 31U);
}

std::uint64_t digest_bytes(const std::byte* data, std::size_t bytes) {
  std::uint64_t digest = bytes;
  while (bytes != 0) {
    std::uint64_t word = 0;
    const std::size_t part = std::min(bytes, sizeof word);
    std::memcpy(&word, data, part);
    digest = mix(digest, word);
    data += part;
    bytes -= part;
  }
  return digest;
}

/// Places and registers of all lanes: of every activation, so that callers' counters count.
std::uint64_t digest_registers(const Warp& w) {
  std::uint64_t digest = w.carry;
  for (std::size_t i = 0; i < w.splits.size(); ++i) {
    const Split& split = w.splits[i];
    digest = mix(digest, std::uint64_t{split.mask} << 8U | static_cast<std::uint64_t>(split.state));
    if (i != w.current) digest = mix(digest, std::uint64_t{split.members} << 32U | split.op);
    digest = mix(digest, split.frame->depth);
  }
  for (const auto& frame : w.frames) {
    digest = mix(digest, frame->return_op);
    digest = mix(digest, digest_bytes(frame->registers.data(), frame->registers.size()));
    for (const std::uint32_t predicate : frame->predicates)
      digest = mix(digest, predicate);
  }
  return digest;
}

/// All that decides what the warp does next, but for memory that others can write.
std::uint64_t digest_state(const Warp& w) {
  const std::uint64_t registers = digest_registers(w);
  return w.local.empty() ? registers : mix(registers, digest_bytes(w.local.data(), w.local.size()));
}

/// Resolves a lane's address to what is watched; false for memory nobody else can write.
bool locate(const Warp& w, ptx::Space space, Address address, SpinLog::Location& out) {
  if (space == ptx::Space::Shared || (space == ptx::Space::Generic && is_shared(address))) {
    out.shared = true;
    out.address = space == ptx::Space::Shared ? address : address - kSharedWindow;
    return true;
  }
  if (!is_mapped_region(address)) return false;
  out.address = w.memory->canonical(address);
  return true;
}

const std::byte* content_of(const Warp& w, const SpinLog::Location& location) {
  return location.shared ? w.block->shared.data() + location.address : Memory::at(location.address);
}

bool is_same_place(const SpinLog::Location& a, const SpinLog::Location& b) {
  return a.shared == b.shared && a.address == b.address && a.bytes == b.bytes;
}

/// Logs what the active lanes have read; false if a location no longer holds what was read there.
bool log_locations(const Warp& w,
                   const Op& op,
                   const LaneAddresses& addresses,
                   std::uint32_t bytes,
                   SpinLog& log) {
  const auto space = static_cast<ptx::Space>(op.aux & 7U);
  bool stable = true;
  Address last = ~Address{0};
  for_active(w.active, [&](unsigned l) {
    if (addresses[l] == last) return;
    last = addresses[l];
    SpinLog::Location location;
    location.bytes = bytes;
    if (!locate(w, space, addresses[l], location)) return;
    location.content = digest_bytes(content_of(w, location), bytes);
    const std::size_t sought = std::min(log.locations.size(), kRepeatsSought);
    const auto recent = log.locations.end() - static_cast<std::ptrdiff_t>(sought);
    const auto known = std::find_if(recent, log.locations.end(), [&](const SpinLog::Location& old) {
      return is_same_place(old, location);
    });
    if (known != log.locations.end()) {
      stable = stable && known->content == location.content;
    } else if (log.locations.size() < kMaxLocations) {
      log.locations.push_back(location);
    } else {
      log.overflow = true;
    }
  });
  return stable;
}

bool still_unchanged(const Warp& w, const SpinLog& log) {
  return std::all_of(log.locations.begin(), log.locations.end(), [&](const auto& location) {
    return digest_bytes(content_of(w, location), location.bytes) == location.content;
  });
}

/// Each location once: it is watched once, and named once.
void drop_repeats(std::vector<SpinLog::Location>& locations) {
  const auto key = [](const SpinLog::Location& l) {
    return std::tie(l.shared, l.address, l.bytes);
  };
  std::sort(locations.begin(), locations.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  locations.erase(std::unique(locations.begin(), locations.end(), is_same_place), locations.end());
}

/// Wakes the split when any of the logged locations is written.
void watch_locations(Warp& w, SpinLog& log) {
  drop_repeats(log.locations);
  log.ticket = ++w.tickets;
  Warp* warp = &w;
  const std::uint64_t ticket = log.ticket;
  for (const SpinLog::Location& location : log.locations) {
    if (location.shared) {
      w.block->watches.push_back(
          {static_cast<std::uint32_t>(location.address), location.bytes, ticket, warp});
    } else {
      log.watches.push_back(
          w.memory->watch(location.address, location.bytes,
                          [warp, ticket](VTime when) { wake_parked(*warp, ticket, when); }));
    }
  }
}

/// Begins a log: nothing is known of what the split does.
void restart(const Warp& w, SpinLog& log) {
  log.progress = w.progress;
  log.anchor = nullptr;
  log.visits = 0;
  log.remember_at = 1;
  log.began = w.clock;
  log.locations.clear();
  log.overflow = false;
}

/// From this read on, the split is expected to come back to it.
void remember(const Warp& w, const Op& op, std::uint64_t digest, SpinLog& log) {
  log.anchor = &op;
  log.lanes = w.active;
  log.digest = digest;
  log.state = digest_state(w);
  log.remember_at = 2 * log.visits;
  log.locations.clear();
  log.overflow = false;
}

/// The active lanes wait for a write to what they have read, then execute `op` again. A timed poll
/// goes on with what it has read instead: it has to read its clock in between.
void park(Warp& w, const Op& op, VTime until) {
  isolate(w, w.active);
  if (until == kNever) {
    block_split(w, Split::State::Parked, &op);
  } else {
    block_split(w, Split::State::Asleep, w.ip);
  }
  Split& split = w.splits[w.current];
  if (until != kNever) split.ready_at = until;
  split.spin->parked_at = &op;
  ++w.grid->counters.parks;
  watch_locations(w, *split.spin);
}

}  // namespace

void note_strong_read(Warp& w,
                      const Op& op,
                      const LaneAddresses& addresses,
                      std::uint32_t bytes,
                      std::uint64_t digest) {
  Split& split = w.splits[w.current];
  if (split.spin == nullptr) split.spin = std::make_unique<SpinLog>();
  SpinLog& log = *split.spin;
  for_active(w.active, [&](unsigned l) { digest = mix(digest, addresses[l]); });
  if (log.progress != w.progress) restart(w, log);
  ++log.visits;
  const bool is_back = log.anchor == &op && log.lanes == w.active && log.digest == digest;
  if (!log_locations(w, op, addresses, bytes, log)) {
    restart(w, log);
  } else if (is_back && !log.overflow && w.reads_clock) {
    const VTime waited = w.clock - log.began;
    if (waited > kPatience) return park(w, op, kNever);
    if (waited > kPollTime) return park(w, op, w.clock + std::min(waited / 16, kLongestLeap));
  } else if (is_back && !log.overflow && log.visits > kMaxTries) {
    return park(w, op, kNever);
  } else if (is_back && !log.overflow &&
             (log.visits < kComparedTries || log.visits % kComparedEvery == 0) &&
             digest_state(w) == log.state) {
    if (still_unchanged(w, log)) return park(w, op, kNever);
    restart(w, log);
  }
  if (log.visits >= log.remember_at) {
    remember(w, op, digest, log);
    (void)log_locations(w, op, addresses, bytes, log);
  }
}

void sleep_until(
    Warp& w, const Op& op, const LaneAddresses& addresses, std::uint32_t bytes, VTime when) {
  Split& split = w.splits[w.current];
  if (split.spin == nullptr) split.spin = std::make_unique<SpinLog>();
  restart(w, *split.spin);
  (void)log_locations(w, op, addresses, bytes, *split.spin);
  park(w, op, when);
}

void note_quantum_end(Warp& w) {
  // A check now and then is enough, and warps that are soon done never have one.
  constexpr VTime kSample = 32;
  if (w.reads_clock || (w.clock / kMicrosecond) % kSample != 0) return;
  Split& split = w.splits[w.current];
  if (split.state != Split::State::Runnable) return;
  if (split.spin == nullptr) split.spin = std::make_unique<SpinLog>();
  SpinLog& log = *split.spin;
  // If it reads strong locations, note_strong_read sees to it.
  if (log.progress == w.progress && !log.locations.empty()) return;
  if (log.progress != w.progress) return restart(w, log);
  ++log.visits;
  if (log.visits < kQuietQuanta) return;
  if (log.anchor == w.ip && log.lanes == w.mask && digest_state(w) == log.state) {
    const VTime waited = w.clock - log.began;
    split.state = waited > kPatience ? Split::State::Parked : Split::State::Asleep;
    split.since = w.clock;
    split.ready_at = w.clock + waited / 64;
    return;
  }
  if (log.visits >= log.remember_at) {
    log.anchor = w.ip;
    log.lanes = w.mask;
    log.digest = 0;
    log.state = digest_state(w);
    log.remember_at = 2 * log.visits;
  }
}

void note_clock_read(Warp& w) {
  Split& split = w.splits[w.current];
  if (split.spin == nullptr) split.spin = std::make_unique<SpinLog>();
  SpinLog& log = *split.spin;
  if (log.progress != w.progress) restart(w, log);
  // A poll of memory with a time-out is the business of note_strong_read.
  if (!log.locations.empty()) return;
  // The digest has no other use while there is nothing to compare: it is the time of the last read.
  const VTime since = w.clock - static_cast<VTime>(log.digest);
  log.digest = static_cast<std::uint64_t>(w.clock);
  if (since < 0 || since > kLookTime) restart(w, log);
  if (++log.visits < kClockLooks) return;
  w.clock += std::min((w.clock - log.began) / 64, kLongestLeap);
  log.digest = static_cast<std::uint64_t>(w.clock);
}

void note_poll_end(Warp& w, const Split& split, VTime when) {
  w.grid->counters.waiting += when - split.since;
  if (w.observer == nullptr) return;
  w.observer->on_wait(w, *split.spin->parked_at, WaitKind::Poll, split.since, when);
}

void forget_watches(Warp& w, SpinLog& log) {
  for (const WatchId id : log.watches)
    w.memory->unwatch(id);
  log.watches.clear();
  std::erase_if(w.block->watches, [&](const Block::SharedWatch& watch) {
    return watch.warp == &w && watch.ticket == log.ticket;
  });
  log.ticket = 0;
}

void wake_parked(Warp& w, std::uint64_t ticket, VTime when) {
  for (Split& split : w.splits) {
    if (split.spin == nullptr || split.spin->ticket != ticket) continue;
    forget_watches(w, *split.spin);
    split.spin->progress = ~std::uint64_t{0};
    split.state = Split::State::Runnable;
    split.ready_at = std::max(split.since, when);
    note_poll_end(w, split, split.ready_at);
    w.grid->scheduler->wake(w, split.ready_at);
    return;
  }
}

void notify_shared(Block& block, std::uint32_t offset, std::uint32_t bytes, VTime when) {
  std::vector<Block::SharedWatch> hit;
  for (const Block::SharedWatch& watch : block.watches) {
    if (watch.offset < offset + bytes && offset < watch.offset + watch.bytes) hit.push_back(watch);
  }
  for (const Block::SharedWatch& watch : hit)
    wake_parked(*watch.warp, watch.ticket, when);
}

void drop_watches(Warp& w) {
  for (Split& split : w.splits) {
    if (split.spin != nullptr && split.spin->ticket != 0) forget_watches(w, *split.spin);
  }
}

void yield_before(Warp& w, const Op& op) {
  isolate(w, w.active);
  w.ip = &op;
  w.flush_segment();
  w.stop = nullptr;
  w.limit = w.clock - 1;  // Ends the quantum: the clock is past it.
}

}  // namespace cuco::vgpu
