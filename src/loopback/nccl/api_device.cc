// SPDX-License-Identifier: Apache-2.0
// Symmetric memory and the device API's host half: allocation, windows, device communicators,
// teams and requirement helpers (layouts of NCCL 2.28.9).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_memory.h"
#include "loopback/gpu/rank_streams.h"
#include "loopback/nccl/pending_calls.h"
#include "nccl_core/abi_2_28.h"
#include "nccl_core/resource_layout.h"

namespace cuco::loopback {
namespace {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;

int result(Code code) {
  return static_cast<int>(code);
}

/// A call that all ranks make.
template <typename Finish>
Code meet(ncclComm* comm, SetUpRequest request, Finish finish) {
  if (comm->place.number == 0)
    return fail(comm, {Code::InvalidArgument,
                       std::string(name_of(request.call)) + ": communicator not ready"});
  if (const Check broken = Assembly::get().why_broken(comm->place)) return fail(comm, *broken);
  request.number = comm->place.number;
  request.rank = comm->rank;
  auto answer = std::make_shared<SetUpAnswer>();
  return submit(SetUp{comm,
                      [request, answer](Check* problem) {
                        Assembly::Joined joined = Assembly::get().join(request, answer);
                        *problem = std::move(joined.problem);
                        return joined.agreement;
                      },
                      [answer, finish](const Check& problem) {
                        if (!problem) finish(*answer);
                      }});
}

/// Where the answers go in the caller's linked list.
void fill(const DevCommAnswer& answer, abi::ResourceRequirements* first) {
  std::size_t i = 0;
  for (auto* need = first; need != nullptr; need = need->next, ++i) {
    const nccl_core::ResourceGrant& grant = answer.grants[i];
    if (need->out_buffer_handle != nullptr) *need->out_buffer_handle = grant.handle;
    if (need->out_gin_signal_start != nullptr) *need->out_gin_signal_start = grant.first_signal;
    if (need->out_gin_counter_start != nullptr) *need->out_gin_counter_start = grant.first_counter;
  }
}

Code create_dev_comm(ncclComm* comm, const abi::DevCommRequirements& wanted, abi::DevComm* out) {
  if (wanted.barrier_count < 0 || wanted.lsa_barrier_count < 0 ||
      wanted.rail_gin_barrier_count < 0 || wanted.gin_signal_count < 0 ||
      wanted.gin_counter_count < 0) {
    return fail(comm, {Code::InvalidArgument,
                       "ncclDevCommCreate: a count in ncclDevCommRequirements is negative; set the "
                       "struct to zero before you fill it in"});
  }
  SetUpRequest call;
  call.call = SetUpRequest::Call::DevCommCreate;
  DevCommRequest& request = call.dev_comm;
  request.lsa_barriers = std::max(wanted.barrier_count, wanted.lsa_barrier_count);
  request.rail_gin_barriers = std::max(wanted.barrier_count, wanted.rail_gin_barrier_count);
  request.gin_signals = static_cast<std::uint32_t>(wanted.gin_signal_count);
  request.gin_counters = static_cast<std::uint32_t>(wanted.gin_counter_count);
  request.wants_multimem = wanted.lsa_multimem;
  request.gin_force = wanted.gin_force_enable;
  for (auto* need = wanted.resources; need != nullptr; need = need->next) {
    request.needs.push_back({need->buffer_size, need->buffer_align,
                             static_cast<std::uint32_t>(need->gin_signal_count),
                             static_cast<std::uint32_t>(need->gin_counter_count)});
  }
  for (auto* team = wanted.teams; team != nullptr; team = team->next)
    request.wants_multimem = request.wants_multimem || team->multimem;
  return meet(comm, call, [out, first = wanted.resources](const SetUpAnswer& done) {
    *out = done.dev_comm.comm;
    fill(done.dev_comm, first);
  });
}

abi::ResourceRequirements requirement(const nccl_core::ResourceNeed& need, std::uint32_t* handle) {
  abi::ResourceRequirements made{};
  made.buffer_size = need.bytes;
  made.buffer_align = need.align;
  made.out_buffer_handle = handle;
  made.gin_signal_count = static_cast<std::int32_t>(need.signals);
  return made;
}

int lsa_rank(const ncclComm* comm) {
  return comm->rank % comm->place.lsa_size;
}

}  // namespace
}  // namespace cuco::loopback

namespace abi = cuco::nccl_core::abi_2_28;
using cuco::loopback::Assembly;
using cuco::loopback::Machine;
using cuco::loopback::Memory;
using cuco::loopback::result;
using cuco::loopback::SetUpAnswer;
using cuco::loopback::SetUpRequest;
using cuco::nccl_core::Code;

CUCO_NCCL_EXPORT(int, ncclMemAlloc, (void** out, size_t bytes)) {
  if (out == nullptr) return result(Code::InvalidArgument);
  CUdeviceptr address = 0;
  const CUresult failed =
      Memory::get().allocate(&address, Machine::get().current_rank(), bytes, true);
  *out = reinterpret_cast<void*>(address);
  if (failed == CUDA_SUCCESS) return 0;
  return result(cuco::loopback::fail(
      nullptr, {Code::UnhandledCudaError, "ncclMemAlloc: " + std::to_string(bytes) +
                                              " bytes: " + cuco::loopback::text_of(failed)}));
}

CUCO_NCCL_EXPORT(int, ncclMemFree, (void* memory)) {
  if (memory == nullptr) return 0;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  if (const auto owner = Memory::get().owner_of(address)) {
    (void)cuco::loopback::Streams::get().wait_for(*owner);
    if (Memory::get().free(address)) return 0;
  }
  return result(cuco::loopback::fail(
      nullptr, {Code::UnhandledCudaError, "ncclMemFree: not memory from ncclMemAlloc"}));
}

CUCO_NCCL_EXPORT(int, ncclCommRegister, (ncclComm * comm, void* buffer, size_t, void** handle)) {
  if (comm == nullptr || buffer == nullptr || handle == nullptr)
    return result(Code::InvalidArgument);
  *handle = buffer;  // There is nothing to speed up.
  return 0;
}

CUCO_NCCL_EXPORT(int, ncclCommDeregister, (ncclComm * comm, void*)) {
  return comm == nullptr ? result(Code::InvalidArgument) : 0;
}

CUCO_NCCL_EXPORT(int,
                 ncclCommWindowRegister,
                 (ncclComm * comm, void* buffer, size_t bytes, void** window, int)) {
  if (comm == nullptr || window == nullptr) return result(Code::InvalidArgument);
  *window = nullptr;
  SetUpRequest call;
  call.call = SetUpRequest::Call::WindowRegister;
  call.window = {reinterpret_cast<CUdeviceptr>(buffer), bytes};
  return result(cuco::loopback::meet(comm, call, [window](const SetUpAnswer& done) {
    *window = reinterpret_cast<void*>(done.description);
  }));
}

CUCO_NCCL_EXPORT(int, ncclCommWindowDeregister, (ncclComm * comm, void* window)) {
  if (comm == nullptr) return result(Code::InvalidArgument);
  if (window == nullptr) return 0;
  if (Assembly::get().release_window(comm->place, reinterpret_cast<std::uint64_t>(window)))
    return 0;
  return result(cuco::loopback::fail(
      comm, {Code::InvalidArgument, "ncclCommWindowDeregister: not a window of this rank"}));
}

CUCO_NCCL_EXPORT(int,
                 ncclDevCommCreate,
                 (ncclComm * comm, const abi::DevCommRequirements* wanted, abi::DevComm* out)) {
  if (comm == nullptr || wanted == nullptr || out == nullptr) return result(Code::InvalidArgument);
  return result(cuco::loopback::create_dev_comm(comm, *wanted, out));
}

CUCO_NCCL_EXPORT(int, ncclDevCommDestroy, (ncclComm * comm, const abi::DevComm* dev_comm)) {
  if (comm == nullptr || dev_comm == nullptr) return result(Code::InvalidArgument);
  if (Assembly::get().release_dev_comm(comm->place, dev_comm->resource_window)) return 0;
  return result(cuco::loopback::fail(
      comm, {Code::InvalidArgument, "ncclDevCommDestroy: not a device communicator of this rank"}));
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamWorld, (ncclComm * comm)) {
  return {comm->ranks, comm->rank, 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamLsa, (ncclComm * comm)) {
  return {comm->place.lsa_size, cuco::loopback::lsa_rank(comm), 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamRail, (ncclComm * comm)) {
  const int size = comm->place.lsa_size;
  return {comm->ranks / size, comm->rank / size, size};
}

CUCO_NCCL_EXPORT(int, ncclTeamRankToWorld, (ncclComm * comm, abi::Team team, int rank)) {
  return comm->rank + (rank - team.rank) * team.stride;
}

CUCO_NCCL_EXPORT(int, ncclTeamRankToLsa, (ncclComm * comm, abi::Team team, int rank)) {
  return cuco::loopback::lsa_rank(comm) + (rank - team.rank) * team.stride;
}

CUCO_NCCL_EXPORT(
    int,
    ncclLsaBarrierCreateRequirement,
    (abi::Team team, int barriers, abi::LsaBarrierHandle* handle, abi::ResourceRequirements* out)) {
  handle->barriers = barriers;
  *out = cuco::loopback::requirement(cuco::nccl_core::lsa_barrier_need(barriers, team.n_ranks),
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
  *out = cuco::loopback::requirement(cuco::nccl_core::gin_barrier_need(barriers), &handle->buffer);
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
  *out = cuco::loopback::requirement(cuco::nccl_core::lla2a_need(blocks, slots), &handle->buffer);
  return 0;
}
