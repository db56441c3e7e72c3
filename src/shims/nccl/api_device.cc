// SPDX-License-Identifier: Apache-2.0
// Symmetric memory and the device API's host half: allocation, windows, device communicators,
// teams and requirement helpers (layouts of NCCL 2.28.9).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "nccl_core/abi_2_28.h"
#include "nccl_core/exported_twice.h"
#include "nccl_core/resource_layout.h"
#include "shims/nccl/group.h"

namespace cuco::nccl {
namespace {

namespace abi = nccl_core::abi_2_28;

int result(Code code) {
  return static_cast<int>(code);
}

/// Where the answers of a device communicator go in the caller's linked lists.
struct Outputs {
  abi::DevComm* comm = nullptr;
  std::vector<abi::ResourceRequirements*> needs;
  std::vector<abi::TeamRequirements*> teams;

  void fill(wire::Bytes payload) const {
    const auto answer = wire::read_front<wire::NcclDevComm>(payload);
    if (!answer) return;
    static_assert(sizeof answer->bytes == sizeof *comm);
    std::memcpy(comm, answer->bytes, sizeof *comm);
    wire::Bytes tail = payload.subspan(sizeof(wire::NcclDevComm));
    const auto grants = wire::read_array<wire::NcclGrant>(tail, needs.size());
    if (!grants) return;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const wire::NcclGrant& grant = (*grants)[i];
      if (needs[i]->out_buffer_handle != nullptr) *needs[i]->out_buffer_handle = grant.handle;
      if (needs[i]->out_gin_signal_start != nullptr) {
        *needs[i]->out_gin_signal_start = grant.first_signal;
      }
      if (needs[i]->out_gin_counter_start != nullptr) {
        *needs[i]->out_gin_counter_start = grant.first_counter;
      }
    }
    tail = tail.subspan(needs.size() * sizeof(wire::NcclGrant));
    const auto bases = wire::read_array<std::uint64_t>(tail, teams.size());
    for (std::size_t i = 0; bases && i < teams.size(); ++i) {
      if (teams[i]->out_multimem_handle != nullptr) {
        teams[i]->out_multimem_handle->mc_base = (*bases)[i];
      }
    }
  }
};

Code create_dev_comm(ncclComm* comm, const abi::DevCommRequirements& wanted, abi::DevComm* out) {
  if (wanted.barrier_count < 0 || wanted.lsa_barrier_count < 0 ||
      wanted.rail_gin_barrier_count < 0 || wanted.gin_signal_count < 0 ||
      wanted.gin_counter_count < 0) {
    return fail(comm, {Code::InvalidArgument,
                       "ncclDevCommCreate: a count in ncclDevCommRequirements is negative; set the "
                       "struct to zero before you fill it in"});
  }
  Outputs outputs;
  outputs.comm = out;
  wire::NcclDevCommCreate request;
  request.comm = comm->handle;
  request.lsa_barriers = std::max(wanted.barrier_count, wanted.lsa_barrier_count);
  request.rail_gin_barriers = std::max(wanted.barrier_count, wanted.rail_gin_barrier_count);
  request.gin_signals = wanted.gin_signal_count;
  request.gin_counters = wanted.gin_counter_count;
  request.lsa_multimem = wanted.lsa_multimem ? 1 : 0;
  request.gin_force = wanted.gin_force_enable ? 1 : 0;
  std::vector<std::byte> tail;
  for (auto* need = wanted.resources; need != nullptr; need = need->next) {
    wire::append(tail, wire::NcclNeed{need->buffer_size, need->buffer_align,
                                      static_cast<std::uint32_t>(need->gin_signal_count),
                                      static_cast<std::uint32_t>(need->gin_counter_count)});
    outputs.needs.push_back(need);
  }
  for (auto* team = wanted.teams; team != nullptr; team = team->next) {
    if (!team->multimem) continue;
    wire::append(tail, wire::NcclTeam{team->team.n_ranks, team->team.rank, team->team.stride, 1});
    outputs.teams.push_back(team);
  }
  request.needs = static_cast<std::uint32_t>(outputs.needs.size());
  request.teams = static_cast<std::uint32_t>(outputs.teams.size());
  std::vector<std::byte> payload = payload_of(request);
  payload.insert(payload.end(), tail.begin(), tail.end());
  if (wanted.lsa_lla2a_block_count != 0 || wanted.lsa_lla2a_slot_count != 0) {
    std::fprintf(stderr,
                 "cuco: NCCL WARN rank %d: lsaLLA2ABlockCount and lsaLLA2ASlotCount have no effect "
                 "in any NCCL up to 2.30; use ncclLLA2ACreateRequirement\n",
                 comm->rank);
  }
  if (std::any_of(outputs.needs.begin(), outputs.needs.end(),
                  [](const auto* need) { return need->gin_signal_count != 0; })) {
    std::fprintf(
        stderr,
        "cuco: NCCL WARN rank %d: NCCL 2.28.9 ignores GIN signals and counters of your own "
        "resource requirements, so that such a barrier hangs there; fixed in 2.29.2\n",
        comm->rank);
  }
  return enqueue({wire::NcclItemKind::DevCommCreate, std::move(payload), comm, nullptr,
                  [outputs = std::move(outputs)](Code code, wire::Bytes answer) {
                    if (code == Code::Success) outputs.fill(answer);
                  }});
}

abi::ResourceRequirements requirement(const nccl_core::ResourceNeed& need, std::uint32_t* handle) {
  abi::ResourceRequirements result{};
  result.buffer_size = need.bytes;
  result.buffer_align = need.align;
  result.out_buffer_handle = handle;
  result.gin_signal_count = static_cast<std::int32_t>(need.signals);
  return result;
}

}  // namespace
}  // namespace cuco::nccl

namespace abi = cuco::nccl_core::abi_2_28;
namespace wire = cuco::wire;
using cuco::nccl::result;
using cuco::nccl_core::Code;

CUCO_NCCL_EXPORT(int, ncclMemAlloc, (void** out, size_t bytes)) {
  const wire::ClientApi* api = cuco::nccl::client();
  if (out == nullptr) return result(Code::InvalidArgument);
  if (api == nullptr) return result(Code::SystemError);
  wire::NcclMemAlloc request;
  request.device = api->cluster_device(api->current_device());
  request.bytes = bytes;
  wire::NcclMemAlloc::Reply reply;
  if (wire::call(*api, request, &reply) != wire::kSuccess) {
    *out = nullptr;
    return result(cuco::nccl::fail(
        nullptr, {Code::UnhandledCudaError,
                  "ncclMemAlloc: out of device memory: " + std::to_string(bytes) + " bytes"}));
  }
  *out = reinterpret_cast<void*>(reply.address);
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclMemFree, (void* memory)) {
  if (memory == nullptr) return 0;
  const wire::ClientApi* api = cuco::nccl::client();
  if (api == nullptr) return result(Code::SystemError);
  wire::NcclMemFree::Reply reply;
  const auto status =
      wire::call(*api, wire::NcclMemFree{reinterpret_cast<std::uint64_t>(memory)}, &reply);
  if (status == wire::kSuccess) return 0;
  return result(cuco::nccl::fail(
      nullptr, {Code::UnhandledCudaError, "ncclMemFree: not memory from ncclMemAlloc"}));
}

CUCO_NCCL_EXPORT(int,
                 ncclCommRegister,
                 (ncclComm * comm, void* buffer, size_t bytes, void** handle)) {
  if (comm == nullptr || buffer == nullptr || handle == nullptr) {
    return result(Code::InvalidArgument);
  }
  *handle = buffer;
  return result(
      cuco::nccl::enqueue({wire::NcclItemKind::Register,
                           cuco::nccl::payload_of(wire::NcclRegister{
                               comm->handle, reinterpret_cast<std::uint64_t>(buffer), bytes}),
                           comm, nullptr, nullptr}));
}

CUCO_NCCL_EXPORT(int, ncclCommDeregister, (ncclComm * comm, void*)) {
  return comm == nullptr ? result(Code::InvalidArgument) : 0;
}

CUCO_NCCL_EXPORT(int,
                 ncclCommWindowRegister,
                 (ncclComm * comm, void* buffer, size_t bytes, void** window, int flags)) {
  if (comm == nullptr || window == nullptr) return result(Code::InvalidArgument);
  *window = nullptr;
  const wire::NcclWindowRegister request{comm->handle, reinterpret_cast<std::uint64_t>(buffer),
                                         bytes, flags, 0};
  return result(
      cuco::nccl::enqueue({wire::NcclItemKind::WindowRegister, cuco::nccl::payload_of(request),
                           comm, nullptr, [window](Code code, wire::Bytes payload) {
                             const auto answer = wire::read_front<wire::NcclWindow>(payload);
                             if (code == Code::Success && answer) {
                               *window = reinterpret_cast<void*>(answer->window);
                             }
                           }}));
}

CUCO_NCCL_EXPORT(int, ncclCommWindowDeregister, (ncclComm * comm, void* window)) {
  if (comm == nullptr) return result(Code::InvalidArgument);
  if (window == nullptr) return 0;
  return result(cuco::nccl::enqueue({wire::NcclItemKind::WindowDeregister,
                                     cuco::nccl::payload_of(wire::NcclWindow{
                                         comm->handle, reinterpret_cast<std::uint64_t>(window)}),
                                     comm, nullptr, nullptr}));
}

CUCO_NCCL_EXPORT(int,
                 ncclDevCommCreate,
                 (ncclComm * comm, const abi::DevCommRequirements* wanted, abi::DevComm* out)) {
  if (comm == nullptr || wanted == nullptr || out == nullptr) return result(Code::InvalidArgument);
  return result(cuco::nccl::create_dev_comm(comm, *wanted, out));
}

CUCO_NCCL_EXPORT(int, ncclDevCommDestroy, (ncclComm * comm, const abi::DevComm* dev_comm)) {
  if (comm == nullptr || dev_comm == nullptr) return result(Code::InvalidArgument);
  return result(cuco::nccl::enqueue(
      {wire::NcclItemKind::DevCommDestroy,
       cuco::nccl::payload_of(wire::NcclDevCommDestroy{comm->handle, dev_comm->resource_window}),
       comm, nullptr, nullptr}));
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamWorld, (ncclComm * comm)) {
  return {comm->ranks, comm->rank, 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamLsa, (ncclComm * comm)) {
  return {comm->lsa_size, comm->lsa_rank, 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamRail, (ncclComm * comm)) {
  return {comm->ranks / comm->lsa_size, comm->rank / comm->lsa_size, comm->lsa_size};
}

CUCO_NCCL_EXPORT(int, ncclTeamRankToWorld, (ncclComm * comm, abi::Team team, int rank)) {
  return comm->rank + (rank - team.rank) * team.stride;
}

CUCO_NCCL_EXPORT(int, ncclTeamRankToLsa, (ncclComm * comm, abi::Team team, int rank)) {
  return comm->lsa_rank + (rank - team.rank) * team.stride;
}

CUCO_NCCL_EXPORT(
    int,
    ncclLsaBarrierCreateRequirement,
    (abi::Team team, int barriers, abi::LsaBarrierHandle* handle, abi::ResourceRequirements* out)) {
  handle->barriers = barriers;
  *out = cuco::nccl::requirement(cuco::nccl_core::lsa_barrier_need(barriers, team.n_ranks),
                                 &handle->buffer);
  return 0;
}

CUCO_NCCL_EXPORT(int,
                 ncclGinBarrierCreateRequirement,
                 (ncclComm*,
                  abi::Team,
                  int barriers,
                  abi::GinBarrierHandle* handle,
                  abi::ResourceRequirements* out)) {
  *out = cuco::nccl::requirement(cuco::nccl_core::gin_barrier_need(barriers), &handle->buffer);
  out->out_gin_signal_start = &handle->signal0;
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclLLA2ACalcSlots, (int max_elements, int max_element_bytes)) {
  return cuco::nccl_core::lla2a_slots(max_elements, max_element_bytes);
}

CUCO_NCCL_EXPORT(
    int,
    ncclLLA2ACreateRequirement,
    (int blocks, int slots, abi::Lla2aHandle* handle, abi::ResourceRequirements* out)) {
  handle->slots = static_cast<std::uint32_t>(slots);
  *out = cuco::nccl::requirement(cuco::nccl_core::lla2a_need(blocks, slots), &handle->buffer);
  return 0;
}
