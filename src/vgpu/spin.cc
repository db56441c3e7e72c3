// SPDX-License-Identifier: Apache-2.0
#include "vgpu/spin.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "vgpu/access.h"
#include "vgpu/exec.h"
#include "vgpu/grid.h"

namespace cuco::vgpu {

namespace {

constexpr std::size_t kMaxLocations = 256;
constexpr std::uint64_t kPollVisits = 16;  ///< Unchanged polls before a timed loop skips ahead.

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

std::uint64_t digest_registers(const Frame& frame) {
  std::uint64_t digest = digest_bytes(frame.registers.data(), frame.registers.size());
  for (const std::uint32_t predicate : frame.predicates)
    digest = mix(digest, predicate);
  return digest;
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

void remember_locations(const Warp& w,
                        const Op& op,
                        const LaneAddresses& addresses,
                        std::uint32_t bytes,
                        SpinLog& log) {
  const auto space = static_cast<ptx::Space>(op.aux & 7U);
  for_active(w.active, [&](unsigned l) {
    SpinLog::Location location;
    location.bytes = bytes;
    if (!locate(w, space, addresses[l], location)) return;
    const auto same = [&](const SpinLog::Location& known) {
      return known.shared == location.shared && known.address == location.address &&
             known.bytes == bytes;
    };
    location.content = digest_bytes(content_of(w, location), bytes);
    const auto known = std::find_if(log.locations.begin(), log.locations.end(), same);
    if (known != log.locations.end()) {
      known->content = location.content;
    } else if (log.locations.size() < kMaxLocations) {
      log.locations.push_back(location);
    } else {
      log.overflow = true;
    }
  });
}

bool still_unchanged(const Warp& w, const SpinLog& log) {
  return std::all_of(log.locations.begin(), log.locations.end(), [&](const auto& location) {
    return digest_bytes(content_of(w, location), location.bytes) == location.content;
  });
}

/// Wakes the split when any of the logged locations is written.
void watch_locations(Warp& w, SpinLog& log) {
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

void unwatch(Warp& w, SpinLog& log) {
  for (const WatchId id : log.watches)
    w.memory->unwatch(id);
  log.watches.clear();
  std::erase_if(w.block->watches, [&](const Block::SharedWatch& watch) {
    return watch.warp == &w && watch.ticket == log.ticket;
  });
  log.ticket = 0;
}

void restart(const Warp& w, const Op& op, std::uint64_t digest, SpinLog& log) {
  log.progress = w.progress;
  log.anchor = &op;
  log.lanes = w.active;
  log.digest = digest;
  log.visits = 0;
  log.remember_at = 1;
  log.began = w.clock;
  log.locations.clear();
  log.overflow = false;
}

/// The active lanes wait for a write to what they have read, then execute `op` again. A timed poll
/// goes on with what it has read instead: it has to look at its clock in between.
void park(Warp& w, const Op& op, VTime until) {
  isolate(w, w.active);
  if (until == kNever) {
    block_split(w, Split::State::Parked, &op);
  } else {
    block_split(w, Split::State::Asleep, w.ip);
  }
  Split& split = w.splits[w.current];
  if (until != kNever) split.ready_at = until;
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
  if (log.ticket != 0) unwatch(w, log);  // A timed poll that was not woken by a write.
  for_active(w.active, [&](unsigned l) { digest = mix(digest, addresses[l]); });
  const bool at_anchor = log.anchor == &op && log.progress == w.progress;
  if (log.progress != w.progress ||
      (at_anchor && (log.lanes != w.active || log.digest != digest))) {
    restart(w, op, digest, log);
    remember_locations(w, op, addresses, bytes, log);
    return;
  }
  remember_locations(w, op, addresses, bytes, log);
  if (!at_anchor || log.overflow) return;
  ++log.visits;
  if (w.reads_clock) {
    if (log.visits > kPollVisits) park(w, op, w.clock + (w.clock - log.began) / 16);
    return;
  }
  const std::uint64_t state = digest_registers(*split.frame);
  if (log.visits > 1 && state == log.state && still_unchanged(w, log)) {
    park(w, op, kNever);
    return;
  }
  if (log.visits >= log.remember_at) {
    log.state = state;
    log.remember_at = 2 * log.visits;
    log.locations.clear();
    remember_locations(w, op, addresses, bytes, log);
  }
}

void wake_parked(Warp& w, std::uint64_t ticket, VTime when) {
  for (Split& split : w.splits) {
    if (split.spin == nullptr || split.spin->ticket != ticket) continue;
    unwatch(w, *split.spin);
    split.spin->progress = ~std::uint64_t{0};
    split.state = Split::State::Runnable;
    split.ready_at = std::max(split.since, when);
    w.grid->counters.waiting += split.ready_at - split.since;
    if (w.observer != nullptr) {
      w.observer->on_wait(w, w.kernel->ops[split.op], WaitKind::Poll, split.since, split.ready_at);
    }
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
    if (split.spin != nullptr && split.spin->ticket != 0) unwatch(w, *split.spin);
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
