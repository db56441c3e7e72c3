// SPDX-License-Identifier: Apache-2.0
/// \file
/// Device communicators: the resource window, barriers, GIN contexts and the struct that a program
/// passes to its kernels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nccl_core/abi_2_28.h"
#include "nccl_core/resource_layout.h"
#include "vcluster/nccl/nccl_clique.h"
#include "vcluster/nccl/nccl_gin.h"
#include "vcluster/nccl/nccl_window.h"

namespace cuco::vcluster {

/// ncclDevCommRequirements of one rank, without pointers.
struct DevCommRequest {
  int lsa_barriers = 0;
  int rail_gin_barriers = 0;
  std::uint32_t gin_signals = 0;
  std::uint32_t gin_counters = 0;
  bool lsa_multimem = false;
  bool gin_force = false;
  std::vector<nccl_core::ResourceNeed> needs;
  std::vector<nccl_core::abi_2_28::Team> multimem_teams;

  bool operator==(const DevCommRequest&) const;
};

/// What one rank gets back.
struct DevCommAnswer {
  nccl_core::abi_2_28::DevComm comm{};
  std::vector<nccl_core::ResourceGrant> grants;
  std::vector<vgpu::Address> team_multicast;  ///< Of the requested teams.
};

class DevCommRegistry {
 public:
  DevCommRegistry(vgpu::Memory& memory,
                  fabric::Fabric& fabric,
                  WindowRegistry& windows,
                  GinServices gin_services)
      : memory_(memory),
        fabric_(fabric),
        windows_(windows),
        gin_services_(std::move(gin_services)) {}

  struct Created {
    std::vector<DevCommAnswer> answers;  ///< By rank.
    nccl_core::Check problem;
  };
  /// Makes one for all ranks. The requests must agree.
  Created create(Clique& clique, const std::vector<DevCommRequest>& requests);
  /// One rank lets go. False: it has no such device communicator.
  bool release(const Clique& clique, int rank, vgpu::Address resource_window);

  [[nodiscard]] std::vector<std::string> describe_pending() const;
  /// "signal 0 of rank 1 on communicator 2 (context 0, now 3)", if that is what lies there.
  [[nodiscard]] std::optional<std::string> identify(vgpu::Address address) const;

 private:
  /// What lies behind a buffer of the resource window, and belongs to nobody.
  struct Guarded {
    vgpu::Address offset = 0;
    std::uint64_t bytes = 0;
    bool are_barriers = false;   ///< In front of it...
    std::uint64_t barriers = 0;  ///< ...and so many.
  };
  struct DevCommSet {
    Clique* clique = nullptr;
    NcclWindowSet* resources = nullptr;
    std::vector<vgpu::Address> memory;  ///< The resource windows' pages, by rank.
    vgpu::Address lsa_barriers = 0;     ///< Offset and size in the resource window.
    std::uint64_t lsa_barrier_bytes = 0;
    std::vector<Guarded> guarded;
    std::vector<vgpu::WatchId> guards;
    std::shared_ptr<GinTeam> gin;
    std::vector<std::unique_ptr<GinNic>> nics;  ///< By rank; empty without NICs.
    std::set<int> users;                        ///< Ranks that have not destroyed it.
  };

  nccl_core::Check check(const Clique& clique, const std::vector<DevCommRequest>& requests) const;
  Result<void> make_resources(DevCommSet& set, std::uint64_t bytes);
  void guard_resources(DevCommSet& set,
                       const std::vector<nccl_core::ResourceNeed>& needs,
                       const nccl_core::ResourceLayout& layout);
  void guard(DevCommSet& set, const Guarded& range, const std::string& what);
  Result<void> make_gin(DevCommSet& set,
                        int contexts,
                        int rail_barriers,
                        const nccl_core::ResourceLayout& layout);
  Result<DevCommAnswer> fill(const DevCommSet& set,
                             int rank,
                             const DevCommRequest& request,
                             const nccl_core::ResourceLayout& layout);
  void destroy(DevCommSet& set);
  /// Says which memory of theirs means what.
  void tell_check(const DevCommSet& set, const nccl_core::ResourceLayout& layout) const;

  vgpu::Memory& memory_;
  fabric::Fabric& fabric_;
  WindowRegistry& windows_;
  GinServices gin_services_;
  std::vector<std::unique_ptr<DevCommSet>> sets_;
};

}  // namespace cuco::vcluster
