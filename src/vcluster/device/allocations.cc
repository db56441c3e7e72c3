// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/allocations.h"

#include <algorithm>

#include "shims/wire/status.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

/// cudaMalloc promises 256; 512 is what it gives.
constexpr std::uint64_t kDeviceAlignment = 512;
constexpr std::uint64_t kPage = 4096;
/// Between allocations of a checked run: an index that runs a little too far meets nobody else's.
constexpr std::uint64_t kGuard = std::uint64_t{64} << 10U;

}  // namespace

Allocation* Allocations::find(std::uint64_t address) {
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? nullptr : &found->second;
}

const Allocation* Allocations::find(std::uint64_t address) const {
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? nullptr : &found->second;
}

const Allocation* Allocations::holder(std::uint64_t address, std::uint64_t* base) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  --after;
  if (address - after->first >= std::max<std::uint64_t>(after->second.bytes, 1)) return nullptr;
  if (base != nullptr) *base = after->first;
  return &after->second;
}

bool Allocations::accessible(const Process& process,
                             std::uint64_t address,
                             std::uint64_t bytes) const {
  std::uint64_t base = 0;
  if (const Allocation* allocation = holder(address, &base)) {
    // All processes' memory has an address here; on a real machine only what was shared has one.
    if (allocation->process != process.index && allocation->imports == 0) return false;
    return bytes <= allocation->bytes - (address - base);
  }
  // Variables of modules and views of windows are known to the memory alone.
  return address + bytes >= address && devices_.memory().valid(address, bytes);
}

void Allocations::report(const Process& process,
                         const wire::Allocate& request,
                         std::uint64_t address) const {
  const int rank = check_->rank_of(process, request.device);
  if (request.kind == wire::MemoryKind::Device) {
    return check_->allocated(address, request.bytes, "cudaMalloc", rank);
  }
  // The host may write it unseen.
  const bool is_managed = request.kind == wire::MemoryKind::Managed;
  check_->shares_memory(is_managed ? "managed" : "pinned");
  check_->allocated_written(address, request.bytes,
                            is_managed ? "cudaMallocManaged" : "cudaMallocHost", rank);
}

Allocations::Made Allocations::make(Process& process, const wire::Allocate& request) {
  if (!process.sees(request.device)) return {wire::kInvalidDevice, 0};
  const bool on_device = request.kind == wire::MemoryKind::Device;
  if (device_only_ && !on_device) return {wire::kNotSupported, 0};
  vgpu::Memory& memory = devices_.memory();
  const auto device = static_cast<unsigned>(request.device);
  const std::uint64_t capacity = devices_.description().memory_bytes;
  const std::uint64_t used = memory.allocated_bytes(device);
  if (on_device && (used > capacity || request.bytes > capacity - used)) {
    return {wire::kMemoryAllocation, 0};
  }
  if (request.bytes > vgpu::kHostStride) return {wire::kMemoryAllocation, 0};
  const std::uint64_t guard = check_ != nullptr ? kGuard : 0;
  // Host memory is mapped by the process page by page.
  const auto address =
      on_device
          ? memory.allocate(device, request.bytes + guard, kDeviceAlignment)
          : memory.allocate_host(process.index, (request.bytes + kPage - 1) / kPage * kPage, kPage);
  if (!address) return {wire::kMemoryAllocation, 0};
  add(*address, {.bytes = request.bytes,
                 .kind = request.kind,
                 .device = request.device,
                 .flags = request.flags,
                 .process = process.index});
  if (check_ != nullptr) report(process, request, *address);
  return {wire::kSuccess, *address};
}

void Allocations::release(std::uint64_t address,
                          const std::shared_ptr<const check::Site>& call) const {
  if (check_ != nullptr) return check_->freed(address, call);
  // It was checked when the call was made; a second free of it finds nothing.
  (void)devices_.memory().free(address).has_value();
}

// What other processes have opened stays: on a real machine the import keeps it alive.
void Allocations::abandon(const Process& process) {
  std::vector<std::uint64_t> mine;
  for (const auto& [base, allocation] : allocations_) {
    if (allocation.process == process.index && allocation.imports == 0) mine.push_back(base);
  }
  for (const std::uint64_t base : mine) {
    const GraphMemory* graph = allocations_[base].graph;
    const bool is_in_use = graph == nullptr || graph->live;
    // An allocation that the memory no longer knows cannot be leaked either.
    (void)devices_.memory().free(base).has_value();
    allocations_.erase(base);
    if (check_ != nullptr) check_->abandoned(base, process.said_goodbye && is_in_use);
  }
}

}  // namespace cuco::vcluster
