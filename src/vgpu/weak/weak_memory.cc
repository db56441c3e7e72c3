// SPDX-License-Identifier: Apache-2.0
#include "vgpu/weak/weak_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/assert.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"

namespace cuco::vgpu {

namespace {

constexpr std::uint32_t kCellBytes = 16;

// Every thread may have to remember every write that loads can pass: many threads, fewer
// writes. To forget earlier only makes memory stronger.
constexpr std::size_t kBudget = std::size_t{1} << 20U;
constexpr std::size_t kLeast = 128;
constexpr std::size_t kMostInCell = 32;  ///< The same, of one place.

/// After so much virtual time a write is seen by everybody: memory is coherent in the end.
constexpr VTime kLongestStale = 100 * kMicrosecond;

template <typename F>
void for_cells(Address address, std::uint32_t bytes, F&& visit) {
  for (std::uint32_t done = 0; done < bytes;) {
    const Address cell = (address + done) / kCellBytes;
    const auto offset = static_cast<std::uint32_t>((address + done) % kCellBytes);
    const std::uint32_t part = std::min(kCellBytes - offset, bytes - done);
    visit(cell, CellPart{offset, part, done});
    done += part;
  }
}

bool overlaps_with(std::uint32_t a, std::uint32_t a_bytes, std::uint32_t b, std::uint32_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

WeakMemory::WeakMemory(Memory& memory, Settings settings)
    : memory_(memory), settings_(settings), rng_(settings.seed) {
  memory_.on_outside_write([this](Address address, std::uint64_t bytes) { drop(address, bytes); });
}

WeakMemory::~WeakMemory() {
  memory_.on_outside_write({});
}

WeakMemory::Thread& WeakMemory::thread_of(const Warp& w) {
  Thread& thread = threads_[&w];
  const Grid& grid = *w.grid;
  if (thread.uid != 0 && thread.grid == grid.id && thread.block_number == w.block->number) {
    return thread;
  }
  // A new block in the warp's place. It sees all that was there before its kernel began.
  thread = Thread{};
  thread.grid = grid.id;
  thread.block_number = w.block->number;
  thread.device = grid.device;
  thread.uid = next_uid_++;
  thread.floor = floors_.try_emplace({grid.device, grid.id}, now_).first->second;
  const auto [block, is_new] = blocks_.try_emplace({grid.device, grid.id, w.block->number}, 0);
  if (is_new) block->second = next_uid_++;
  thread.block = block->second;
  return thread;
}

const WeakMemory::Record* WeakMemory::newest(Address address, std::uint32_t bytes) const {
  const Record* best = nullptr;
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    const auto found = cells_.find(cell);
    if (found == cells_.end()) return;
    for (const Record& record : found->second.records) {
      if (!overlaps_with(record.offset, record.bytes, part.offset, part.bytes)) continue;
      if (best == nullptr || record.time > best->time) best = &record;
    }
  });
  return best;
}

const std::vector<WeakMemory::Overlap>& WeakMemory::find_overlaps(const Warp& w,
                                                                  const Thread& thread,
                                                                  Address address,
                                                                  std::uint32_t bytes,
                                                                  std::uint64_t& oldest) {
  overlaps_.clear();
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    const auto found = cells_.find(cell);
    if (found == cells_.end()) return;
    oldest = std::max(oldest, found->second.floor);
    for (const Record& record : found->second.records) {
      if (!overlaps_with(record.offset, record.bytes, part.offset, part.bytes)) continue;
      overlaps_.push_back({&record, part});
      if (record.time <= oldest) continue;
      if (record.writer == thread.uid || thread.view.has_seen(record.writer, record.time) ||
          (record.time <= thread.floor && !is_in_flight(record, w, thread))) {
        oldest = record.time;
      }
    }
  });
  if (overlaps_.empty()) return overlaps_;
  for (Address word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    oldest = std::max(oldest, thread.view.seen_of_word(word));
  std::ranges::stable_sort(overlaps_, std::greater<>(),
                           [](const Overlap& overlap) { return overlap.record->time; });
  return overlaps_;
}

std::uint64_t WeakMemory::choose_moment(const Warp& w,
                                        Thread& thread,
                                        const std::vector<Overlap>& overlaps,
                                        std::uint64_t oldest) {
  choices_.clear();  // Newest first.
  bool has_settled = false;
  for (const auto& [record, part] : overlaps) {
    if (record->time <= oldest) break;
    if (is_in_flight(*record, w, thread)) {
      // Still on its way: the present is before it.
      choices_.clear();
      thread.arrives =
          thread.arrives == 0 ? record->visible : std::min(thread.arrives, record->visible);
      continue;
    }
    if (choices_.empty() || choices_.back() != record->time) choices_.push_back(record->time);
    // Whoever waits gets to see it in the end.
    has_settled = w.clock - record->written > kLongestStale;
    if (has_settled) break;
  }
  if (!has_settled) choices_.push_back(oldest);
  if (choices_.size() == 1 || !roll(settings_.stale_percent)) return choices_.front();
  return choices_[1 + rng_.below(choices_.size() - 1)];
}

const std::byte* WeakMemory::read(Warp& w,
                                  const Op& op,
                                  Address address,
                                  std::uint32_t bytes,
                                  const std::byte* current,
                                  std::byte* scratch) {
  if (!is_mapped_region(address)) return current;
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  const bool is_torn = aux.vector > 1 && is_strong(aux.order) &&
                       (memory_.granule(memory_.canonical(address)).flags & Granule::Library) == 0;
  if (!is_torn) return read_one(w, op, address, bytes, current, scratch);
  for (std::uint32_t at = 0; at < bytes; at += aux.bytes) {
    std::byte* const place = scratch + at;
    const std::byte* seen = read_one(w, op, address + at, aux.bytes, current + at, place);
    if (seen != place) std::memcpy(place, seen, aux.bytes);
  }
  return scratch;
}

const std::byte* WeakMemory::read_one(Warp& w,
                                      const Op& op,
                                      Address address,
                                      std::uint32_t bytes,
                                      const std::byte* current,
                                      std::byte* scratch) {
  Thread& thread = thread_of(w);
  const bool overtaken = is_replay(thread, op) && is_overtaken(thread);
  if (overtaken) current = find_saved(thread.postponed, address);
  address = memory_.canonical(address);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  std::uint64_t oldest = horizon_;
  const std::vector<Overlap>& overlaps = find_overlaps(w, thread, address, bytes, oldest);
  if (overlaps.empty()) return current;
  const std::uint64_t moment =
      overtaken ? thread.postponed.began : choose_moment(w, thread, overlaps, oldest);
  const std::byte* result = current;
  const bool is_old = !overtaken && overlaps.front().record->time > moment;
  if (is_old) {
    thread.stale = true;
    std::memcpy(scratch, current, bytes);
    result = scratch;
  }
  const std::uint32_t element = aux.vector > 1 ? aux.bytes : bytes;
  for (const auto& [record, part] : overlaps) {
    if (record->time <= moment) {
      const bool is_same = record->element == element || element < 4 || record->element < 4;
      if (is_same) note_read(thread, *record, aux.order, level_of(aux.scope));
      continue;
    }
    if (!is_old) continue;
    // Newest first: what it replaced comes back.
    const std::uint32_t from = std::max<std::uint32_t>(record->offset, part.offset);
    const std::uint32_t to =
        std::min<std::uint32_t>(record->offset + record->bytes, part.offset + part.bytes);
    std::memcpy(scratch + part.done + (from - part.offset),
                record->replaced.data() + (from - record->offset), to - from);
  }
  // What it has to see at least needs no remembering.
  for (Address word = address / 4; moment > oldest && word <= (address + bytes - 1) / 4; ++word)
    thread.view.see_word(word, moment);
  return result;
}

bool WeakMemory::after_load(Warp& w, const Op& op) {
  Thread& thread = thread_of(w);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (acquires(aux.order)) acquire(thread, level_of(aux.scope));
  const bool was_postponed = is_replay(thread, op);
  if (was_postponed) settle(w, thread);
  thread.awaited = std::exchange(thread.arrives, 0);
  if (thread.awaited == 0) thread.poll = nullptr;
  return std::exchange(thread.stale, false) || was_postponed;
}

VTime WeakMemory::arrival(const Warp& w, const Op& op) {
  Thread& thread = thread_of(w);
  // One look is no wait: it may go on with what it saw.
  const bool is_back = std::exchange(thread.poll, &op) == &op;
  return is_back && thread.awaited > w.clock ? thread.awaited : 0;
}

void WeakMemory::on_access(const Warp& warp, const Op& op, const AccessEvent& event) {
  if (event.space != ptx::Space::Global || event.kind == AccessKind::Load) return;
  Thread& thread = thread_of(warp);
  const Level scope = level_of(event.scope);
  if (releases(event.order)) release(thread, scope);
  Message own{scope, thread.block, thread.device, thread.released, thread.floor};
  const std::size_t logged = remote_stores_.size();
  std::shared_ptr<const Message> message;
  if (is_strong(event.order)) message = hand_out(thread, op, own);
  for_active(event.lanes, [&](unsigned l) {
    const Address address = event.addresses[l];
    if ((memory_.granule(address).flags & Granule::Valid) == 0) return;
    if (event.kind == AccessKind::Atomic) {
      // It reads the newest write, and hands on what that one had to say.
      Message chained = own;
      if (const Record* last = newest(address, event.bytes)) {
        note_read(thread, *last, event.order, scope);
        if (last->message != nullptr) {
          last->message->is_observed |= last->message->waits;  // And handed on to anybody.
          chained.floor = std::max(chained.floor, last->message->floor);
          for (unsigned level = 0; level < kLevels; ++level) {
            chained.released[level].join(last->message->released[level]);
            chained.released[level].forget_up_to(std::max(horizon_, chained.floor));
          }
        }
      }
      message = std::make_shared<const Message>(std::move(chained));
    }
    record_write(warp, thread, address, event.bytes,
                 event.element == 0 ? event.bytes : event.element, message);
  });
  // Several GPUs add to one word: a later one's own addition includes what is still on its way, so
  // that nobody can be said not to have waited.
  if (event.kind == AccessKind::Atomic) remote_stores_.resize(logged);
  if (event.kind == AccessKind::Atomic && acquires(event.order)) acquire(thread, scope);
  prune();
}

void WeakMemory::record_write(const Warp& w,
                              Thread& thread,
                              Address address,
                              std::uint32_t bytes,
                              std::uint32_t element,
                              const std::shared_ptr<const Message>& message) {
  const std::uint64_t time = ++now_;
  const std::uint8_t owner = memory_.granule(address).owner;
  const bool remote = owner != thread.device && owner != kHostOwner;
  if (remote && settings_.remote_delay > 0) {
    VTime& settled = settled_at_[{thread.device, thread.grid}];
    const VTime arrives = w.clock + settings_.remote_delay;
    settled = std::max(settled, arrives);
    if (message != nullptr) remote_stores_.push_back({address, bytes, w.clock, arrives});
  }
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    Record record;
    record.time = time;
    record.written = w.clock;
    record.visible = remote ? w.clock + settings_.remote_delay : 0;
    record.device = thread.device;
    record.writer = thread.uid;
    record.offset = static_cast<std::uint8_t>(part.offset);
    record.bytes = static_cast<std::uint8_t>(part.bytes);
    record.element = static_cast<std::uint8_t>(element);
    std::memcpy(record.replaced.data(), Memory::at(address + part.done), part.bytes);
    record.message = message;
    Cell& place = cells_[cell];
    place.records.push_back(std::move(record));
    order_.emplace_back(time, cell);
    // A counter that everybody adds to: each look would go through all of them.
    if (place.records.size() <= kMostInCell || place.records.front().visible > w.clock) return;
    place.floor = place.records.front().time;
    place.records.erase(place.records.begin());
  });
}

VTime WeakMemory::settled_at(const Grid& grid) const {
  const auto found = settled_at_.find({grid.device, grid.id});
  return found == settled_at_.end() ? 0 : found->second;
}

VTime WeakMemory::settle_before(const Warp& w, const Op& fence) {
  if (settings_.remote_delay <= 0) return 0;
  Thread& thread = thread_of(w);
  // Once: others may go on storing for ever.
  if (std::exchange(thread.fence, nullptr) == &fence) return 0;
  const VTime settled = settled_at(*w.grid);
  if (settled <= w.clock) return 0;
  thread.fence = &fence;
  return settled;
}

void WeakMemory::prune() {
  const std::size_t threads = std::max<std::size_t>(threads_.size(), 1);
  // What is on its way must not be forgotten before it is there.
  const std::size_t most = settings_.remote_delay > 0
                               ? settings_.history
                               : std::min(settings_.history, std::max(kLeast, kBudget / threads));
  while (order_.size() > most) {
    const auto [time, cell] = order_.front();
    order_.pop_front();
    horizon_ = std::max(horizon_, time);
    const auto found = cells_.find(cell);
    if (found == cells_.end()) continue;
    std::vector<Record>& records = found->second.records;
    std::erase_if(records, [&](const Record& record) { return record.time <= horizon_; });
    if (records.empty()) cells_.erase(found);
  }
  if (horizon_ < swept_ + most) return;
  swept_ = horizon_;
  for (auto& [warp, thread] : threads_) {
    thread.view.forget_up_to(known_anyway(thread));
    for (View& view : thread.acquired)
      view.forget_up_to(known_anyway(thread));
  }
}

void WeakMemory::drop(Address address, std::uint64_t bytes) {
  if (cells_.empty() || bytes == 0 || !is_mapped_region(address)) return;
  address = memory_.canonical(address);
  const Address first = address / kCellBytes;
  const Address last = (address + bytes - 1) / kCellBytes;
  if (last - first < cells_.size()) {
    for (Address cell = first; cell <= last; ++cell)
      cells_.erase(cell);
  } else {
    std::erase_if(cells_,
                  [&](const auto& entry) { return entry.first >= first && entry.first <= last; });
  }
}

void WeakMemory::on_grid_end(const Grid& grid) {
  const auto mine = [&](const auto& entry) {
    return std::get<0>(entry.first) == grid.device && std::get<1>(entry.first) == grid.id;
  };
  std::erase_if(blocks_, [&](const auto& entry) {
    if (!mine(entry)) return false;
    sc_blocks_.erase(entry.second);
    for (unsigned id = 0; id < 16; ++id)
      barriers_.erase({entry.second, id});
    return true;
  });
  std::erase_if(floors_, mine);
  std::erase_if(settled_at_, mine);
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.second.device == grid.device && entry.second.grid == grid.id;
  });
}

}  // namespace cuco::vgpu
