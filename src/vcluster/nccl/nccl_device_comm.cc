// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_device_comm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "vcluster/watch/run_check.h"

namespace cuco::vcluster {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;
using nccl_core::ResourceLayout;
using nccl_core::ResourceNeed;
using vgpu::Address;

namespace {

/// The library's own consumers come first, in this order, then the caller's. A guard is behind
/// each.
constexpr std::size_t kRailGinBarrier = 0;
constexpr std::size_t kLsaBarrier = 1;
constexpr std::size_t kOwnNeeds = 2;
/// Nobody has this: who writes here uses a barrier that was not asked for. Larger than any index
/// that blocks of one grid can have: 2112 blocks of 8 ranks.
constexpr ResourceNeed kGuardNeed{std::uint64_t{128} << 10U, 4, 0, 0};

bool same_team(const abi::Team& a, const abi::Team& b) {
  return a.n_ranks == b.n_ranks && a.stride == b.stride;
}

bool same_need(const ResourceNeed& a, const ResourceNeed& b) {
  return a.bytes == b.bytes && a.align == b.align && a.signals == b.signals &&
         a.counters == b.counters;
}

}  // namespace

bool DevCommRequest::operator==(const DevCommRequest& other) const {
  return lsa_barriers == other.lsa_barriers && rail_gin_barriers == other.rail_gin_barriers &&
         gin_signals == other.gin_signals && gin_counters == other.gin_counters &&
         lsa_multimem == other.lsa_multimem && gin_force == other.gin_force &&
         std::equal(needs.begin(), needs.end(), other.needs.begin(), other.needs.end(),
                    same_need) &&
         std::equal(multimem_teams.begin(), multimem_teams.end(), other.multimem_teams.begin(),
                    other.multimem_teams.end(), same_team);
}

Check DevCommRegistry::check(const Clique& clique,
                             const std::vector<DevCommRequest>& requests) const {
  const fabric::Topology& topology = fabric_.topology();
  const DevCommRequest& first = requests.front();
  for (std::size_t rank = 1; rank < requests.size(); ++rank) {
    if (requests[rank] == first) continue;
    return Problem{Code::InvalidUsage,
                   fmt::format("ncclDevCommCreate: rank {} asks for other resources than rank 0; "
                               "all ranks must pass the same requirements",
                               rank)};
  }
  const bool multimem = first.lsa_multimem || !first.multimem_teams.empty();
  if (multimem && (!topology.multicast || clique.lsa_size < 2)) {
    return Problem{
        Code::InvalidArgument,
        fmt::format("ncclDevCommCreate: multimem is not available: topology {} has {}; "
                    "set lsaMultimem only where the GPUs share a multicast switch",
                    topology.name,
                    topology.multicast ? "load/store teams of one rank" : "no multicast")};
  }
  for (const abi::Team& team : first.multimem_teams) {
    if (team.n_ranks == clique.lsa_size && team.stride == 1) continue;
    return Problem{Code::InvalidArgument,
                   fmt::format("ncclDevCommCreate: multimem is supported for the load/store team "
                               "({} ranks, stride 1) only, not for one of {} ranks, stride {}",
                               clique.lsa_size, team.n_ranks, team.stride)};
  }
  const bool several_domains = clique.lsa_size < clique.ranks();
  const bool gin = first.gin_force || first.gin_signals > 0 || first.gin_counters > 0;
  if ((gin || several_domains) && !topology.nic) {
    return Problem{
        Code::InvalidUsage,
        fmt::format("ncclDevCommCreate: GIN needs a NIC and topology {} has none; choose "
                    "one with a [nic] table or ask for no GIN resources",
                    topology.name)};
  }
  return std::nullopt;
}

DevCommRegistry::Created DevCommRegistry::create(Clique& clique,
                                                 const std::vector<DevCommRequest>& requests) {
  if (Check wrong = check(clique, requests)) return {{}, wrong};
  const DevCommRequest& request = requests.front();
  // Without NICs one context remains: the headers' barrier code reads it even on one node.
  const int contexts = fabric_.topology().nic ? abi::kMaxGinContexts : 1;
  std::vector<ResourceNeed> needs = {
      nccl_core::gin_barrier_need(request.rail_gin_barriers),
      nccl_core::lsa_barrier_need(request.lsa_barriers, clique.lsa_size)};
  needs.insert(needs.end(), request.needs.begin(), request.needs.end());
  std::vector<ResourceNeed> guarded;
  for (const ResourceNeed& need : needs) {
    guarded.push_back(need);
    guarded.push_back(kGuardNeed);
  }
  ResourceLayout layout =
      nccl_core::lay_out_resources(guarded, request.gin_signals, request.gin_counters, contexts);
  for (std::size_t i = 0; i < needs.size(); ++i)
    layout.grants[i] = layout.grants[2 * i];
  layout.grants.resize(needs.size());
  auto set = std::make_unique<DevCommSet>();
  set->clique = &clique;
  for (int rank = 0; rank < clique.ranks(); ++rank)
    set->users.insert(rank);
  set->lsa_barriers = Address{layout.grants[kLsaBarrier].handle} * abi::kResourceUnit;
  set->lsa_barrier_bytes = needs[kLsaBarrier].bytes;
  Result<void> made = make_resources(*set, layout.bytes);
  if (made && clique.lsa_size > 1) guard_resources(*set, needs, layout);
  if (made) made = make_gin(*set, contexts, request.rail_gin_barriers, layout);
  Created created;
  for (int rank = 0; made && rank < clique.ranks(); ++rank) {
    Result<DevCommAnswer> answer = fill(*set, rank, request, layout);
    if (answer) {
      created.answers.push_back(*std::move(answer));
    } else {
      made = std::move(answer).error();
    }
  }
  if (!made) {
    destroy(*set);
    return {{}, Problem{Code::SystemError, "ncclDevCommCreate: " + made.error().message()}};
  }
  if (gin_services_.check != nullptr) tell_check(*set, layout);
  sets_.push_back(std::move(set));
  return created;
}

Result<void> DevCommRegistry::make_resources(DevCommSet& set, std::uint64_t bytes) {
  std::vector<WindowRequest> requests;
  for (int rank = 0; rank < set.clique->ranks(); ++rank) {
    CUCO_TRY_ASSIGN(const Address pages,
                    windows_.allocate(static_cast<unsigned>(set.clique->device_of(rank)), bytes));
    std::memset(vgpu::Memory::at(pages), 0, bytes);
    windows_.keep_for_library(pages);
    set.memory.push_back(pages);
    requests.push_back({pages, bytes});
  }
  const WindowRegistry::Registered registered = windows_.add(*set.clique, requests);
  if (registered.problem) return Error{ErrorKind::Unavailable, registered.problem->message};
  set.resources = registered.window;
  return {};
}

void DevCommRegistry::guard_resources(DevCommSet& set,
                                      const std::vector<ResourceNeed>& needs,
                                      const ResourceLayout& layout) {
  const auto team = static_cast<std::uint64_t>(set.clique->lsa_size);
  for (std::size_t i = kLsaBarrier; i < needs.size(); ++i) {
    // From the very end of the buffer: what aligns the guard is nobody's, too.
    const Address offset = Address{layout.grants[i].handle} * abi::kResourceUnit + needs[i].bytes;
    const std::uint64_t each = (3 + team) * 4;
    const bool may_be_barriers = needs[i].align <= 4 && needs[i].bytes % each == 0;
    const std::string what =
        i == kLsaBarrier ? fmt::format(
                               "a kernel uses an LSA barrier that {} does not have: its device "
                               "communicator has {}; ask for as many with lsaBarrierCount or "
                               "barrierCount as there are blocks that use one",
                               set.clique->name(), needs[i].bytes / each)
        : may_be_barriers
            ? fmt::format(
                  "a kernel uses an LSA barrier that its handle does not have: {} were "
                  "asked for with ncclLsaBarrierCreateRequirement",
                  needs[i].bytes / each)
            : fmt::format("a kernel writes behind its resource buffer of {} bytes on {}",
                          needs[i].bytes, set.clique->name());
    set.guarded.push_back({offset, kGuardNeed.bytes, may_be_barriers, needs[i].bytes / each});
    guard(set, set.guarded.back(), what);
  }
}

void DevCommRegistry::guard(DevCommSet& set, const Guarded& range, const std::string& what) {
  const auto end_all = [this, devices = set.clique->devices(), what] {
    for (const int device : devices)
      gin_services_.fail_device(device, what);
  };
  const auto said = std::make_shared<bool>(false);  // shared by the guards of all ranks
  for (const Address memory : set.memory) {
    set.guards.push_back(
        memory_.watch(memory + range.offset, range.bytes, [this, end_all, said](VTime when) {
          // Once, and not at once: the kernel is in the middle of an instruction.
          if (!std::exchange(*said, true)) gin_services_.timeline.at(when, end_all);
        }));
  }
}

Result<void> DevCommRegistry::make_gin(DevCommSet& set,
                                       int contexts,
                                       int rail_barriers,
                                       const ResourceLayout& layout) {
  set.gin = std::make_shared<GinTeam>();
  set.gin->clique = set.clique;
  set.gin->first_rail_signal = layout.grants[kRailGinBarrier].first_signal;
  set.gin->rail_barriers = static_cast<std::uint32_t>(rail_barriers);
  for (int rank = 0; rank < set.clique->ranks(); ++rank) {
    CUCO_TRY_ASSIGN(GinLayout rank_layout,
                    lay_out_gin(memory_, static_cast<unsigned>(set.clique->device_of(rank)),
                                set.clique->ranks(), contexts, layout.signals, layout.counters));
    set.gin->layouts.push_back(std::move(rank_layout));
  }
  if (!fabric_.topology().nic) return {};
  for (int rank = 0; rank < set.clique->ranks(); ++rank) {
    set.nics.push_back(std::make_unique<GinNic>(rank, set.gin, gin_services_));
  }
  return {};
}

Result<DevCommAnswer> DevCommRegistry::fill(const DevCommSet& set,
                                            int rank,
                                            const DevCommRequest& request,
                                            const ResourceLayout& layout) {
  Clique& clique = *set.clique;
  const GinLayout& gin = set.gin->layouts[static_cast<std::size_t>(rank)];
  DevCommAnswer answer;
  abi::DevComm& comm = answer.comm;
  comm.rank = rank;
  comm.n_ranks = clique.ranks();
  comm.n_ranks_rcp32 = abi::reciprocal_32(static_cast<std::uint32_t>(clique.ranks()));
  comm.lsa_rank = rank % clique.lsa_size;
  comm.lsa_size = clique.lsa_size;
  comm.lsa_size_rcp32 = abi::reciprocal_32(static_cast<std::uint32_t>(clique.lsa_size));
  CUCO_TRY_ASSIGN(comm.window_table, windows_.table(clique, rank));
  comm.resource_window = set.resources->copies[static_cast<std::size_t>(rank)].description;
  comm.resource_window_inlined = windows_.describe(*set.resources, rank);
  if (request.lsa_multimem) comm.lsa_multimem.mc_base = WindowRegistry::multicast_base();
  comm.lsa_barrier = {layout.grants[kLsaBarrier].handle, request.lsa_barriers};
  comm.rail_gin_barrier = {layout.grants[kRailGinBarrier].first_signal,
                           layout.grants[kRailGinBarrier].handle};
  comm.gin_context_count = static_cast<std::uint8_t>(gin.contexts.size());
  for (std::size_t i = 0; i < gin.contexts.size(); ++i) {
    comm.gin_types[i] = abi::kGinTypeProxy;
    comm.gin_handles[i] = gin.handles[i];
  }
  comm.gin_signal_count = static_cast<std::int32_t>(layout.signals);
  comm.gin_counter_count = static_cast<std::int32_t>(layout.counters);
  comm.gin_signal_shadows = set.memory[static_cast<std::size_t>(rank)] + layout.shadow_offset;
  answer.grants.assign(layout.grants.begin() + kOwnNeeds, layout.grants.end());
  answer.team_multicast.assign(request.multimem_teams.size(), WindowRegistry::multicast_base());
  return answer;
}

void DevCommRegistry::tell_check(const DevCommSet& set, const ResourceLayout& layout) const {
  using Region = check::Region;
  check::Communication& communication = gin_services_.check->checker.communication();
  for (int rank = 0; rank < set.clique->ranks(); ++rank) {
    Address owner = set.memory[static_cast<std::size_t>(rank)];
    const auto add = [&](Region::Kind kind, Address base, std::uint64_t bytes) {
      if (bytes != 0)
        communication.add_region({kind, base, bytes, rank, set.clique->name()}, owner);
    };
    const Address pages = set.memory[static_cast<std::size_t>(rank)];
    // What lies between the guards; a region is found by its base.
    Address end = pages;
    for (const Guarded& range : set.guarded) {
      add(Region::Kind::Barriers, end, pages + range.offset - end);
      end = pages + range.offset + range.bytes;
      const auto stride =
          range.are_barriers ? static_cast<std::uint64_t>(set.clique->lsa_size) * 4 : 0;
      communication.add_region({Region::Kind::Guard, pages + range.offset, range.bytes, rank,
                                set.clique->name(), range.barriers, stride},
                               owner);
    }
    add(Region::Kind::Barriers, end, pages + layout.bytes - end);
    const GinLayout& gin = set.gin->layouts[static_cast<std::size_t>(rank)];
    add(Region::Kind::Shadows, pages + layout.shadow_offset,
        std::uint64_t{layout.signals} * 8 * gin.contexts.size());
    owner = gin.base;
    for (const abi::GinProxyContext& context : gin.contexts) {
      add(Region::Kind::Signals, context.signals, std::uint64_t{layout.signals} * 8);
      add(Region::Kind::Counters, context.counters, std::uint64_t{layout.counters} * 8);
    }
  }
}

bool DevCommRegistry::release(const Clique& clique, int rank, Address resource_window) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) {
    return set->clique == &clique &&
           set->resources->copies[static_cast<std::size_t>(rank)].description == resource_window;
  });
  if (found == sets_.end() || !(*found)->users.contains(rank)) return false;
  if (gin_services_.check != nullptr && (*found)->gin != nullptr && !(*found)->nics.empty()) {
    gin_services_.check->communicator_destroyed((*found)->gin->layouts.front().base, rank);
  }
  (*found)->users.erase(rank);
  if (!(*found)->users.empty()) return true;
  destroy(**found);
  sets_.erase(found);
  return true;
}

void DevCommRegistry::destroy(DevCommSet& set) {
  set.nics.clear();
  for (const vgpu::WatchId guard : set.guards)
    memory_.unwatch(guard);
  if (set.resources != nullptr) {
    for (int rank = 0; rank < set.clique->ranks(); ++rank) {
      windows_.release(*set.clique, rank,
                       set.resources->copies[static_cast<std::size_t>(rank)].description);
    }
  }
  std::vector<Address> bases = set.memory;
  for (const Address pages : set.memory)
    windows_.free(pages);
  if (set.gin != nullptr) {
    for (const GinLayout& layout : set.gin->layouts) {
      bases.push_back(layout.base);
      (void)memory_.free(layout.base);
    }
  }
  if (gin_services_.check == nullptr) return;
  for (const Address base : bases)
    gin_services_.check->checker.communication().remove_regions_of(base);
}

std::optional<std::string> DevCommRegistry::identify(Address address) const {
  const auto inside = [address](Address base, std::uint64_t bytes) {
    return address >= base && address - base < bytes;
  };
  const auto value = [address] {
    std::uint64_t now = 0;
    std::memcpy(&now, vgpu::Memory::at(address / 8 * 8), sizeof now);
    return now;
  };
  for (const auto& set : sets_) {
    const std::string owner = " on " + set->clique->name();
    for (std::size_t rank = 0; rank < set->memory.size(); ++rank) {
      if (inside(set->memory[rank] + set->lsa_barriers, set->lsa_barrier_bytes)) {
        return fmt::format("an LSA barrier of rank {}{}", rank, owner);
      }
      const GinLayout& gin = set->gin->layouts[rank];
      for (std::size_t i = 0; i < gin.contexts.size(); ++i) {
        const abi::GinProxyContext& context = gin.contexts[i];
        if (inside(context.signals, std::uint64_t{gin.signals} * 8)) {
          return fmt::format("signal {} of rank {}{} (context {}, now {})",
                             (address - context.signals) / 8, rank, owner, i, value());
        }
        if (inside(context.counters, std::uint64_t{gin.counters} * 8)) {
          return fmt::format("counter {} of rank {}{} (context {}, now {})",
                             (address - context.counters) / 8, rank, owner, i, value());
        }
        if (inside(context.consumer_indices, static_cast<std::uint64_t>(context.n_ranks) * 4)) {
          return fmt::format("completion of puts of rank {} to rank {}{} (context {})", rank,
                             (address - context.consumer_indices) / 4, owner, i);
        }
      }
      if (inside(gin.base, gin.bytes)) {
        return fmt::format(
            "a signal or counter that rank {}{} does not have: its device communicator has {} and "
            "{}; ask for as many as are used with ginSignalCount and ginCounterCount",
            rank, owner, gin.signals, gin.counters);
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> DevCommRegistry::describe_pending() const {
  std::vector<std::string> lines;
  for (const auto& set : sets_) {
    for (const auto& nic : set->nics) {
      const std::vector<std::string> more = nic->describe_pending();
      lines.insert(lines.end(), more.begin(), more.end());
    }
  }
  return lines;
}

}  // namespace cuco::vcluster
