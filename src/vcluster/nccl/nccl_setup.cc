// SPDX-License-Identifier: Apache-2.0
// Calls that all ranks of a communicator make together: they meet, and the last one to come brings
// the communicators, windows and device communicators about.
#include <algorithm>

#include <fmt/format.h>

#include "vcluster/nccl/nccl_world.h"

namespace cuco::vcluster {

using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;
using wire::NcclItemKind;

constexpr std::uint64_t kUniqueIdTag = 0x6375636F6E63636C;  // Tells our ids from stale ones.

wire::NcclUniqueId::Reply NcclWorld::unique_id() {
  return {{kUniqueIdTag, next_id_++}};
}

void NcclWorld::init(wire::Bytes payload, NcclCaller caller) {
  const auto request = wire::read_front<wire::NcclInit>(payload);
  if (!request || request->id[0] != kUniqueIdTag || request->ranks < 1 ||
      request->ranks > fabric_.topology().gpus() || request->device < 0 ||
      request->device >= fabric_.topology().gpus()) {
    return caller.answer(NcclReply::failure(
        {Code::InvalidArgument,
         fmt::format("ncclCommInitRank: cannot make {} ranks: the cluster has {} GPUs",
                     request ? request->ranks : 0, fabric_.topology().gpus())}));
  }
  const auto key = std::make_pair(request->id[0], request->id[1]);
  const auto [found, fresh] =
      inits_.try_emplace(key, "a new communicator", NcclItemKind::Init, all_ranks(request->ranks));
  Meeting& meeting = found->second;
  const Check wrong = meeting.arrive(NcclItemKind::Init, {request->rank,
                                                          caller.process,
                                                          {payload.begin(), payload.end()},
                                                          caller.answer,
                                                          services_.works.host.known});
  if (wrong) return caller.answer(NcclReply::failure(*wrong));
  if (!meeting.is_complete()) return;
  Meeting complete = std::move(meeting);
  inits_.erase(found);
  conclude_init(complete);
}

void NcclWorld::conclude_init(Meeting& meeting) {
  std::vector<CliqueMember> members;
  for (const auto& [rank, attendance] : meeting.present()) {
    const auto request = wire::read_front<wire::NcclInit>(attendance.payload);
    if (request->ranks != static_cast<int>(meeting.present().size())) {
      return meeting.answer_all(NcclReply::failure(
          {Code::InvalidArgument,
           fmt::format("ncclCommInitRank: rank {} says that there are {} ranks, others say {}",
                       rank, request->ranks, meeting.present().size())}));
    }
    CliqueMember member;
    member.device = request->device;
    member.process = attendance.process;
    members.push_back(member);
  }
  const CliqueRegistry::Made made = cliques_.make(std::move(members));
  if (made.problem) return meeting.answer_all(NcclReply::failure(*made.problem));
  for (auto& [rank, attendance] : meeting.present()) {
    attendance.answer(NcclReply::of(CliqueRegistry::info(*made.clique, rank)));
  }
}

void NcclWorld::meet(NcclItemKind kind,
                     const CliqueRank& place,
                     wire::Bytes payload,
                     std::vector<int> expected,
                     NcclCaller caller) {
  Clique& clique = *place.clique;
  const bool makes_comm = kind == NcclItemKind::Split || kind == NcclItemKind::Shrink;
  if (clique.is_broken() && !makes_comm) return caller.answer(NcclReply::failure(clique.broken));
  const SetupKey key{clique.number, place.member().next_setup++};
  const auto [found, fresh] = setups_.try_emplace(key, clique.name(), kind, std::move(expected));
  const Check wrong = found->second.arrive(kind, {place.rank,
                                                  caller.process,
                                                  {payload.begin(), payload.end()},
                                                  caller.answer,
                                                  services_.works.host.known});
  if (wrong) {
    found->second.answer_all(NcclReply::failure(*wrong));
    setups_.erase(found);
    return caller.answer(NcclReply::failure(*wrong));
  }
  if (!found->second.is_complete()) return;
  Meeting complete = std::move(found->second);
  setups_.erase(found);
  conclude(kind, clique, complete);
}

void NcclWorld::conclude(NcclItemKind kind, Clique& clique, Meeting& meeting) {
  if (kind == NcclItemKind::Split) return conclude_split(clique, meeting);
  if (kind == NcclItemKind::Shrink) return conclude_shrink(clique, meeting);
  if (kind == NcclItemKind::WindowRegister) return conclude_windows(clique, meeting);
  conclude_dev_comm(clique, meeting);
}

void NcclWorld::conclude_split(Clique& clique, Meeting& meeting) {
  // By colour, then by key, then by old rank: the order that NCCL promises.
  std::map<std::int32_t, std::vector<std::pair<std::int32_t, int>>> colours;
  for (auto& [rank, attendance] : meeting.present()) {
    const auto request = wire::read_front<wire::NcclSplit>(attendance.payload);
    if (!request) return meeting.answer_all(malformed(NcclItemKind::Split));
    colours[request->color].emplace_back(request->key, rank);
  }
  for (auto& [colour, ranks] : colours) {
    std::sort(ranks.begin(), ranks.end());
    std::vector<CliqueMember> members;
    for (const auto& [key, rank] : ranks) {
      const CliqueMember& old = clique.members[static_cast<std::size_t>(rank)];
      CliqueMember member;
      member.device = old.device;
      member.process = old.process;
      members.push_back(member);
    }
    const Clique* made = colour < 0 ? nullptr : cliques_.make(std::move(members)).clique;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto info =
          made == nullptr ? wire::NcclCommInfo{} : CliqueRegistry::info(*made, static_cast<int>(i));
      meeting.present().at(ranks[i].second).answer(NcclReply::of(info));
    }
  }
}

void NcclWorld::shrink(const CliqueRank& place, wire::Bytes payload, NcclCaller caller) {
  const auto request = wire::read_front<wire::NcclShrink>(payload);
  if (!request) return caller.answer(malformed(NcclItemKind::Shrink));
  const auto excluded =
      wire::read_array<std::int32_t>(payload.subspan(sizeof(wire::NcclShrink)), request->excluded);
  if (!excluded) return caller.answer(malformed(NcclItemKind::Shrink));
  std::vector<int> expected;
  for (const int rank : all_ranks(place.clique->ranks())) {
    if (std::find(excluded->begin(), excluded->end(), rank) == excluded->end()) {
      expected.push_back(rank);
    }
  }
  if (request->abort != 0 && !place.clique->is_broken()) {
    exchange(*place.clique).break_up({Code::RemoteError, "ended by ncclCommShrink"});
  }
  meet(NcclItemKind::Shrink, place, payload, std::move(expected), std::move(caller));
}

void NcclWorld::conclude_shrink(Clique& clique, Meeting& meeting) {
  std::vector<CliqueMember> members;
  for (const auto& [rank, attendance] : meeting.present()) {
    CliqueMember member;
    member.device = clique.device_of(rank);
    member.process = attendance.process;
    members.push_back(member);
  }
  const CliqueRegistry::Made made = cliques_.make(std::move(members));
  int next = 0;
  for (auto& [rank, attendance] : meeting.present()) {
    attendance.answer(NcclReply::of(CliqueRegistry::info(*made.clique, next++)));
  }
}

void NcclWorld::conclude_windows(Clique& clique, Meeting& meeting) {
  std::vector<WindowRequest> requests;
  for (const auto& [rank, attendance] : meeting.present()) {
    const auto request = wire::read_front<wire::NcclWindowRegister>(attendance.payload);
    if (!request) return meeting.answer_all(malformed(NcclItemKind::WindowRegister));
    requests.push_back({request->address, request->bytes});
  }
  const WindowRegistry::Registered registered = windows_.add(clique, requests);
  if (registered.problem) return meeting.answer_all(NcclReply::failure(*registered.problem));
  for (auto& [rank, attendance] : meeting.present()) {
    attendance.answer(NcclReply::of(wire::NcclWindow{
        0, registered.window->copies[static_cast<std::size_t>(rank)].description}));
  }
}

void NcclWorld::conclude_dev_comm(Clique& clique, Meeting& meeting) {
  std::vector<DevCommRequest> requests;
  for (const auto& [rank, attendance] : meeting.present()) {
    const wire::Bytes payload = attendance.payload;
    const auto fixed = wire::read_front<wire::NcclDevCommCreate>(payload);
    if (!fixed) return meeting.answer_all(malformed(NcclItemKind::DevCommCreate));
    const wire::Bytes tail = payload.subspan(sizeof *fixed);
    const auto needs = wire::read_array<wire::NcclNeed>(tail, fixed->needs);
    const auto teams = needs
                           ? wire::read_array<wire::NcclTeam>(
                                 tail.subspan(needs->size() * sizeof(wire::NcclNeed)), fixed->teams)
                           : std::nullopt;
    if (!teams) return meeting.answer_all(malformed(NcclItemKind::DevCommCreate));
    DevCommRequest request;
    request.lsa_barriers = fixed->lsa_barriers;
    request.rail_gin_barriers = fixed->rail_gin_barriers;
    request.gin_signals = static_cast<std::uint32_t>(fixed->gin_signals);
    request.gin_counters = static_cast<std::uint32_t>(fixed->gin_counters);
    request.lsa_multimem = fixed->lsa_multimem != 0;
    request.gin_force = fixed->gin_force != 0;
    for (const wire::NcclNeed& need : *needs) {
      request.needs.push_back({need.bytes, need.align, need.signals, need.counters});
    }
    for (const wire::NcclTeam& team : *teams) {
      request.multimem_teams.push_back({team.ranks, team.rank, team.stride});
    }
    requests.push_back(std::move(request));
  }
  const DevCommRegistry::Created created = dev_comms_.create(clique, requests);
  if (created.problem) return meeting.answer_all(NcclReply::failure(*created.problem));
  for (auto& [rank, attendance] : meeting.present()) {
    const DevCommAnswer& answer = created.answers[static_cast<std::size_t>(rank)];
    NcclReply reply = NcclReply::of(answer.comm);
    for (const nccl_core::ResourceGrant& grant : answer.grants) {
      wire::append(reply.payload,
                   wire::NcclGrant{grant.handle, grant.first_signal, grant.first_counter});
    }
    for (const vgpu::Address base : answer.team_multicast)
      wire::append(reply.payload, base);
    attendance.answer(std::move(reply));
  }
}

}  // namespace cuco::vcluster
