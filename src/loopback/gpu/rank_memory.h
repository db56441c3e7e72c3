// SPDX-License-Identifier: Apache-2.0
/// \file
/// Device memory of the program. The runtime's cudaFree waits for all ranks, so that it would hang
/// where one spins until another comes; this waits for its own rank's streams, as on a GPU of one's
/// own.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "loopback/gpu/driver_calls.h"
#include "loopback/size_classes.h"

namespace cuco::loopback {

struct Allocation {
  CUdeviceptr base = 0;
  std::uint64_t bytes = 0;  ///< Whole pages.
  CUmemGenericAllocationHandle handle = 0;
  int rank = 0;
  bool can_be_window = false;  ///< Of ncclMemAlloc.
};

/// Who makes memory where it is not made here: ranks that are processes ask the network's.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual CUresult make(Allocation* out, std::uint64_t bytes, int rank, bool can_be_window) = 0;
  virtual void free(CUdeviceptr base) = 0;
};

/// Null: it is made here. Defined beside what connects the processes of a run.
[[nodiscard]] MemorySource* memory_source();

class Memory {
 public:
  static Memory& get();

  [[nodiscard]] CUresult allocate(CUdeviceptr* out,
                                  int rank,
                                  std::uint64_t bytes,
                                  bool can_be_window);
  /// False: not of here. The caller has waited for the rank's work.
  [[nodiscard]] bool free(CUdeviceptr address);
  /// The rank whose memory it is.
  [[nodiscard]] std::optional<int> owner_of(CUdeviceptr address);
  [[nodiscard]] std::optional<Allocation> find(CUdeviceptr address);
  /// Of any size, none of it shared with another. free() takes it, too.
  [[nodiscard]] CUresult allocate_pages(Allocation* out,
                                        int rank,
                                        std::uint64_t bytes,
                                        bool can_be_window);

  /// Pinned host memory is kept when freed, and handed out again.
  [[nodiscard]] void* take_host(std::uint64_t bytes, unsigned flags);
  void note_host(void* memory, std::uint64_t bytes, unsigned flags);
  [[nodiscard]] bool keep_host(void* memory);

 private:
  CUresult make(Allocation* out, std::uint64_t bytes, int rank, bool can_be_window);

  MemorySource* const source_ = memory_source();
  std::mutex mutex_;
  std::map<CUdeviceptr, Allocation> allocations_;
  std::map<int, SizeClasses> small_;  ///< By rank.
  struct HostPiece {
    std::uint64_t bytes = 0;
    unsigned flags = 0;
  };
  std::map<void*, HostPiece> host_used_;
  std::map<std::pair<std::uint64_t, unsigned>, std::vector<void*>> host_free_;
};

}  // namespace cuco::loopback
