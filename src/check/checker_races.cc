// SPDX-License-Identifier: Apache-2.0
// Races in shared and global memory, and the barriers and fences that order them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "check/spelling.h"
#include "vgpu/lower/code.h"
#include "vgpu/lower/lowering.h"

namespace cuco::check {
namespace {

std::string_view instruction_of(const vgpu::Warp& warp, const vgpu::Op& op) {
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  return in == nullptr ? std::string_view() : std::string_view(in->text);
}

bool is_matrix(const vgpu::Warp& warp, const vgpu::Op& op) {
  const std::string_view text = instruction_of(warp, op);
  return text.starts_with("wmma") || text.starts_with("ldmatrix") || text.starts_with("stmatrix");
}

/// Integer additions may come in any order; other atomic operations are taken as they came.
bool is_addition(const vgpu::Warp& warp, const vgpu::Op& op) {
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  if (in == nullptr || !in->has(ptx::Modifier::Add) || in->types.empty()) return false;
  const ptx::Type type = in->types.back();
  return type == ptx::Type::U32 || type == ptx::Type::S32 || type == ptx::Type::U64 ||
         type == ptx::Type::S64;
}

std::uint64_t value_at(Address address, std::uint32_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, vgpu::Memory::at(address), bytes);
  return value;
}

/// A strong load, or an atomic operation that might be meant as one, of what may be shared memory.
bool may_poll_shared(const ptx::Instruction& in) {
  const bool loads = in.opcode == ptx::Opcode::Ld;
  if (!loads && in.opcode != ptx::Opcode::Atom) return false;
  const auto aux = vgpu::Lowering::memory_aux(in);
  if (aux.space != ptx::Space::Shared && aux.space != ptx::Space::Generic) return false;
  if (loads) return is_strong(aux.order);
  if (in.operands.size() < 3 || in.operands[2].kind != ptx::Operand::Kind::Integer) return false;
  return in.has(ptx::Modifier::Cas) || in.operands[2].value == 0 || in.operands[2].value == -1;
}

/// Who it was, of those that come first in a conflict of lanes.
std::string lanes_of(const SharedRaces::Conflict& conflict) {
  if (conflict.earlier_lane == SharedRaces::kMatrix) {
    return conflict.earlier_writes ? "a matrix store" : "a matrix load";
  }
  if (conflict.earlier_lane >= LaneOrder::kLanes) return "another lane";
  return fmt::format("lane {}", conflict.earlier_lane);
}

/// A barrier in an unrolled loop is several instructions of one line.
bool same_line(const vgpu::Kernel& kernel, std::uint32_t a, std::uint32_t b) {
  const ptx::Instruction* one = kernel.origins[a].instruction;
  const ptx::Instruction* two = kernel.origins[b].instruction;
  if (one == nullptr || two == nullptr || one->source.line == 0) return false;
  return one->source.file == two->source.file && one->source.line == two->source.line &&
         one->caller.line == two->caller.line;
}

}  // namespace

void Checker::on_access(const vgpu::Warp& warp,
                        const vgpu::Op& op,
                        const vgpu::AccessEvent& event) {
  if (has_deferred()) settle();
  switch (event.space) {
    case ptx::Space::Shared: {
      if (!options_.shared_races) return;
      BlockState& block = state_of(warp);
      block.async.follow(warp);
      if (!block.async.empty()) check_async(block, warp, op, event);
      return check_shared(block, warp, op, event);
    }
    case ptx::Space::Global:
    case ptx::Space::Generic:
      if (options_.memory) check_memory(warp, op, event);
      if (options_.global_races) check_global(state_of(warp), warp, op, event);
      return;
    default:
      return;
  }
}

void Checker::check_shared(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  const std::uint32_t site = site_of(warp, op, event.kind, event.bytes);
  if (is_strong(event.order) || event.kind == AccessKind::Atomic) {
    return check_strong_shared(block, warp, op, event, site);
  }
  const auto report = [&](const SharedRaces::Conflict& conflict) {
    report_shared(block, warp, site, conflict);
  };
  SharedRaces::Access access;
  access.warp = warp.index;
  access.site = site;
  const auto touch = [&](Address begin, Address end) {
    access.first = static_cast<std::uint32_t>(begin / 4);
    access.count = static_cast<std::uint32_t>((end - 1) / 4 - begin / 4 + 1);
    const auto bits = static_cast<unsigned>(((1U << (end - begin < 4 ? end - begin : 4)) - 1))
                      << (begin % 4);
    access.mask = access.count == 1 ? static_cast<std::uint8_t>(bits & 0xFU) : std::uint8_t{0xF};
    if (event.kind == AccessKind::Load) {
      block.shared.read(access, report);
    } else {
      block.shared.write(access, report);
    }
  };
  const bool matrix = event.bytes >= 16 && is_matrix(warp, op);
  access.matrix = matrix;
  std::uint32_t rest = event.lanes;
  while (rest != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address begin = event.addresses[lane];
    Address end = begin + event.bytes;
    rest &= rest - 1;
    access.lane = lane;
    access.lane_words = 0;
    // Runs of neighbours, and lanes that read the same word, become one question.
    bool same = false;
    unsigned last = lane;
    while (rest != 0) {
      const auto next_lane = static_cast<unsigned>(std::countr_zero(rest));
      const Address next = event.addresses[next_lane];
      if (next == begin && (end == begin + event.bytes)) {
        same = true;
      } else if (next == end && !same && next_lane == last + 1) {
        end += event.bytes;
      } else {
        break;
      }
      last = next_lane;
      rest &= rest - 1;
    }
    access.lane_words = same ? 0 : std::max(event.bytes / 4, 1U);
    if (event.bytes >= 4) {
      touch(begin, end);
      continue;
    }
    // Small elements: the words at the ends may be shared with others.
    access.lane_words = same ? 0 : 1;
    for (Address at = begin; at < end; at = (at / 4 + 1) * 4) {
      const Address stop = std::min((at / 4 + 1) * 4, end);
      if (!same) access.lane = lane + static_cast<unsigned>((at - begin) / event.bytes);
      // Lanes that share a word are not distinguished in it.
      access.any_lane = stop - at > event.bytes;
      touch(at, stop);
    }
    access.any_lane = false;
  }
}

void Checker::check_async(BlockState& block,
                          const vgpu::Warp& warp,
                          const vgpu::Op& op,
                          const vgpu::AccessEvent& event) {
  const bool is_copy = instruction_of(warp, op).starts_with("cp.async");
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto offset = static_cast<std::uint32_t>(event.addresses[lane]);
    // The copy itself, at the moment when its lane has waited for it.
    if (is_copy) {
      block.async.complete(warp, offset, event.bytes);
    } else if (block.async.touches(offset, event.bytes)) {
      return report_async(block, warp, lane, site_of(warp, op, event.kind, event.bytes), offset);
    }
  }
}

void Checker::report_async(const BlockState& block,
                           const vgpu::Warp& warp,
                           unsigned lane,
                           std::uint32_t site,
                           std::uint32_t offset) {
  for (const auto& other : warp.block->warps) {
    const auto copy = std::ranges::find_if(other->async, [&](const vgpu::AsyncCopy& one) {
      return offset / 4 >= one.shared / 4 && offset < one.shared + one.bytes;
    });
    if (copy == other->async.end()) continue;
    const std::uint32_t issue = site_of(*other, *copy->op, AccessKind::Store, copy->bytes);
    const std::uint64_t key = std::uint64_t{site} << 32U | issue;
    if (const auto known = reported_.find(key); known != reported_.end()) {
      return findings_.count(known->second);
    }
    Finding finding;
    finding.kind = Kind::SharedRace;
    finding.where = describe(site, block.first + warp.index, lane);
    finding.other = describe(issue, block.first + other->index, copy->lane);
    finding.other->what = fmt::format("asynchronous copy of {} bytes", copy->bytes);
    finding.address = offset;
    finding.message = fmt::format(
        "touches byte {} of shared memory while an asynchronous copy to it is in flight", offset);
    finding.hint =
        "wait for the copy's own group first (__pipeline_wait_prior, cp.async.wait_group: how many "
        "later groups may be pending), then meet at a barrier";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
    return;
  }
}

bool Checker::polls_shared(const vgpu::Kernel& kernel) {
  const auto [at, fresh] = polls_shared_.try_emplace(&kernel, false);
  if (fresh) {
    at->second = std::ranges::any_of(kernel.origins, [](const vgpu::Origin& origin) {
      return origin.instruction != nullptr && may_poll_shared(*origin.instruction);
    });
  }
  return at->second;
}

void Checker::meet_in_shared(BlockState& block,
                             const vgpu::Warp& warp,
                             const vgpu::Op& op,
                             const vgpu::AccessEvent& event,
                             unsigned lane) {
  const Address offset = event.addresses[lane];
  const AskDemand ask = [&](std::uint64_t value, std::span<const std::uint64_t> others) {
    const vgpu::WhatIf::Answer answer = what_if_.ask(warp, op, lane, value, others);
    return Demand{answer.is_poll, answer.same};
  };
  Access access;
  access.kind = event.kind;
  access.order = event.kind == AccessKind::Load    ? Order::Acquire
                 : event.kind == AccessKind::Store ? Order::Release
                                                   : Order::AcqRel;
  access.scope = Scope::Cta;
  access.lane = static_cast<std::uint16_t>(lane);
  access.address = block.meeting_at(offset);
  access.bytes = event.bytes;
  const bool has_value = warp.grid->weak == nullptr && event.bytes <= sizeof(std::uint64_t) &&
                         offset + event.bytes <= warp.grid->shared_bytes;
  if (has_value) {
    access.before = 0;
    std::memcpy(&*access.before, warp.shared + offset, event.bytes);
  }
  access.is_addition = event.kind == AccessKind::Atomic &&
                       (is_addition(warp, op) || what_if_.leaves_values(warp, op, lane));
  if (has_value && (event.kind == AccessKind::Load || access.is_addition)) access.ask = &ask;
  block.meetings_on.insert(access.address);
  races_.meet_on(block.first + warp.index, access);
}

void Checker::check_strong_shared(BlockState& block,
                                  const vgpu::Warp& warp,
                                  const vgpu::Op& op,
                                  const vgpu::AccessEvent& event,
                                  std::uint32_t site) {
  // Strong operations on shared memory are taken to synchronise whatever their order is: fences
  // inside of a block are not distinguished from the barriers that mostly come with them.
  const auto report = [&](const SharedRaces::Conflict& conflict) {
    report_shared(block, warp, site, conflict);
  };
  const bool loads = event.kind != AccessKind::Store;
  const bool stores = event.kind != AccessKind::Load;
  BlockOrder::Epochs published{};
  ClockPtr clock;
  const bool by_demand = options_.global_races && polls_shared(*warp.kernel);
  if (stores && !by_demand) {
    published = block.order.publish(warp.index);
    if (options_.global_races) clock = races_.clock(block.first + warp.index);
  }
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address at = event.addresses[lane];
    const auto word = static_cast<std::uint32_t>(at / 4);
    if (by_demand) meet_in_shared(block, warp, op, event, lane);
    const auto flag = block.flags.find(word);
    if (loads && flag != block.flags.end()) {
      block.order.learn(warp.index, flag->second.epochs);
      if (options_.global_races) races_.learn(block.first + warp.index, flag->second.clock);
    }
    if (!stores) continue;
    for (std::uint32_t i = 0; i < std::max(event.bytes / 4, 1U); ++i) {
      if (event.kind == AccessKind::Atomic && !is_strong(event.order)) {
        block.shared.atomic(warp.index, word + i, site, report);
      } else if (event.kind == AccessKind::Atomic) {
        block.shared.atomic(warp.index, word + i, site, report);
      } else {
        block.shared.strong_write(warp.index, word + i, site);
      }
    }
    if (by_demand) continue;
    BlockState::Flag& mine = block.flags[word];
    BlockOrder::raise(mine.epochs, published);
    mine.clock = Clock::join(mine.clock, clock);
  }
}

void Checker::report_shared(BlockState& block,
                            const vgpu::Warp& warp,
                            std::uint32_t site,
                            const SharedRaces::Conflict& conflict) {
  using Of = SharedRaces::Conflict::Kind;
  if (conflict.kind == Of::Unwritten) {
    constexpr std::size_t kEnough = 64;
    if (block.unwritten.size() < kEnough) {
      block.unwritten.push_back({conflict.offset / 4, site, block.first + warp.index});
    }
    return;
  }
  const std::uint64_t key = std::uint64_t{site} << 32U | conflict.earlier_site;
  if (const auto known = reported_.find(key); known != reported_.end()) {
    return findings_.count(known->second);
  }
  // Warps that store to one word with one instruction mostly store the same value: wait for it.
  if (conflict.earlier_site == site && conflict.earlier_writes && !is_settling_) {
    if (same_shared_.size() < 64) {
      SameShared store{&warp, &block, warp.block->number, site, 0, conflict};
      std::memcpy(&store.before, warp.shared + conflict.offset, sizeof store.before);
      same_shared_.push_back(store);
    }
    return;
  }
  Finding finding;
  finding.kind = Kind::SharedRace;
  finding.where = describe(site, block.first + warp.index, 0);
  finding.where.thread = fmt::format("in warp {}", warp.index);
  finding.address = conflict.offset;
  finding.other = describe(conflict.earlier_site, block.first + conflict.earlier_warp, 0);
  finding.other->thread = fmt::format("in warp {}", conflict.earlier_warp);
  if (conflict.kind == Of::Warps) {
    finding.message =
        fmt::format("warps {} and {} touch byte {} of shared memory without a barrier between",
                    conflict.earlier_warp, warp.index, conflict.offset);
    finding.hint = "put __syncthreads() between the two";
  } else {
    const std::string other = lanes_of(conflict);
    finding.message =
        conflict.earlier_writes
            ? fmt::format(
                  "reads byte {} of shared memory that {} of the same warp has just "
                  "written, without a __syncwarp() between",
                  conflict.offset, other)
            : fmt::format(
                  "writes byte {} of shared memory that {} of the same warp may still be "
                  "reading, without a __syncwarp() between",
                  conflict.offset, other);
    finding.hint = "put __syncwarp() between the two: lanes of a warp run apart";
  }
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
}

void Checker::report_unwritten(const BlockState& block) {
  for (const BlockState::Unwritten& read : block.unwritten) {
    if (block.shared.was_written(read.word)) continue;
    const std::uint64_t key = std::uint64_t{read.site} << 32U | 0xFFFFFFFFU;
    if (const auto known = reported_.find(key); known != reported_.end()) {
      findings_.count(known->second);
      continue;
    }
    Finding finding;
    finding.kind = Kind::Uninitialised;
    finding.where = describe(read.site, read.actor, 0);
    finding.address = std::uint64_t{read.word} * 4;
    finding.message =
        fmt::format("byte {} of shared memory was never written by this block", finding.address);
    finding.hint = "initialise shared memory before it is read: its contents are left over";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
  }
}

void Checker::check_global(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  const ActorId actor = block.first + warp.index;
  Access access;
  access.kind = event.kind;
  access.order = event.order;
  access.scope = event.scope;
  access.site = site_of(warp, op, event.kind, event.bytes);
  access.goes_on = event.goes_on;
  const bool strong = is_strong(event.order);
  // Under an adversarial schedule a thread reads what memory does not hold: what it found counts.
  const bool has_values =
      strong && warp.grid->weak == nullptr && event.bytes <= sizeof(std::uint64_t);
  access.is_addition = strong && event.kind == AccessKind::Atomic && is_addition(warp, op);
  unsigned asking = 0;
  const AskDemand ask = [&](std::uint64_t value, std::span<const std::uint64_t> others) {
    const vgpu::WhatIf::Answer answer = what_if_.ask(warp, op, asking, value, others);
    return Demand{answer.is_poll, answer.same};
  };
  const bool adds = access.is_addition;
  for (std::uint32_t rest = event.lanes; rest != 0;) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    rest &= rest - 1;
    access.address = event.addresses[lane];
    access.bytes = event.bytes;
    access.lane = static_cast<std::uint16_t>(lane);
    if (strong) {
      const Region* region = communication_.empty() ? nullptr : communication_.find(access.address);
      access.of_library = region != nullptr && region->kind == Region::Kind::Barriers;
      if (region != nullptr && region->kind == Region::Kind::Guard) {
        report_beyond(*region, actor, access);
        continue;
      }
      asking = lane;
      // A read-modify-write that changes the value takes it (a lock): it goes by what it found.
      access.is_addition = adds || (has_values && event.kind == AccessKind::Atomic &&
                                    what_if_.leaves_values(warp, op, lane));
      const bool asks = has_values && (event.kind == AccessKind::Load || access.is_addition);
      access.ask = asks ? &ask : nullptr;
      access.before = has_values && warp.memory->valid(access.address, event.bytes)
                          ? std::optional(value_at(access.address, event.bytes))
                          : std::nullopt;
      races_.access(actor, access);
      if (event.kind != AccessKind::Store) {
        block_records_[block.record].waits = true;
        if (region != nullptr && region->kind == Region::Kind::Signals)
          see_signal(block, actor, access);
      }
      continue;
    }
    // A run of neighbours is one access.
    access.lane_bytes = event.bytes;
    for (unsigned next_lane = lane + 1; rest != 0; ++next_lane) {
      const Address next = event.addresses[next_lane % 32];
      if ((rest >> next_lane & 1U) == 0 || next != access.address + access.bytes) break;
      access.bytes += event.bytes;
      rest &= rest - 1;
    }
    races_.access(actor, access);
  }
}

void Checker::see_signal(const BlockState& block, ActorId actor, const Access& access) {
  const auto& raises = communication_.raises(access.address);
  // Of the raises that had come, those that were waited for.
  std::size_t count = raises.size();
  if (const auto demanded = races_.demanded(actor, access.address)) {
    while (count > 0 && raises[count - 1].value > *demanded)
      --count;
  }
  const auto work = works_.find(block.work);
  const bool is_old = count != 0 && work != works_.end() &&
                      races_.knows(work->second.info.start, raises[count - 1].by);
  communication_.see(access.address, block.record, {count, 0, access.site, is_old});
}

void Checker::report_beyond(const Region& guard, ActorId actor, const Access& access) {
  // Arriving and waiting are one line of the program.
  const auto& place = sites_[access.site].place;
  const std::uint64_t key = std::uint64_t{std::hash<std::string>{}(place.file)} << 32U |
                            0xFFF00000U | static_cast<std::uint32_t>(place.line);
  if (const auto known = reported_.find(key); known != reported_.end()) {
    return findings_.count(known->second);
  }
  Finding finding;
  finding.kind = guard.stride == 0 ? Kind::OutsideWindow : Kind::BarrierIndex;
  finding.where = describe(access.site, actor, access.lane);
  finding.address = access.address;
  finding.allocation = communication_.describe(access.address);
  if (guard.stride == 0) {
    finding.message = "an access behind a resource buffer of the device communicator";
    finding.hint = "ask for a larger buffer (bufferSize in ncclDevResourceRequirements)";
  } else {
    const std::uint64_t index = guard.barriers + (access.address - guard.base) / guard.stride;
    finding.message =
        fmt::format("barrier {} of the device communicator does not exist: {}", index,
                    guard.barriers == 0 ? "none was asked for"
                                        : fmt::format("the last is {}", guard.barriers - 1));
    finding.hint =
        "ask for as many barriers as there are blocks that use one: lsaBarrierCount or "
        "barrierCount "
        "in ncclDevCommRequirements, or the number given to ncclLsaBarrierCreateRequirement";
  }
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
}

void Checker::report_race(const Race& race) {
  const auto is_host = [&](ActorId actor) { return races_.info(actor).device == kHostDevice; };
  if (is_host(race.earlier.actor) && is_host(race.later.actor)) return;
  // Whoever has polled a flag may read what it holds once more.
  const auto reads_flag = [&](const Stamp& read, bool writes, const Stamp& other) {
    return is_host(read.actor) && !writes && other.strong != 0 &&
           host_flags_.contains(race.address & ~Address{3});
  };
  if (reads_flag(race.later, race.later_writes, race.earlier) ||
      reads_flag(race.earlier, race.earlier_writes, race.later)) {
    return;
  }
  const std::uint64_t key =
      std::uint64_t{sites_[race.later.site].line} << 32U | sites_[race.earlier.site].line;
  if (const auto known = reported_.find(key); known != reported_.end()) {
    return findings_.count(known->second);
  }
  const MemoryState::Block* memory = memory_.find(race.address);
  if (memory != nullptr && memory->info.internal) {
    const Region* region = communication_.find(race.address);
    if (region == nullptr || region->kind != Region::Kind::Barriers) return;
    // A session of one block is its own business; that of two is not.
    if (races_.info(race.earlier.actor).block == races_.info(race.later.actor).block) return;
  }
  const bool same_store = race.earlier.site == race.later.site && race.earlier_writes &&
                          race.later_writes && sites_[race.later.site].in_kernel;
  if (same_store && is_settling_ == false) {
    // Many threads that store the same value are harmless: wait until the value is there.
    if (same_stores_.size() < 64) {
      SameStore store;
      store.at = vgpu::Memory::at(race.address);
      std::memcpy(&store.before, store.at, sizeof store.before);
      store.race = race;
      same_stores_.push_back(store);
    }
    return;
  }
  Finding finding;
  finding.where = describe(race.later.site, race.later.actor, race.later.lane);
  finding.other = describe(race.earlier.site, race.earlier.actor, race.earlier.lane);
  finding.address = race.address;
  locate(finding, race.address);
  explain_race(race, finding);
  // A put that nobody waits for may have been seen first when what it needs was given back.
  for (const ActorId side : {race.earlier.actor, race.later.actor}) {
    const PutRecord* put = communication_.find_put(side);
    const auto told = put == nullptr ? reported_.end() : reported_.find(given_back_key(*put));
    if (told == reported_.end()) continue;
    findings_.at(told->second) = std::move(finding);
    reported_[key] = told->second;
    return;
  }
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
}

void Checker::settle() {
  if (!has_deferred()) return;
  const std::vector<SameStore> stores = std::exchange(same_stores_, {});
  const std::vector<SameShared> shared = std::exchange(same_shared_, {});
  is_settling_ = true;
  for (const SameShared& store : shared) {
    if (store.warp->block->number != store.number) continue;  // the block is over
    std::uint32_t now = 0;
    std::memcpy(&now, store.warp->shared + store.conflict.offset, sizeof now);
    if (now != store.before) report_shared(*store.block, *store.warp, store.site, store.conflict);
  }
  for (const SameStore& store : stores) {
    std::uint32_t now = 0;
    std::memcpy(&now, store.at, sizeof now);
    if (now != store.before) report_race(store.race);
  }
  is_settling_ = false;
}

void Checker::on_fence(const vgpu::Warp& warp, const vgpu::Op&, Order order, Scope scope) {
  if (!options_.global_races) return;
  races_.fence(state_of(warp).first + warp.index, order, scope, warp.active);
}

void Checker::on_barrier_arrive(const vgpu::Warp& warp,
                                const vgpu::Op& op,
                                unsigned id,
                                std::uint32_t) {
  if (has_deferred()) settle();
  BlockState& block = state_of(warp);
  block.async.follow(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (options_.global_races) races_.sync_lanes(block.first + warp.index);
  const bool first = block.order.arrive(warp.index, id % 16);
  if (first) meeting = {nullptr, op.source, 0, false, {}};
  // Barriers without a count are for the whole block: everybody must come to the same one.
  if (op.b == vgpu::kNoRef && op.source != meeting.origin &&
      !same_line(*warp.kernel, op.source, meeting.origin)) {
    meeting.other = op.source;
  }
  if (options_.global_races) {
    meeting.gathered = Clock::join(meeting.gathered, races_.clock(block.first + warp.index));
    races_.gather_fences(block.first + warp.index, meeting.fences);
  }
}

void Checker::on_barrier_release(const vgpu::Warp& warp, unsigned id, std::uint32_t) {
  BlockState& block = state_of(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (meeting.other != 0 && !std::exchange(meeting.is_told, true)) {
    report_barrier(block, warp, meeting.origin, meeting.other);
  }
  block.order.leave(warp.index, id % 16);
  block.shared.sync_lanes(warp.index);
  if (!options_.global_races) return;
  if (meeting.gathered) races_.learn(block.first + warp.index, meeting.gathered);
  races_.take_fences(block.first + warp.index, meeting.fences);
}

void Checker::report_barrier(const BlockState& block,
                             const vgpu::Warp& warp,
                             std::uint32_t first,
                             std::uint32_t other) {
  Finding finding;
  finding.kind = Kind::BarrierMismatch;
  finding.where = place_of(*warp.kernel, other);
  finding.where.what = "barrier";
  finding.where.rank = block_records_[block.record].rank;
  finding.where.block = coordinates(block_records_[block.record].index);
  finding.other = place_of(*warp.kernel, first);
  finding.other->what = "barrier";
  finding.message = "threads of one block met at two different __syncthreads()";
  finding.hint =
      "take the barrier out of the branch: all threads of the block must reach the same "
      "one";
  findings_.add(std::move(finding));
}

void Checker::on_warp_sync(const vgpu::Warp& warp, const vgpu::Op& op, std::uint32_t lanes) {
  if (has_deferred()) settle();
  // Shuffles, votes and matrix operations exchange registers; only __syncwarp() orders memory.
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  if (in == nullptr || (in->opcode != ptx::Opcode::Bar && in->opcode != ptx::Opcode::Barrier)) {
    return;
  }
  BlockState& block = state_of(warp);
  // Tiles of a warp may meet at one instruction, each for itself.
  const std::uint32_t* members = warp.slots<std::uint32_t>(op.d);
  while (lanes != 0) {
    const std::uint32_t group = members[std::countr_zero(lanes)];
    if ((warp.alive & ~group) == 0) {
      if (options_.global_races) races_.sync_lanes(block.first + warp.index);
      return block.shared.sync_lanes(warp.index);
    }
    if (options_.global_races) races_.sync_lanes(block.first + warp.index, group);
    block.shared.sync_lanes(warp.index, group);
    lanes &= ~group;
  }
}

}  // namespace cuco::check
