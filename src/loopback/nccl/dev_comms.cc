// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/dev_comms.h"

#include <algorithm>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/nic.h"

namespace cuco::loopback {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;
using nccl_core::ResourceLayout;
using nccl_core::ResourceNeed;

namespace {

/// The library's own consumers come first, in this order, then the caller's.
constexpr std::size_t kRailGinBarrier = 0;
constexpr std::size_t kLsaBarrier = 1;
constexpr std::size_t kOwnNeeds = 2;

bool agree(const DevCommRequest& a, const DevCommRequest& b) {
  const auto same = [](const ResourceNeed& x, const ResourceNeed& y) {
    return x.bytes == y.bytes && x.align == y.align && x.signals == y.signals &&
           x.counters == y.counters;
  };
  return a.lsa_barriers == b.lsa_barriers && a.rail_gin_barriers == b.rail_gin_barriers &&
         a.gin_signals == b.gin_signals && a.gin_counters == b.gin_counters &&
         a.wants_multimem == b.wants_multimem &&
         std::equal(a.needs.begin(), a.needs.end(), b.needs.begin(), b.needs.end(), same);
}

Check check(const Clique& clique, const std::vector<DevCommRequest>& requests) {
  const DevCommRequest& first = requests.front();
  for (std::size_t rank = 1; rank < requests.size(); ++rank) {
    if (agree(requests[rank], first)) continue;
    return Problem{Code::InvalidUsage,
                   "ncclDevCommCreate: rank " + std::to_string(rank) +
                       " asks for other resources than rank 0; all ranks must pass the same "
                       "requirements"};
  }
  if (first.wants_multimem) {
    return Problem{Code::InvalidArgument,
                   "ncclDevCommCreate: multimem does not exist where all ranks share one GPU; use "
                   "load/store of each peer's window instead, or --on virtual"};
  }
  const bool gin = first.gin_force || first.gin_signals > 0 || first.gin_counters > 0 ||
                   clique.lsa_size < clique.ranks();
  if (gin && settings().network && !settings().network->nic) {
    return Problem{Code::InvalidUsage, "ncclDevCommCreate: GIN needs a NIC and topology " +
                                           settings().network->name + " has none"};
  }
  return std::nullopt;
}

}  // namespace

DevComms& DevComms::get() {
  static DevComms& dev_comms = *new DevComms;
  return dev_comms;
}

Check DevComms::make_resources(Set& set, std::uint64_t bytes) {
  std::vector<WindowRequest> requests;
  for (const int device : set.clique->devices) {
    CUdeviceptr memory = 0;
    if (const CUresult failed = Memory::get().allocate(&memory, device, bytes, true);
        failed != CUDA_SUCCESS) {
      return Problem{Code::SystemError,
                     std::string("ncclDevCommCreate: memory for resources: ") + text_of(failed)};
    }
    set.memory.push_back(memory);
    requests.push_back({memory, bytes});
    const std::vector<std::byte> zeros(bytes);
    Machine::get().upload(memory, zeros.data(), zeros.size());
  }
  const Windows::Registered registered = Windows::get().add(set.clique, requests);
  set.resources = registered.window;
  if (set.resources != nullptr) set.descriptions = set.resources->descriptions;
  return registered.problem;
}

DevComms::Created DevComms::create(const std::shared_ptr<Clique>& clique,
                                   const std::vector<DevCommRequest>& requests) {
  if (Check wrong = check(*clique, requests)) return {{}, wrong};
  const DevCommRequest& request = requests.front();
  const int contexts = abi::kMaxGinContexts;
  std::vector<ResourceNeed> needs = {
      nccl_core::gin_barrier_need(request.rail_gin_barriers),
      nccl_core::lsa_barrier_need(request.lsa_barriers, clique->lsa_size)};
  needs.insert(needs.end(), request.needs.begin(), request.needs.end());
  const ResourceLayout layout =
      nccl_core::lay_out_resources(needs, request.gin_signals, request.gin_counters, contexts);
  auto set = std::make_unique<Set>();
  set->clique = clique;
  set->users = clique->ranks();
  if (Check wrong = make_resources(*set, std::max<std::uint64_t>(layout.bytes, 1)))
    return {{}, wrong};
  set->gin = make_gin_set(clique, contexts, layout.signals, layout.counters);
  Nic::get().add(set->gin);
  Created created;
  for (int rank = 0; rank < clique->ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    DevCommAnswer& answer = created.answers.emplace_back();
    abi::DevComm& comm = answer.comm;
    comm.rank = rank;
    comm.n_ranks = clique->ranks();
    comm.n_ranks_rcp32 = abi::reciprocal_32(static_cast<std::uint32_t>(clique->ranks()));
    comm.lsa_rank = rank % clique->lsa_size;
    comm.lsa_size = clique->lsa_size;
    comm.lsa_size_rcp32 = abi::reciprocal_32(static_cast<std::uint32_t>(clique->lsa_size));
    comm.window_table = Windows::get().table(*clique, rank);
    comm.resource_window = set->descriptions[r];
    comm.resource_window_inlined = set->resources->contents[r];
    comm.lsa_barrier = {layout.grants[kLsaBarrier].handle, request.lsa_barriers};
    comm.rail_gin_barrier = {layout.grants[kRailGinBarrier].first_signal,
                             layout.grants[kRailGinBarrier].handle};
    comm.gin_context_count = static_cast<std::uint8_t>(contexts);
    for (int i = 0; i < contexts; ++i) {
      comm.gin_types[i] = abi::kGinTypeProxy;
      comm.gin_handles[i] = set->gin->ranks[r][static_cast<std::size_t>(i)].handle;
    }
    comm.gin_signal_count = static_cast<std::int32_t>(layout.signals);
    comm.gin_counter_count = static_cast<std::int32_t>(layout.counters);
    comm.gin_signal_shadows = set->memory[r] + layout.shadow_offset;
    answer.grants.assign(layout.grants.begin() + kOwnNeeds, layout.grants.end());
  }
  const std::lock_guard lock(mutex_);
  sets_.push_back(std::move(set));
  return created;
}

bool DevComms::release(const Clique& clique, int rank, Address resource_window) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) {
    return set->clique.get() == &clique &&
           set->descriptions[static_cast<std::size_t>(rank)] == resource_window;
  });
  if (found == sets_.end()) return false;
  if (--(*found)->users > 0) return true;
  Nic::get().remove((*found)->gin);
  for (int r = 0; r < clique.ranks(); ++r) {
    (void)Windows::get().release(clique, r, (*found)->descriptions[static_cast<std::size_t>(r)]);
  }
  for (const CUdeviceptr memory : (*found)->memory)
    (void)Memory::get().free(memory);
  sets_.erase(found);
  return true;
}

std::vector<std::shared_ptr<GinSet>> DevComms::gin_sets() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<GinSet>> result;
  for (const auto& set : sets_)
    result.push_back(set->gin);
  return result;
}

}  // namespace cuco::loopback
