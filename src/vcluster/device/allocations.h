// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory that processes asked for: what the server knows about it beyond vgpu::Memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "check/finding/finding.h"
#include "shims/wire/messages_memory.h"
#include "vcluster/core/work.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/client_process.h"

namespace cuco::vcluster {

class GraphMemory;
class RunCheck;

struct Allocation {
  std::uint64_t bytes = 0;
  wire::MemoryKind kind = wire::MemoryKind::Device;
  std::int32_t device = 0;
  std::uint32_t flags = 0;
  std::uint32_t process = 0;
  std::uint64_t pool = 0;
  std::uint64_t number = 0;      ///< Of all that there ever were; by process, then by order.
  std::uint32_t imports = 0;     ///< Other processes that opened it.
  GraphMemory* graph = nullptr;  ///< The node that it belongs to, if any.
  bool orphaned = false;         ///< Its graph is gone; work in flight may still use it.
};

class Allocations {
 public:
  /// `check` is null in an ordinary run.
  Allocations(const Devices& devices, const WorkGraph& works, RunCheck* check)
      : devices_(devices), works_(works), check_(check) {}

  [[nodiscard]] const std::map<std::uint64_t, Allocation>& all() const { return allocations_; }
  /// The one that begins at the address; null: none.
  [[nodiscard]] Allocation* find(std::uint64_t address);
  [[nodiscard]] const Allocation* find(std::uint64_t address) const;
  /// The one that holds the address.
  [[nodiscard]] const Allocation* holder(std::uint64_t address,
                                         std::uint64_t* base = nullptr) const;
  /// May a request of this process touch these bytes? Exact to the byte for allocations.
  [[nodiscard]] bool accessible(const Process& process,
                                std::uint64_t address,
                                std::uint64_t bytes) const;

  /// The CUDA error of the call, or the address.
  struct Made {
    std::int32_t status = 0;
    std::uint64_t address = 0;
  };
  [[nodiscard]] Made make(Process& process, const wire::Allocate& request);
  /// From now on only device memory is given out: judged ranks get no other.
  void forbid_host_memory() { device_only_ = true; }
  /// Enters memory that somebody else has taken: a module's variable, a window.
  void add(std::uint64_t address, Allocation allocation) {
    // Processes ask at the same time, so that only the order within one is the same every time.
    allocation.number = (std::uint64_t{allocation.process} << 32U) + ++made_[allocation.process];
    allocations_[address] = allocation;
  }
  /// Takes it out of the list; the memory itself stays.
  void erase(std::uint64_t address) { allocations_.erase(address); }
  /// Gives the memory back; a checked run keeps it aside for a while, so that uses after it are
  /// found. `call` is where the program freed it.
  void release(std::uint64_t address, const std::shared_ptr<const check::Site>& call) const;
  void release(std::uint64_t address) const { release(address, works_.host.call); }
  /// The process is gone, and with it all that nobody else has opened.
  void abandon(const Process& process);

 private:
  void report(const Process& process, const wire::Allocate& request, std::uint64_t address) const;

  const Devices& devices_;
  const WorkGraph& works_;
  RunCheck* check_;
  std::map<std::uint64_t, Allocation> allocations_;  ///< By base address.
  std::map<std::uint32_t, std::uint64_t> made_;      ///< By process: how many so far.
  bool device_only_ = false;
};

}  // namespace cuco::vcluster
