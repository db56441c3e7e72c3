// SPDX-License-Identifier: Apache-2.0
/// \file
/// Symmetric memory windows: registration, the flat address space of load/store teams, multicast,
/// and the descriptions that kernels read.
///
/// Every window of a team gets one offset of the flat space, which nobody else uses; rank r's copy
/// is mapped at slot r of that offset. A kernel that computes the address of a rank outside its
/// team therefore finds nothing there, and explain() can say whose memory it wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "nccl_core/abi_2_28.h"
#include "vcluster/nccl/nccl_clique.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

/// Hands out offsets of the flat space, first fit.
class FlatSpace {
 public:
  /// nullopt: all 64 GiB of a slot are in use.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  void free(std::uint64_t offset);

 private:
  std::map<std::uint64_t, std::uint64_t> used_;  ///< offset -> bytes
};

/// One rank's copy of a window.
struct WindowCopy {
  vgpu::Address address = 0;  ///< What the program registered.
  vgpu::Address mapped = 0;   ///< Base of the pages that are mapped into the flat space.
  std::uint64_t mapped_bytes = 0;
  vgpu::Address description = 0;  ///< struct ncclWindow_vidmem in device memory.
  bool is_registered = true;      ///< Until its rank deregisters it.
};

/// A window of a whole communicator.
struct NcclWindowSet {
  std::uint64_t number = 0;  ///< What GIN descriptors call it.
  Clique* clique = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset_in_pages = 0;          ///< Of the window in its mapped pages.
  std::vector<WindowCopy> copies;             ///< By rank.
  std::vector<std::uint64_t> team_offsets;    ///< By team: offset in the flat space.
  std::vector<vgpu::Address> team_multicast;  ///< By team; 0: none.
};

/// What one rank wants to register.
struct WindowRequest {
  vgpu::Address address = 0;
  std::uint64_t bytes = 0;
};

class WindowRegistry {
 public:
  WindowRegistry(vgpu::Memory& memory, const fabric::Topology& topology)
      : memory_(memory), topology_(topology) {}

  /// ncclMemAlloc: whole pages, so that they can be mapped into the flat space.
  Result<vgpu::Address> allocate(unsigned device, std::uint64_t bytes);
  /// Memory of allocate() that NCCL's own device code uses.
  void keep_for_library(vgpu::Address address) { memory_.give_to_library(address); }
  /// False: not memory of allocate().
  bool free(vgpu::Address address);

  /// Registers one range per rank.
  struct Registered {
    NcclWindowSet* window = nullptr;
    nccl_core::Check problem;
  };
  Registered add(Clique& clique, const std::vector<WindowRequest>& requests);
  /// The rank's memory behind the window.
  [[nodiscard]] std::optional<WindowRequest> range_of(const Clique& clique,
                                                      int rank,
                                                      vgpu::Address description);
  /// Is all of the rank's range in one window of the communicator?
  [[nodiscard]] bool holds(const Clique& clique,
                           int rank,
                           vgpu::Address address,
                           std::uint64_t bytes) const;
  /// One rank lets go; the last one unmaps it. False: no such window of that rank, or not any more.
  bool release(const Clique& clique, int rank, vgpu::Address description);

  [[nodiscard]] NcclWindowSet* find(std::uint64_t number);
  [[nodiscard]] NcclWindowSet* find_by_description(const Clique& clique,
                                                   int rank,
                                                   vgpu::Address description);
  /// The rank's description as it stands in device memory.
  [[nodiscard]] nccl_core::abi_2_28::Window describe(const NcclWindowSet& window, int rank) const;
  /// The list that ncclFindWindow walks, for one rank; made on demand and kept up to date.
  Result<vgpu::Address> table(Clique& clique, int rank);

  /// The base that a window's multicast offset counts from, the same for all teams.
  [[nodiscard]] static vgpu::Address multicast_base() { return vgpu::kMulticastBase; }
  /// Says whose window a flat address would have been, for a trap of a kernel on `device`.
  [[nodiscard]] std::optional<std::string> explain(vgpu::Address address, int device) const;

 private:
  nccl_core::Check check(const Clique& clique, const std::vector<WindowRequest>& requests) const;
  Result<void> map(NcclWindowSet& window);
  Result<void> write_descriptions(NcclWindowSet& window);
  void unmap(NcclWindowSet& window);
  void refresh_tables(const Clique& clique);

  vgpu::Memory& memory_;
  const fabric::Topology& topology_;
  FlatSpace flat_;
  std::map<vgpu::Address, std::uint64_t> allocations_;
  std::map<std::uint64_t, std::unique_ptr<NcclWindowSet>> windows_;
  std::map<std::pair<std::uint64_t, int>, std::vector<vgpu::Address>> tables_;
  std::uint64_t next_number_ = 1;
};

}  // namespace cuco::vcluster
