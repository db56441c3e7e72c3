// SPDX-License-Identifier: Apache-2.0
// Races in shared memory: between warps, between lanes, with asynchronous copies.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
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

}  // namespace

void Checker::check_shared(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  const std::uint32_t site = site_of(warp, op, event.kind, event.bytes);
  if (is_strong(event.order) || event.kind == AccessKind::Atomic) {
    return check_strong_shared(block, warp, op, event, site);
  }
  bool unwritten = false;
  const auto report = [&](const SharedRaces::Conflict& conflict) {
    if (conflict.kind != SharedRaces::Conflict::Kind::Unwritten)
      return report_shared(block, warp, site, conflict);
    if (!std::exchange(unwritten, true)) note_unwritten(block, warp, op, event, site);
    return true;
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
  Address offset = event.addresses[lane];
  const std::uint32_t element = event.element == 0 ? event.bytes : event.element;
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
  access.bytes = element;
  access.is_addition = event.kind == AccessKind::Atomic &&
                       (is_addition(warp, op) || what_if_.leaves_values(warp, op, lane));
  const bool has_values = warp.grid->weak == nullptr && element <= sizeof(std::uint64_t) &&
                          offset + event.bytes <= warp.grid->shared_bytes;
  if (has_values && (event.kind == AccessKind::Load || access.is_addition)) access.ask = &ask;
  access.is_element = element < event.bytes;
  if (access.is_element && event.kind != AccessKind::Load)
    (void)races_.publish(block.first + warp.index);
  for (const Address end = offset + event.bytes; offset < end; offset += element) {
    access.address = block.meeting_at(offset);
    if (has_values) {
      access.before = 0;
      std::memcpy(&*access.before, warp.shared + offset, element);
    }
    block.meetings_on.insert(access.address);
    races_.meet_on(block.first + warp.index, access);
  }
}

void Checker::check_strong_shared(BlockState& block,
                                  const vgpu::Warp& warp,
                                  const vgpu::Op& op,
                                  const vgpu::AccessEvent& event,
                                  std::uint32_t site) {
  // Strong operations on shared memory are taken to synchronise whatever their order is: fences
  // inside of a block are not distinguished from the barriers that mostly come with them.
  const auto report = [&](const SharedRaces::Conflict& conflict) {
    return report_shared(block, warp, site, conflict);
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

bool Checker::report_shared(BlockState& block,
                            const vgpu::Warp& warp,
                            std::uint32_t site,
                            const SharedRaces::Conflict& conflict) {
  using Of = SharedRaces::Conflict::Kind;
  if (conflict.kind == Of::Unwritten) {
    block.add_unwritten({conflict.offset / 4, site, block.first + warp.index});
    return true;
  }
  const std::uint64_t key = std::uint64_t{site} << 32U | conflict.earlier_site;
  if (const auto known = reported_.find(key); known != reported_.end()) {
    findings_.count(known->second);
    return true;
  }
  // Warps that store to one word with one instruction mostly store the same value, and so do lanes,
  // with one instruction or several: wait for it.
  const bool by_lanes = conflict.kind == Of::Lanes && conflict.later_writes;
  if (conflict.earlier_writes && (conflict.earlier_site == site || by_lanes) && !is_settling_) {
    SameShared store{&warp, &block, warp.block->number, site, 0, conflict};
    std::memcpy(&store.before, warp.shared + conflict.offset, sizeof store.before);
    same_shared_.push_back(store);
    return false;
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
        conflict.earlier_writes && conflict.later_writes
            ? fmt::format(
                  "stores over byte {} of shared memory that {} of the same warp has just "
                  "stored, without a __syncwarp() between",
                  conflict.offset, other)
        : conflict.earlier_writes
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
  return true;
}

}  // namespace cuco::check
