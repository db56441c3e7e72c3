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

bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::Sc;
}
bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::Sc;
}

}  // namespace

void View::join(const View& other) {
  for (const auto& [writer, time] : other.writers_)
    see_all_of(writer, time);
  for (const auto& [word, time] : other.words_)
    see_word(word, time);
}

void View::see_all_of(std::uint32_t writer, std::uint64_t time) {
  std::uint64_t& known = writers_[writer];
  known = std::max(known, time);
}

void View::see_word(Address word, std::uint64_t time) {
  std::uint64_t& known = words_[word];
  known = std::max(known, time);
}

bool View::has_seen(std::uint32_t writer, std::uint64_t time) const {
  const auto found = writers_.find(writer);
  return found != writers_.end() && found->second >= time;
}

std::uint64_t View::seen_of_word(Address word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? 0 : found->second;
}

void View::forget_up_to(std::uint64_t time) {
  std::erase_if(writers_, [&](const auto& entry) { return entry.second <= time; });
  std::erase_if(words_, [&](const auto& entry) { return entry.second <= time; });
}

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

WeakMemory::Level WeakMemory::level_of(Scope scope) {
  switch (scope) {
    case Scope::Cta:
      return kBlock;
    case Scope::Cluster:  // At least what a cluster has.
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
  thread.view.forget_up_to(horizon_);
  thread.view.see_all_of(thread.uid, now_);
  const auto snapshot = std::make_shared<const View>(thread.view);
  for (unsigned level = 0; level <= scope; ++level)
    thread.released[level] = snapshot;
}

std::array<WeakMemory::ScOrder*, WeakMemory::kLevels> WeakMemory::sc_orders(const Thread& thread) {
  return {&sc_blocks_[thread.block], &sc_gpus_[thread.device], &sc_system_};
}

void WeakMemory::join_sc_order(Thread& thread, Level scope) {
  const auto orders = sc_orders(thread);
  for (unsigned level = 0; level <= scope; ++level)
    thread.view.join(orders[level]->view);
  thread.view.see_all_of(thread.uid, now_);
  for (unsigned level = 0; level <= scope; ++level) {
    orders[level]->view.forget_up_to(horizon_);
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
  if (message.released[away] == nullptr) return;
  if (message.waits && away <= message.crossed) message.is_observed = true;
  thread.acquired[away].forget_up_to(horizon_);
  thread.acquired[away].join(*message.released[away]);
}

const WeakMemory::Record* WeakMemory::newest(Address address, std::uint32_t bytes) const {
  const Record* best = nullptr;
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    const auto found = cells_.find(cell);
    if (found == cells_.end()) return;
    for (const Record& record : found->second) {
      if (!overlaps_with(record.offset, record.bytes, part.offset, part.bytes)) continue;
      if (best == nullptr || record.time > best->time) best = &record;
    }
  });
  return best;
}

std::vector<WeakMemory::Overlap> WeakMemory::find_overlaps(const Thread& thread,
                                                           Address address,
                                                           std::uint32_t bytes,
                                                           std::uint64_t& oldest) const {
  std::vector<Overlap> overlaps;
  for (Address word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    oldest = std::max(oldest, thread.view.seen_of_word(word));
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    const auto found = cells_.find(cell);
    if (found == cells_.end()) return;
    for (const Record& record : found->second) {
      if (!overlaps_with(record.offset, record.bytes, part.offset, part.bytes)) continue;
      overlaps.push_back({&record, part});
      if (record.writer == thread.uid || thread.view.has_seen(record.writer, record.time)) {
        oldest = std::max(oldest, record.time);
      }
    }
  });
  std::ranges::stable_sort(overlaps, std::greater<>(),
                           [](const Overlap& overlap) { return overlap.record->time; });
  return overlaps;
}

std::uint64_t WeakMemory::choose_moment(const Warp& w,
                                        Thread& thread,
                                        const std::vector<Overlap>& overlaps,
                                        std::uint64_t oldest) {
  std::vector<std::uint64_t> choices;  // Newest first.
  for (const auto& [record, part] : overlaps) {
    if (record->time <= oldest) break;
    if (choices.empty() || choices.back() != record->time) choices.push_back(record->time);
    if (record->visible <= w.clock || record->device == thread.device) continue;
    // Still on its way: the present is before it.
    choices.clear();
    thread.arrives =
        thread.arrives == 0 ? record->visible : std::min(thread.arrives, record->visible);
  }
  choices.push_back(oldest);
  if (choices.size() == 1 || !roll(settings_.stale_percent)) return choices.front();
  return choices[1 + rng_.below(choices.size() - 1)];
}

const std::byte* WeakMemory::read(Warp& w,
                                  const Op& op,
                                  Address address,
                                  std::uint32_t bytes,
                                  const std::byte* current,
                                  std::byte* scratch) {
  if (!is_mapped_region(address)) return current;
  Thread& thread = thread_of(w);
  const bool overtaken = is_replay(thread, op) && is_overtaken(thread);
  if (overtaken) current = find_saved(thread.postponed, address);
  address = memory_.canonical(address);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  std::uint64_t oldest = std::max(thread.floor, horizon_);
  const std::vector<Overlap> overlaps = find_overlaps(thread, address, bytes, oldest);
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
  for (const auto& [record, part] : overlaps) {
    if (record->time <= moment) {
      note_read(thread, *record, aux.order, level_of(aux.scope));
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
  for (Address word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    thread.view.see_word(word, moment);
  return result;
}

bool WeakMemory::after_load(Warp& w, const Op& op) {
  Thread& thread = thread_of(w);
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  if (acquires(aux.order)) acquire(thread, level_of(aux.scope));
  const bool was_postponed = is_replay(thread, op);
  if (was_postponed) settle(w, thread);
  const VTime arrives = std::exchange(thread.arrives, 0);
  if (arrives > w.clock && is_strong(aux.order)) {
    // A poll of what is on its way: nothing changes before it is there.
    w.sync_clock();
    if (w.observer != nullptr) w.observer->on_wait(w, op, WaitKind::Poll, w.clock, arrives);
    w.clock = std::max(w.clock, arrives);
  }
  return std::exchange(thread.stale, false) || was_postponed;
}

void WeakMemory::on_access(const Warp& warp, const Op& op, const AccessEvent& event) {
  if (event.space != ptx::Space::Global || event.kind == AccessKind::Load) return;
  Thread& thread = thread_of(warp);
  const Level scope = level_of(event.scope);
  if (releases(event.order)) release(thread, scope);
  Message own{scope, thread.block, thread.device, thread.released, thread.floor};
  std::shared_ptr<const Message> message;
  if (is_strong(event.order)) message = hand_out(thread, op, own);
  for_active(event.lanes, [&](unsigned l) {
    const Address address = event.addresses[l];
    if ((memory_.granule(address).flags & Granule::Valid) == 0) return;
    if (event.kind == AccessKind::Atomic) {
      // It reads the newest write, and hands on what that one had to say.
      Message chained = own;
      if (const Record* last = newest(address, event.bytes)) {
        for (Address word = address / 4; word <= (address + event.bytes - 1) / 4; ++word)
          thread.view.see_word(word, last->time);
        note_read(thread, *last, event.order, scope);
        if (last->message != nullptr) {
          last->message->is_observed |= last->message->waits;  // And handed on to anybody.
          chained.floor = std::max(chained.floor, last->message->floor);
          for (unsigned level = 0; level < kLevels; ++level) {
            const auto& before = last->message->released[level];
            if (before == nullptr) continue;
            View joined = chained.released[level] == nullptr ? View{} : *chained.released[level];
            joined.join(*before);
            joined.forget_up_to(horizon_);
            chained.released[level] = std::make_shared<const View>(std::move(joined));
          }
        }
      }
      message = std::make_shared<const Message>(std::move(chained));
    }
    record_write(warp, thread, address, event.bytes, message);
  });
  if (event.kind == AccessKind::Atomic && acquires(event.order)) acquire(thread, scope);
  prune();
}

void WeakMemory::record_write(const Warp& w,
                              Thread& thread,
                              Address address,
                              std::uint32_t bytes,
                              const std::shared_ptr<const Message>& message) {
  const std::uint64_t time = ++now_;
  const std::uint8_t owner = memory_.granule(address).owner;
  const bool remote = owner != thread.device && owner != kHostOwner;
  if (remote && settings_.remote_delay > 0 && message != nullptr) {
    remote_stores_.push_back({address, bytes, w.clock, w.clock + settings_.remote_delay});
  }
  for_cells(address, bytes, [&](Address cell, const CellPart& part) {
    Record record;
    record.time = time;
    record.visible = remote ? w.clock + settings_.remote_delay : 0;
    record.device = thread.device;
    record.writer = thread.uid;
    record.offset = static_cast<std::uint8_t>(part.offset);
    record.bytes = static_cast<std::uint8_t>(part.bytes);
    std::memcpy(record.replaced.data(), Memory::at(address + part.done), part.bytes);
    record.message = message;
    cells_[cell].push_back(std::move(record));
    order_.emplace_back(time, cell);
  });
}

void WeakMemory::prune() {
  const std::size_t threads = std::max<std::size_t>(threads_.size(), 1);
  const std::size_t most = std::min(settings_.history, std::max(kLeast, kBudget / threads));
  while (order_.size() > most) {
    const auto [time, cell] = order_.front();
    order_.pop_front();
    horizon_ = std::max(horizon_, time);
    const auto found = cells_.find(cell);
    if (found == cells_.end()) continue;
    std::erase_if(found->second, [&](const Record& record) { return record.time <= horizon_; });
    if (found->second.empty()) cells_.erase(found);
  }
  if (horizon_ < swept_ + most) return;
  swept_ = horizon_;
  for (auto& [warp, thread] : threads_) {
    thread.view.forget_up_to(horizon_);
    for (View& view : thread.acquired)
      view.forget_up_to(horizon_);
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
  thread.view.forget_up_to(horizon_);
  thread.view.see_all_of(thread.uid, now_);
  barrier.view.join(thread.view);
  barrier.floor = std::max(barrier.floor, thread.floor);
  for (unsigned level = 0; level < kLevels; ++level) {
    if (thread.released[level] != nullptr) barrier.fenced[level].join(*thread.released[level]);
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
    barrier.fenced[level].forget_up_to(horizon_);
    thread.released[level] = std::make_shared<const View>(barrier.fenced[level]);
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
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.second.device == grid.device && entry.second.grid == grid.id;
  });
}

}  // namespace cuco::vgpu
