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
#include "loopback/nccl/dev_comms.h"
#include "loopback/nccl/pending_calls.h"
#include "loopback/nccl/windows.h"
#include "nccl_core/abi_2_28.h"
#include "nccl_core/resource_layout.h"

namespace cuco::loopback {
namespace {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;

int result(Code code) {
  return static_cast<int>(code);
}

/// A call that all ranks make: `part` is this rank's share, `conclude` acts for all.
template <typename Part, typename Conclude, typename Finish>
Code meet(ncclComm* comm,
          const char* name,
          std::shared_ptr<Part> part,
          Conclude conclude,
          Finish finish) {
  if (comm->clique == nullptr)
    return fail(comm, {Code::InvalidArgument, std::string(name) + ": communicator not ready"});
  if (const Check broken = comm->clique->why_broken()) return fail(comm, *broken);
  return submit(SetUp{comm,
                      [comm, name, part, conclude](Check* problem) {
                        auto meeting = comm->clique->next_meeting(comm->rank, name);
                        *problem = meeting->arrive(comm->rank, name, part, conclude);
                        return meeting;
                      },
                      [part, finish](const Check& problem) {
                        if (!problem) finish(*part);
                      }});
}

struct WindowPart {
  WindowRequest request;
  Address description = 0;
};

Check register_windows(const std::shared_ptr<Clique>& clique,
                       const std::vector<std::shared_ptr<void>>& parts) {
  std::vector<WindowRequest> requests;
  for (const auto& part : parts)
    requests.push_back(static_cast<WindowPart*>(part.get())->request);
  const Windows::Registered registered = Windows::get().add(clique, requests);
  if (registered.problem) return registered.problem;
  clique->has_windows = true;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    static_cast<WindowPart*>(parts[rank].get())->description =
        registered.window->descriptions[rank];
  }
  return std::nullopt;
}

struct DevCommPart {
  DevCommRequest request;
  DevCommAnswer answer;
};

Check create_dev_comms(const std::shared_ptr<Clique>& clique,
                       const std::vector<std::shared_ptr<void>>& parts) {
  std::vector<DevCommRequest> requests;
  for (const auto& part : parts)
    requests.push_back(static_cast<DevCommPart*>(part.get())->request);
  DevComms::Created created = DevComms::get().create(clique, requests);
  if (created.problem) return created.problem;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    static_cast<DevCommPart*>(parts[rank].get())->answer = std::move(created.answers[rank]);
  return std::nullopt;
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
  auto part = std::make_shared<DevCommPart>();
  DevCommRequest& request = part->request;
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
  return meet(
      comm, "ncclDevCommCreate", part,
      [clique = comm->clique](const auto& parts) { return create_dev_comms(clique, parts); },
      [out, first = wanted.resources](const DevCommPart& done) {
        *out = done.answer.comm;
        fill(done.answer, first);
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
  return comm->rank % comm->clique->lsa_size;
}

}  // namespace
}  // namespace cuco::loopback

namespace abi = cuco::nccl_core::abi_2_28;
using cuco::loopback::Machine;
using cuco::loopback::Memory;
using cuco::loopback::result;
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
  auto part = std::make_shared<cuco::loopback::WindowPart>();
  part->request = {reinterpret_cast<CUdeviceptr>(buffer), bytes};
  return result(cuco::loopback::meet(
      comm, "ncclCommWindowRegister", part,
      [clique = comm->clique](const auto& parts) {
        return cuco::loopback::register_windows(clique, parts);
      },
      [window](const cuco::loopback::WindowPart& done) {
        *window = reinterpret_cast<void*>(done.description);
      }));
}

CUCO_NCCL_EXPORT(int, ncclCommWindowDeregister, (ncclComm * comm, void* window)) {
  if (comm == nullptr) return result(Code::InvalidArgument);
  if (window == nullptr) return 0;
  if (cuco::loopback::Windows::get().release(*comm->clique, comm->rank,
                                             reinterpret_cast<std::uint64_t>(window))) {
    return 0;
  }
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
  if (cuco::loopback::DevComms::get().release(*comm->clique, comm->rank,
                                              dev_comm->resource_window)) {
    return 0;
  }
  return result(cuco::loopback::fail(
      comm, {Code::InvalidArgument, "ncclDevCommDestroy: not a device communicator of this rank"}));
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamWorld, (ncclComm * comm)) {
  return {comm->ranks, comm->rank, 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamLsa, (ncclComm * comm)) {
  return {comm->clique->lsa_size, cuco::loopback::lsa_rank(comm), 1};
}

CUCO_NCCL_EXPORT(abi::Team, ncclTeamRail, (ncclComm * comm)) {
  const int size = comm->clique->lsa_size;
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
