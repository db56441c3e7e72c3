// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "fabric/collective_cost.h"
#include "vcluster/nccl/nccl_meeting.h"
#include "vcluster/nccl/nccl_window.h"
#include "vcluster/watch/block_trace.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/written_types.h"

namespace cuco::vcluster {

using nccl_core::Call;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Kind;
using nccl_core::Problem;
using nccl_core::Range;

namespace {

/// Of all parts of a group, a rank's sends that come before this one.
std::size_t sends_before(const std::vector<std::shared_ptr<ExchangePart>>& parts,
                         const ExchangePart& part) {
  std::size_t count = 0;
  for (const auto& other : parts) {
    if (other.get() == &part) break;
    if (other->call.kind == Kind::Send) ++count;
  }
  return count;
}

}  // namespace

fabric::Pattern pattern_of(Kind kind) {
  switch (kind) {
    case Kind::AllReduce:
      return fabric::Pattern::AllReduce;
    case Kind::Reduce:
      return fabric::Pattern::Reduce;
    case Kind::Broadcast:
      return fabric::Pattern::Broadcast;
    case Kind::AllGather:
      return fabric::Pattern::AllGather;
    case Kind::ReduceScatter:
      return fabric::Pattern::ReduceScatter;
    case Kind::AllToAll:
      return fabric::Pattern::AllToAll;
    case Kind::Gather:
      return fabric::Pattern::Gather;
    case Kind::Scatter:
      return fabric::Pattern::Scatter;
    case Kind::Send:
    case Kind::Recv:
      break;
  }
  CUCO_ASSERT(!nccl_core::is_point_to_point(kind));
  return fabric::Pattern::AllReduce;
}

namespace {

/// ", of which …": by how much a range is longer than what was allocated there.
std::string too_many(const vgpu::Memory& memory, const Range& range) {
  const auto known = memory.find_allocation(range.address);
  if (!known) return {};
  const std::uint64_t left = known->base + known->bytes - memory.canonical(range.address);
  if (left >= range.bytes) return {};
  return fmt::format(", {} more than the {} that are allocated there", range.bytes - left, left);
}

/// What the rank's part of a collective knows to have begun when it is done.
std::vector<check::ClockPtr> comes_after(const Call& call,
                                         int rank,
                                         const std::vector<check::ClockPtr>& starts) {
  switch (call.kind) {
    case Kind::Broadcast:
    case Kind::Scatter:
      return {starts[static_cast<std::size_t>(call.root)]};
    case Kind::Reduce:
    case Kind::Gather:
      if (rank != call.root) return {};
      return starts;
    default:
      return starts;
  }
}

}  // namespace

Check Exchange::check_call(int rank, const ExchangePart& part) const {
  const Call& call = part.call;
  if (clique_.is_broken()) return clique_.broken;
  if (Check wrong = nccl_core::check_arguments(call, clique_.ranks())) return wrong;
  const std::pair<const char*, Range> ranges[] = {
      {"sendbuff", nccl_core::read_range(call, rank, clique_.ranks())},
      {"recvbuff", nccl_core::write_range(call, rank, clique_.ranks())}};
  for (const auto& [name, range] : ranges) {
    if (range.bytes == 0) continue;
    const auto owner = services_.memory.granule(range.address).owner;
    if (!services_.memory.valid(range.address, range.bytes)) {
      return Problem{
          Code::InvalidArgument,
          fmt::format("{}: {} is not device memory: {} bytes at {:#x}{}; pass memory from "
                      "cudaMalloc or ncclMemAlloc that is large enough",
                      describe(call), name, range.bytes, range.address,
                      too_many(services_.memory, range))};
    }
    if (owner != vgpu::kHostOwner && owner != clique_.device_of(rank)) {
      return Problem{Code::InvalidArgument,
                     fmt::format("{}: {} is on device {}, but rank {} uses device {}; allocate it "
                                 "after cudaSetDevice of the rank's device",
                                 describe(call), name, owner, rank, clique_.device_of(rank))};
    }
  }
  return std::nullopt;
}

void Exchange::look_for_overlap(int rank, std::span<const ExchangePart> parts) {
  if (parts.size() < 2 || has_warned_of_overlap_) return;
  std::map<std::uint64_t, const Call*> written;  // By where it ends.
  for (const ExchangePart& part : parts) {
    const Range range = nccl_core::write_range(part.call, rank, clique_.ranks());
    if (part.call.kind == Kind::Recv && range.bytes != 0) {
      written[range.address + range.bytes] = &part.call;
    }
  }
  for (const ExchangePart& part : parts) {
    if (part.call.kind != Kind::Send) continue;
    const Range read = nccl_core::read_range(part.call, rank, clique_.ranks());
    const auto next = written.upper_bound(read.address);
    if (next == written.end() || read.bytes == 0) continue;
    const Range range = nccl_core::write_range(*next->second, rank, clique_.ranks());
    if (range.address >= read.address + read.bytes) continue;
    has_warned_of_overlap_ = true;
    services_.log(fmt::format(
        "{}: warning: rank {} calls {} and {} on the same memory in one group; NCCL does the calls "
        "of a group (and of groups inside it) in any order, so that it is not said what is sent: "
        "end the group between them",
        clique_.name(), rank, describe(part.call), describe(*next->second)));
    return;
  }
}

// Ranks match by order: the n-th collective of each rank on the communicator is one round, the n-th
// send from a to b goes to the n-th receive of b from a. Mismatches are found when the second of
// two calls is posted, before any stream has reached it.
Exchange::Posted Exchange::post(int rank, std::span<const ExchangePart> parts, VTime launched_at) {
  look_for_overlap(rank, parts);
  auto group = std::make_shared<Group>();
  group->rank = rank;
  group->launched_at = launched_at;
  for (const ExchangePart& part : parts) {
    group->parts.push_back(std::make_shared<ExchangePart>(part));
    group->parts.back()->rank = rank;
  }
  std::string what(nccl_core::name_of(parts.front().call.kind));
  if (parts.size() > 1) what += fmt::format(" and {} more", parts.size() - 1);
  group->work = WorkGraph::make(fmt::format("{} of rank {} on {}", what, rank, clique_.name()),
                                [this, weak = std::weak_ptr<Group>(group)](const WorkPtr&) {
                                  if (const GroupPtr reached = weak.lock()) on_reached(reached);
                                });
  for (const PartPtr& part : group->parts) {
    const Slot slot{part, group};
    const Check wrong = nccl_core::is_point_to_point(part->call.kind) ? join_channel(rank, slot)
                                                                      : join_round(rank, slot);
    if (wrong) {
      if (services_.check != nullptr) services_.check->on_bad_collective(wrong->message, rank);
      break_up(*wrong);
      return {nullptr, wrong};
    }
  }
  groups_.push_back(group);
  return {group->work, std::nullopt};
}

Check Exchange::join_round(int rank, const Slot& slot) {
  const std::uint64_t number = next_round_[rank]++;
  Round& round = rounds_[number];
  round.number = number;
  round.slots.resize(clique_.members.size());
  for (const Slot& other : round.slots) {
    if (other.part == nullptr) continue;
    Check wrong =
        nccl_core::check_agreement(slot.part->call, rank, other.part->call, other.part->rank);
    if (wrong) return wrong;
    break;  // All that are there agree with each other.
  }
  round.slots[static_cast<std::size_t>(rank)] = slot;
  return std::nullopt;
}

Check Exchange::join_channel(int rank, const Slot& slot) {
  const Call& call = slot.part->call;
  const bool is_send = call.kind == Kind::Send;
  Channel& channel = is_send ? channels_[{rank, call.root}] : channels_[{call.root, rank}];
  auto& mine = is_send ? channel.sends : channel.receives;
  const auto& theirs = is_send ? channel.receives : channel.sends;
  if (mine.size() < theirs.size()) {
    const Call& match = theirs[mine.size()].part->call;
    const std::uint64_t my_bytes = call.count * nccl_core::size_of(call.type);
    if (my_bytes != match.count * nccl_core::size_of(match.type)) {
      return Problem{Code::InvalidUsage,
                     fmt::format("mismatched point-to-point call: rank {} calls {}, rank {} calls "
                                 "{}; a receive must ask for what is sent",
                                 rank, describe(call), call.root, describe(match))};
    }
  }
  mine.push_back(slot);
  return std::nullopt;
}

// A part may start when its rank's stream has reached the group, not when it was called.
void Exchange::on_reached(const GroupPtr& group) {
  group->is_started = true;
  if (clique_.is_broken()) {
    services_.works.finish(group->work, services_.timeline.now());
    std::erase(groups_, group);
    return;
  }
  // Its kernel: not before the host has launched it, and a little behind the one before it.
  const VTime gap = fabric::queue_gap(services_.fabric.costs(), group->work->in_graph);
  const VTime begins = std::max(services_.timeline.now() + gap, group->launched_at);
  services_.timeline.at(begins, [this, weak = std::weak_ptr<Group>(group)] {
    if (const GroupPtr ready = weak.lock()) start_kernel(ready);
  });
}

void Exchange::start_kernel(const GroupPtr& group) {
  if (clique_.is_broken()) return;  // Broken up meanwhile, and finished.
  for (const PartPtr& part : group->parts)
    part->is_ready = true;
  // Collected first: starting one may erase entries of the map.
  for (const PartPtr& part : group->parts) {
    if (nccl_core::is_point_to_point(part->call.kind)) {
      const bool is_send = part->call.kind == Kind::Send;
      try_channel(is_send ? group->rank : part->call.root, is_send ? part->call.root : group->rank);
    }
  }
  for (auto& [number, round] : rounds_) {
    const Slot& mine = round.slots[static_cast<std::size_t>(group->rank)];
    if (mine.group == group) try_start(round);
  }
}

void Exchange::try_start(Round& round) {
  if (round.is_running) return;
  for (const Slot& slot : round.slots) {
    if (slot.part == nullptr || !slot.part->is_ready) return;
  }
  round.is_running = true;
  for (const Slot& slot : round.slots)
    slot.part->started = services_.timeline.now();
  const Call& call = round.slots.front().part->call;
  // The data moves in one step at the end; until then only the links are busy.
  const std::vector<int> gpus = clique_.devices();
  fabric::CollectiveCost cost;  // Of nothing: NCCL does not start a kernel.
  if (call.count != 0) {
    cost = fabric::collective_cost({services_.fabric.topology(), services_.fabric.costs()},
                                   pattern_of(call.kind), gpus,
                                   call.count * nccl_core::size_of(call.type), is_symmetric(round));
  }
  const VTime end =
      services_.fabric.collective(gpus, services_.timeline.now(), cost.duration, cost.wire);
  if (services_.take_sms) {
    const int sms = services_.fabric.costs().sms_of(cost.channels);
    for (const int gpu : gpus)
      services_.take_sms(gpu, sms, end);
  }
  services_.timeline.at(end, [this, number = round.number] { finish_round(number); });
}

bool Exchange::is_symmetric(const Round& round) const {
  if (services_.windows == nullptr) return false;
  return std::all_of(round.slots.begin(), round.slots.end(), [&](const Slot& slot) {
    const int rank = slot.part->rank;
    const Range read = nccl_core::read_range(slot.part->call, rank, clique_.ranks());
    const Range written = nccl_core::write_range(slot.part->call, rank, clique_.ranks());
    return services_.windows->holds(clique_, rank, read.address, read.bytes) &&
           services_.windows->holds(clique_, rank, written.address, written.bytes);
  });
}

void Exchange::finish_round(std::uint64_t number) {
  const auto found = rounds_.find(number);
  if (found == rounds_.end()) return;  // Broken up meanwhile.
  const Round round = std::move(found->second);
  rounds_.erase(found);
  std::vector<Call> calls;
  for (const Slot& slot : round.slots) {
    Call call = slot.part->call;
    // ncclRedOpCreatePreMulSum reads its scalar from device memory when the kernel runs.
    if (slot.part->scalar_address != 0) {
      std::memcpy(call.scalar.data(), vgpu::Memory::at(slot.part->scalar_address),
                  nccl_core::size_of(call.type));
    }
    calls.push_back(call);
  }
  if (calls.front().count != 0) nccl_core::perform(calls);
  if (services_.check != nullptr) {
    std::vector<check::ClockPtr> starts;
    for (const Slot& slot : round.slots)
      starts.push_back(slot.group->work->known);
    for (const Slot& slot : round.slots)
      tell_check(slot, comes_after(slot.part->call, slot.part->rank, starts));
  }
  const VTime now = services_.timeline.now();
  for (int rank = 0; rank < clique_.ranks(); ++rank) {
    const Range written =
        nccl_core::write_range(calls[static_cast<std::size_t>(rank)], rank, clique_.ranks());
    if (written.bytes == 0) continue;
    services_.memory.notify_write(written.address, written.bytes, now);
    note_type(written, calls.front());
  }
  for (const Slot& slot : round.slots) {
    tell_trace(slot);
    finish_part(slot);
  }
}

void Exchange::try_channel(int source, int destination) {
  Channel& channel = channels_[{source, destination}];
  while (!channel.sends.empty() && !channel.receives.empty()) {
    const Slot send = channel.sends.front();
    const Slot receive = channel.receives.front();
    if (!send.part->is_ready || !receive.part->is_ready) return;
    channel.sends.pop_front();
    channel.receives.pop_front();
    send.part->started = receive.part->started = services_.timeline.now();
    const Call& call = send.part->call;
    const std::uint64_t bytes = call.count * nccl_core::size_of(call.type);
    const int from = clique_.device_of(source);
    const int to = clique_.device_of(destination);
    const fabric::SendCost cost =
        fabric::send_cost({services_.fabric.topology(), services_.fabric.costs()}, clique_.ranks(),
                          services_.fabric.topology().same_domain(from, to), bytes,
                          sends_before(send.group->parts, *send.part));
    const fabric::Transfer transfer = services_.fabric.transfer(
        services_.fabric.route(from, to), from, to, bytes, services_.timeline.now() + cost.setup,
        {cost.gigabytes_per_second, cost.port_gigabytes_per_second});
    if (services_.take_sms) {
      const int sms = services_.fabric.costs().sms_of(cost.channels);
      services_.take_sms(from, sms, transfer.arrival);
      services_.take_sms(to, sms, transfer.arrival);
    }
    services_.timeline.at(transfer.arrival, [this, send, receive, bytes] {
      if (send.part->is_done || receive.part->is_done) return;  // Broken up meanwhile.
      if (bytes != 0) {
        nccl_core::perform_send(send.part->call, receive.part->call);
        services_.memory.notify_write(receive.part->call.recv, bytes, services_.timeline.now());
        note_type({receive.part->call.recv, bytes}, receive.part->call);
      }
      if (services_.check != nullptr) {
        const check::ClockPtr sent = send.group->work->known;
        tell_check(send, {});
        tell_check(receive, {sent});
      }
      tell_trace(send);
      tell_trace(receive);
      finish_part(send);
      finish_part(receive);
    });
  }
}

void Exchange::note_type(const Range& written, const Call& call) {
  if (services_.types == nullptr) return;
  services_.types->note(services_.memory.canonical(written.address), written.bytes,
                        written_as(call.type));
}

void Exchange::finish_part(const Slot& slot) {
  if (slot.part->is_done) return;
  slot.part->is_done = true;
  const bool all = std::all_of(slot.group->parts.begin(), slot.group->parts.end(),
                               [](const PartPtr& part) { return part->is_done; });
  if (!all) return;
  const GroupPtr group = slot.group;
  std::erase(groups_, group);
  if (services_.check != nullptr) services_.check->end(*group->work);
  services_.works.finish(group->work, services_.timeline.now());
}

void Exchange::tell_check(const Slot& slot, const std::vector<check::ClockPtr>& after) {
  const Call& call = slot.part->call;
  const int rank = slot.part->rank;
  RunCheck& run = *services_.check;
  const check::WorkId id = run.act(*slot.group->work, std::string(nccl_core::name_of(call.kind)),
                                   rank, clique_.device_of(rank));
  for (const check::ClockPtr& clock : after)
    run.checker.learn(id, clock);
  if (call.count == 0) return;
  const Range read = nccl_core::read_range(call, rank, clique_.ranks());
  const Range written = nccl_core::write_range(call, rank, clique_.ranks());
  if (read.bytes != 0) run.checker.read(id, run.canonical(read.address), read.bytes);
  if (written.bytes != 0) run.checker.write(id, run.canonical(written.address), written.bytes);
}

void Exchange::tell_trace(const Slot& slot) {
  if (services_.trace == nullptr) return;
  const Call& call = slot.part->call;
  const int rank = slot.part->rank;
  MovedBytes moved{.kind = "collective",
                   .name = std::string(nccl_core::name_of(call.kind)),
                   .device = clique_.device_of(rank),
                   .started = slot.part->started,
                   .finished = services_.timeline.now(),
                   .read = {},
                   .written = {}};
  if (call.count != 0) {
    const Range read = nccl_core::read_range(call, rank, clique_.ranks());
    const Range written = nccl_core::write_range(call, rank, clique_.ranks());
    moved.read.push_back({read.address, read.address + read.bytes});
    moved.written.push_back({written.address, written.address + written.bytes});
  }
  services_.trace->add(*slot.group->work, moved);
}

void Exchange::break_up(Problem why) {
  if (!clique_.is_broken()) {
    services_.log(fmt::format("{}: {}", clique_.name(), why.message));
    clique_.broken = std::move(why);
  }
  rounds_.clear();
  channels_.clear();
  // Groups that their stream has not reached finish when it does, which may be as soon as an
  // earlier one is finished: they are distinguished before.
  std::vector<GroupPtr> started;
  for (const GroupPtr& group : std::exchange(groups_, {})) {
    for (const PartPtr& part : group->parts)
      part->is_done = true;
    (group->is_started ? started : groups_).push_back(group);
  }
  for (const GroupPtr& group : started)
    services_.works.finish(group->work, services_.timeline.now());
}

std::vector<WorkPtr> Exchange::unfinished(int rank) const {
  std::vector<WorkPtr> result;
  for (const GroupPtr& group : groups_) {
    if (group->rank == rank) result.push_back(group->work);
  }
  return result;
}

std::vector<WaitingCall> Exchange::waits() const {
  std::vector<WaitingCall> waits;
  for (const auto& [number, round] : rounds_) {
    std::vector<int> arrived;
    std::vector<int> queued;
    std::vector<int> absent;
    const Call* call = nullptr;
    for (int rank = 0; rank < clique_.ranks(); ++rank) {
      const Slot& slot = round.slots[static_cast<std::size_t>(rank)];
      if (slot.part == nullptr) {
        absent.push_back(rank);
      } else {
        call = &slot.part->call;
        (slot.part->is_ready ? arrived : queued).push_back(rank);
      }
    }
    std::string line = fmt::format("{} (number {} on {})", describe(*call), number, clique_.name());
    if (!arrived.empty()) {
      line +=
          fmt::format(": {} {} in it", list_ranks(arrived), arrived.size() == 1 ? "waits" : "wait");
    }
    if (!queued.empty())
      line += fmt::format("; behind other work in its stream: {}", list_ranks(queued));
    if (!absent.empty()) line += fmt::format("; never called by {}", list_ranks(absent));
    waits.push_back({std::move(line), std::move(absent)});
  }
  for (const auto& [ends, channel] : channels_) {
    const auto add = [&, pair = ends](const Slot& slot, bool is_send, bool matched) {
      const int peer = is_send ? pair.second : pair.first;
      std::string line = fmt::format("{} of rank {} on {}: ", describe(slot.part->call),
                                     is_send ? pair.first : pair.second, clique_.name());
      if (matched) return waits.push_back({line + "its partner is behind other work", {}});
      line += fmt::format("rank {} never called the matching {}", peer,
                          is_send ? "ncclRecv" : "ncclSend");
      waits.push_back({std::move(line), {peer}});
    };
    if (!channel.sends.empty()) add(channel.sends.front(), true, !channel.receives.empty());
    if (!channel.receives.empty()) add(channel.receives.front(), false, !channel.sends.empty());
  }
  return waits;
}

}  // namespace cuco::vcluster
