// SPDX-License-Identifier: Apache-2.0
// Races in global memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "vgpu/lower/code.h"

namespace cuco::check {
namespace {

std::uint64_t value_at(Address address, std::uint32_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, vgpu::Memory::at(address), bytes);
  return value;
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
      if (!block.bulk.empty() && event.copy == nullptr) check_bulk(block, warp, op, event);
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

bool Checker::is_addition(const vgpu::Warp& warp, const vgpu::Op& op) {
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  if (in == nullptr || !in->has(ptx::Modifier::Add) || in->types.empty()) return false;
  const ptx::Type type = in->types.back();
  return type == ptx::Type::U32 || type == ptx::Type::S32 || type == ptx::Type::U64 ||
         type == ptx::Type::S64;
}

void Checker::check_global(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  ActorId actor = block.first + warp.index;
  if (event.copy != nullptr) {
    const BulkCopies::Copy* copy = block.bulk.find(*event.copy);
    if (copy != nullptr && copy->writer != kNoActor) actor = copy->writer;
  }
  Access access;
  access.kind = event.kind;
  access.order = event.order;
  access.scope = event.scope;
  access.site = site_of(warp, op, event.kind, event.bytes);
  access.goes_on = event.goes_on;
  access.is_constant = sites_[access.site].is_constant;
  const bool strong = is_strong(event.order);
  // Under an adversarial schedule a thread reads what memory does not hold: what it found counts.
  const std::uint32_t element = event.element == 0 ? event.bytes : event.element;
  const bool has_values = strong && warp.grid->weak == nullptr && element <= sizeof(std::uint64_t);
  access.is_addition = strong && event.kind == AccessKind::Atomic && is_addition(warp, op);
  access.is_blind = event.copy != nullptr;
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
      asking = lane;
      // A read-modify-write that changes the value takes it (a lock): it goes by what it found.
      access.is_addition =
          adds || (has_values && !access.is_blind && event.kind == AccessKind::Atomic &&
                   what_if_.leaves_values(warp, op, lane));
      const bool asks =
          has_values && !access.is_blind && (event.kind == AccessKind::Load || access.is_addition);
      access.ask = asks ? &ask : nullptr;
      // The elements of a vector are operations of their own, which nothing orders.
      access.is_element = element < event.bytes;
      if (access.is_element && event.kind != AccessKind::Load && releases(event.order))
        (void)races_.publish(actor);
      access.bytes = element;
      for (std::uint32_t at = 0; at < event.bytes; at += element, access.address += element) {
        access.goes_on = event.goes_on || at + element < event.bytes;
        access.before = has_values && warp.memory->valid(access.address, element)
                            ? std::optional(value_at(access.address, element))
                            : std::nullopt;
        meet_in_global(block, actor, access);
        if (!options_.global_races) return;
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
  if (strong && event.kind != AccessKind::Load && releases(event.order)) go_on_reading(block, warp);
}

// Copies to shared memory read their sources until somebody waits for them: whoever is told of a
// release of this block has not been told that they are done.
void Checker::go_on_reading(const BlockState& block, const vgpu::Warp& warp) {
  const auto read = [&](unsigned by, std::uint32_t site, Address source, std::uint32_t bytes,
                        unsigned lane) {
    races_.access(block.first + by,
                  {AccessKind::Load, Order::Weak, Scope::Sys, warp.memory->canonical(source), bytes,
                   site, static_cast<std::uint16_t>(lane)});
  };
  for (const auto& other : warp.block->warps) {
    for (const vgpu::AsyncCopy& copy : other->async) {
      if (copy.source_bytes == 0) continue;
      read(other->index, site_of(*other, *copy.op, AccessKind::Load, copy.bytes), copy.source,
           copy.source_bytes, copy.lane);
    }
  }
  for (const BulkCopies::Copy& copy : block.bulk.all()) {
    if (copy.what.to_shared)
      read(copy.warp, copy.site, copy.what.global, copy.what.bytes, copy.what.lane);
  }
}

void Checker::meet_in_global(const BlockState& block, ActorId actor, Access access) {
  const Region* region = communication_.empty() ? nullptr : communication_.find(access.address);
  access.of_library = region != nullptr && region->kind == Region::Kind::Barriers;
  if (region != nullptr && region->kind == Region::Kind::Guard)
    return report_beyond(*region, actor, access);
  races_.access(actor, access);
  if (races_.flags() > options_.most_flags) return stop_watching(actor, access);
  if (access.kind == AccessKind::Store || access.is_blind) return;
  block_records_[block.record].waits = true;
  if (region != nullptr && region->kind == Region::Kind::Signals) see_signal(block, actor, access);
}

void Checker::stop_watching(ActorId actor, const Access& access) {
  Finding finding;
  finding.kind = Kind::Unchecked;
  finding.where = describe(access.site, actor, access.lane);
  finding.address = access.address;
  locate(finding, access.address);
  finding.message = fmt::format(
      "checked not to the end: more than {} words were written with release order, or behind a "
      "fence, and each of them may be somebody's flag",
      options_.most_flags);
  finding.hint = "store data with plain stores, and release them with one flag for many";
  (void)findings_.add(std::move(finding));
  options_.global_races = false;
  races_.forget_flags();
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
    return is_host(read.actor) && !writes && other.strong &&
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
  // Of lanes of one warp also where a loop was unrolled, or both ways of a branch store alike.
  const bool same_store =
      race.earlier_writes && race.later_writes && sites_[race.later.site].in_kernel &&
      (race.earlier.site == race.later.site || race.earlier.actor == race.later.actor);
  if (same_store && is_settling_ == false) {
    // Many threads that store the same value are harmless: wait until the value is there.
    SameStore store;
    store.at = vgpu::Memory::at(race.address);
    std::memcpy(&store.before, store.at, sizeof store.before);
    store.race = race;
    same_stores_.push_back(store);
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
    if (now != store.before)
      (void)report_shared(*store.block, *store.warp, store.site, store.conflict);
  }
  for (const SameStore& store : stores) {
    std::uint32_t now = 0;
    std::memcpy(&now, store.at, sizeof now);
    if (now != store.before) report_race(store.race);
  }
  is_settling_ = false;
}

}  // namespace cuco::check
