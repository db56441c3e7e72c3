// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_world.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "fabric/collective_cost.h"
#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;
using wire::NcclItemKind;

namespace {

nccl_core::Call call_of(const wire::NcclOperation& operation) {
  nccl_core::Call call;
  // An unknown kind is answered like an unknown type: check_arguments refuses it.
  const bool known = operation.kind <= static_cast<std::uint32_t>(nccl_core::Kind::Recv);
  call.kind = known ? static_cast<nccl_core::Kind>(operation.kind) : nccl_core::Kind::AllReduce;
  call.type = static_cast<nccl_core::DataType>(known ? operation.type : -1);
  call.op = static_cast<nccl_core::ReduceOp>(operation.op);
  call.root = operation.root;
  call.count = operation.count;
  call.send = operation.send;
  call.recv = operation.recv;
  std::memcpy(call.scalar.data(), operation.scalar, sizeof operation.scalar);
  return call;
}

ExchangePart part_of(const wire::NcclOperation& operation) {
  ExchangePart part;
  part.call = call_of(operation);
  part.scalar_address = operation.scalar_address;
  return part;
}

}  // namespace

NcclWorld::NcclWorld(NcclServices services)
    : services_(std::move(services)),
      fabric_(services_.fabric),
      cliques_(fabric_.topology()),
      windows_(services_.memory, fabric_.topology()),
      dev_comms_(services_.memory,
                 fabric_,
                 windows_,
                 GinServices{services_.timeline, services_.memory, fabric_, windows_, services_.log,
                             services_.fail_device, services_.sources, services_.deliveries,
                             services_.check, services_.types}) {}

Exchange& NcclWorld::exchange(Clique& clique) {
  auto& slot = exchanges_[clique.number];
  if (slot == nullptr) {
    slot = std::make_unique<Exchange>(
        clique, ExchangeServices{services_.timeline, services_.works, services_.memory, fabric_,
                                 services_.log, services_.check, services_.types, services_.trace,
                                 services_.take_sms, &windows_});
  }
  return *slot;
}

void NcclWorld::serve(NcclItemKind kind, wire::Bytes payload, NcclCaller caller) {
  if (kind == NcclItemKind::Init) return init(payload, std::move(caller));
  // Every other payload starts with the communicator's handle.
  const auto handle = wire::read_front<wire::NcclComm>(payload);
  const auto place = handle ? cliques_.find(handle->comm, caller.process) : std::nullopt;
  if (!place) {
    return caller.answer(
        NcclReply::failure({Code::InvalidArgument,
                            fmt::format("{}: not a communicator of this process", name_of(kind))}));
  }
  switch (kind) {
    case NcclItemKind::Split:
    case NcclItemKind::WindowRegister:
    case NcclItemKind::DevCommCreate:
      return meet(kind, *place, payload, all_ranks(place->clique->ranks()), std::move(caller));
    case NcclItemKind::Shrink:
      return shrink(*place, payload, std::move(caller));
    case NcclItemKind::WindowDeregister:
    case NcclItemKind::DevCommDestroy:
    case NcclItemKind::Register:
      return caller.answer(release(kind, *place, payload));
    case NcclItemKind::Finalize:
    case NcclItemKind::Destroy:
    case NcclItemKind::Abort:
    case NcclItemKind::Revoke:
      return end(kind, *place, std::move(caller));
    case NcclItemKind::Init:
    case NcclItemKind::Operation:
      break;
  }
  caller.answer(malformed(kind));
}

NcclReply NcclWorld::release(NcclItemKind kind, const CliqueRank& place, wire::Bytes payload) {
  if (kind == NcclItemKind::Register) {
    const auto request = wire::read_front<wire::NcclRegister>(payload);
    if (!request) return malformed(kind);
    if (services_.memory.valid(request->address, request->bytes)) return {};
    return NcclReply::failure(
        {Code::InvalidArgument, fmt::format("ncclCommRegister: {} bytes at {:#x} are not device "
                                            "memory",
                                            request->bytes, request->address)});
  }
  // Both payloads are a communicator and a device address.
  const auto request = wire::read_front<wire::NcclWindow>(payload);
  if (!request) return malformed(kind);
  if (services_.check != nullptr && kind == NcclItemKind::WindowDeregister) {
    if (const auto range = windows_.range_of(*place.clique, place.rank, request->window)) {
      services_.check->given_back(range->address, range->bytes, place.rank);
    }
  }
  const bool known = kind == NcclItemKind::WindowDeregister
                         ? windows_.release(*place.clique, place.rank, request->window)
                         : dev_comms_.release(*place.clique, place.rank, request->window);
  if (known) return {};
  if (services_.check != nullptr && request->window != 0)
    services_.check->released_again(name_of(kind), place.rank);
  return NcclReply::failure(
      {Code::InvalidArgument, fmt::format("{}: {:#x} is not one of {}", name_of(kind),
                                          request->window, place.clique->name())});
}

void NcclWorld::end(NcclItemKind kind, const CliqueRank& place, NcclCaller caller) {
  Clique& clique = *place.clique;
  if (kind == NcclItemKind::Abort || kind == NcclItemKind::Revoke) {
    const Problem why{Code::RemoteError,
                      fmt::format("rank {} called {}", place.rank, name_of(kind))};
    exchange(clique).break_up(why);
    cancel_meetings(clique, why);
    if (kind == NcclItemKind::Abort) place.member().destroyed = true;
    return caller.answer({});
  }
  const bool destroys = kind == NcclItemKind::Destroy;
  const std::vector<WorkPtr> unfinished = exchange(clique).unfinished(place.rank);
  services_.works.when_done(unfinished, [place, destroys, answer = std::move(caller.answer)] {
    place.member().finalized = true;
    if (destroys) place.member().destroyed = true;
    answer({});
  });
}

Check NcclWorld::check_part(const CliqueRank& place, const ExchangePart& part) {
  if (Check wrong = exchange(*place.clique).check_call(place.rank, part)) return wrong;
  if (part.scalar_address != 0 && !services_.memory.valid(part.scalar_address, 8)) {
    return Problem{Code::InvalidArgument, "the scalar of a reduction is not device memory"};
  }
  return std::nullopt;
}

std::vector<Check> NcclWorld::check(const CliqueRank& place,
                                    const std::vector<wire::NcclOperation>& operations) {
  std::vector<Check> problems;
  for (const wire::NcclOperation& operation : operations) {
    problems.push_back(check_part(place, part_of(operation)));
  }
  return problems;
}

NcclWorld::Posted NcclWorld::post(const CliqueRank& place,
                                  const std::vector<wire::NcclOperation>& operations,
                                  VTime launched_at) {
  Posted posted;
  posted.problems = check(place, operations);
  if (std::any_of(posted.problems.begin(), posted.problems.end(),
                  [](const Check& problem) { return problem.has_value(); })) {
    return posted;
  }
  std::vector<ExchangePart> parts;
  for (const wire::NcclOperation& operation : operations)
    parts.push_back(part_of(operation));
  Exchange::Posted result = exchange(*place.clique).post(place.rank, parts, launched_at);
  if (result.problem) posted.problems.assign(operations.size(), result.problem);
  posted.work = std::move(result.work);
  return posted;
}

VTime NcclWorld::predict(const CliqueRank& place, const wire::NcclOperation& operation) const {
  const nccl_core::Call call = call_of(operation);
  const std::vector<int> devices = place.clique->devices();
  const std::uint64_t bytes = call.count * nccl_core::size_of(call.type);
  const fabric::CollectiveMachine machine{fabric_.topology(), fabric_.costs()};
  if (nccl_core::is_point_to_point(call.kind)) {
    const bool exists = call.root >= 0 && call.root < place.clique->ranks();
    const int peer = place.clique->device_of(exists ? call.root : place.rank);
    const bool near = fabric_.topology().same_domain(place.member().device, peer);
    const fabric::SendCost cost = fabric::send_cost(machine, place.clique->ranks(), near, bytes);
    return cost.setup +
           fabric::serialisation_time(static_cast<double>(bytes), cost.gigabytes_per_second);
  }
  return fabric::collective_cost(machine, pattern_of(call.kind), devices, bytes).duration;
}

std::uint64_t NcclWorld::load_store_peers(int device) const {
  std::uint64_t mask = 0;
  for (const auto& [number, clique] : cliques_.all()) {
    const std::vector<int> devices = clique->devices();
    const auto mine = std::find(devices.begin(), devices.end(), device);
    if (mine == devices.end()) continue;
    const int start = clique->team_start(static_cast<int>(mine - devices.begin()));
    for (int rank = start; rank < start + clique->lsa_size; ++rank) {
      mask |= std::uint64_t{1} << static_cast<unsigned>(devices[static_cast<std::size_t>(rank)]);
    }
  }
  return mask;
}

std::vector<WaitingCall> NcclWorld::waits() const {
  std::vector<WaitingCall> waits;
  for (const auto& [key, meeting] : inits_)
    waits.push_back({meeting.describe(), {}});
  for (const auto& [key, meeting] : setups_)
    waits.push_back({meeting.describe(), {}});
  for (const auto& [number, exchange] : exchanges_) {
    for (WaitingCall& wait : exchange->waits())
      waits.push_back(std::move(wait));
  }
  for (std::string& line : dev_comms_.describe_pending())
    waits.push_back({std::move(line), {}});
  return waits;
}

void NcclWorld::cancel_meetings(const Clique& clique, const Problem& why) {
  for (auto entry = setups_.begin(); entry != setups_.end();) {
    if (entry->first.first != clique.number) {
      ++entry;
      continue;
    }
    Meeting meeting = std::move(entry->second);
    entry = setups_.erase(entry);
    meeting.answer_all(NcclReply::failure(why));
  }
}

void NcclWorld::process_ended(std::uint32_t process, const std::string& name) {
  for (const auto& [number, clique] : cliques_.all()) {
    for (int rank = 0; rank < clique->ranks(); ++rank) {
      CliqueMember& member = clique->members[static_cast<std::size_t>(rank)];
      if (member.process != process || member.destroyed || member.finalized) continue;
      member.destroyed = true;
      const bool others_live = std::any_of(
          clique->members.begin(), clique->members.end(),
          [&](const auto& other) { return other.process != process && !other.destroyed; });
      if (!others_live) continue;
      const Problem why{Code::RemoteError, fmt::format("rank {} is gone: {} ended", rank, name)};
      exchange(*clique).break_up(why);
      cancel_meetings(*clique, why);
    }
  }
}

}  // namespace cuco::vcluster
