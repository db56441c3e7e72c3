// SPDX-License-Identifier: Apache-2.0
// Addresses and memory apart from each other (cuMemAddressReserve, cuMemCreate, cuMemMap).
//
// A reserved range is memory of the device that is current then, whole from the start: mapping
// memory of that device into it is a matter of book-keeping. Memory of another device, of another
// process or mapped twice would need pages that can move, and is refused by name.
#include <algorithm>
#include <map>
#include <mutex>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

extern "C" cuco::cudart::Error cudaMalloc(void** pointer, std::size_t bytes);
extern "C" cuco::cudart::Error cudaFree(void* pointer);

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20U;

/// CUmemAllocationProp
struct AllocationProperties {
  int type;
  int handle_types;
  MemoryLocation location;
  void* security;
  unsigned char flags[8];
};

struct PhysicalMemory {
  AllocationProperties properties;
  std::size_t bytes = 0;
  unsigned references = 1;  ///< The program's, and one for each mapping.
  bool is_mapped = false;
};

struct Mapping {
  std::size_t bytes = 0;
  PhysicalMemory* memory = nullptr;
};

struct Range {
  std::size_t bytes = 0;
  int device = 0;
};

/// Never destroyed: static destructors of the program still call us.
struct State {
  std::mutex mutex;
  std::map<DevicePointer, Range> ranges;
  std::map<DevicePointer, Mapping> mappings;
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

void release(PhysicalMemory* memory) {
  if (--memory->references == 0) delete memory;
}

/// The range that holds these bytes; null: none does.
const Range* find_range(DevicePointer at, std::size_t bytes) {
  const auto next = state().ranges.upper_bound(at);
  if (next == state().ranges.begin()) return nullptr;
  const auto& [base, range] = *std::prev(next);
  return at - base <= range.bytes && bytes <= range.bytes - (at - base) ? &range : nullptr;
}

bool overlaps(DevicePointer at, std::size_t bytes) {
  return std::any_of(state().mappings.begin(), state().mappings.end(), [&](const auto& one) {
    return one.first < at + bytes && at < one.first + one.second.bytes;
  });
}

}  // namespace

CUCO_DRIVER Error cuMemGetAllocationGranularity(std::size_t* granularity,
                                                const AllocationProperties* properties,
                                                int /*option*/) {
  if (granularity == nullptr || properties == nullptr) return kInvalidValue;
  *granularity = kGranularity;
  return 0;
}

CUCO_DRIVER Error cuMemAddressReserve(DevicePointer* at,
                                      std::size_t bytes,
                                      std::size_t alignment,
                                      DevicePointer /*wish*/,
                                      unsigned long long flags) {
  if (const Error status = initialised(); status != 0) return status;
  if (at == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0) return kInvalidValue;
  if (alignment > kGranularity) return unsupported("an alignment of more than 2 MiB");
  void* memory = nullptr;
  if (const Error status = cudaMalloc(&memory, bytes); status != 0) return result_of(status);
  Range range{.bytes = bytes};
  (void)cudaGetDevice(&range.device);
  *at = reinterpret_cast<DevicePointer>(memory);
  const std::lock_guard lock(state().mutex);
  state().ranges[*at] = range;
  return 0;
}

CUCO_DRIVER Error cuMemAddressFree(DevicePointer at, std::size_t bytes) {
  {
    const std::lock_guard lock(state().mutex);
    const auto range = state().ranges.find(at);
    if (range == state().ranges.end() || range->second.bytes != bytes || overlaps(at, bytes)) {
      return kInvalidValue;
    }
    state().ranges.erase(range);
  }
  return result_of(cudaFree(reinterpret_cast<void*>(at)));
}

CUCO_DRIVER Error cuMemCreate(PhysicalMemory** handle,
                              std::size_t bytes,
                              const AllocationProperties* properties,
                              unsigned long long flags) {
  if (const Error status = initialised(); status != 0) return status;
  constexpr int kOnDevice = 1;
  if (handle == nullptr || properties == nullptr || bytes == 0 || bytes % kGranularity != 0 ||
      flags != 0) {
    return kInvalidValue;
  }
  if (properties->location.type != kOnDevice) return unsupported("cuMemCreate of host memory");
  int count = 0;
  if (cudaGetDeviceCount(&count) != 0 || properties->location.id >= count) return 101;
  *handle = new PhysicalMemory{.properties = *properties, .bytes = bytes};
  return 0;
}

CUCO_DRIVER Error cuMemRelease(PhysicalMemory* handle) {
  if (handle == nullptr) return kInvalidValue;
  const std::lock_guard lock(state().mutex);
  release(handle);
  return 0;
}

CUCO_DRIVER Error cuMemMap(DevicePointer at,
                           std::size_t bytes,
                           std::size_t offset,
                           PhysicalMemory* handle,
                           unsigned long long flags) {
  if (handle == nullptr || bytes == 0 || offset != 0 || flags != 0 || bytes != handle->bytes) {
    return kInvalidValue;
  }
  const std::lock_guard lock(state().mutex);
  const Range* range = find_range(at, bytes);
  if (range == nullptr || overlaps(at, bytes)) return kInvalidValue;
  if (range->device != handle->properties.location.id) {
    return unsupported("cuMemMap of another device's memory");
  }
  if (handle->is_mapped) return unsupported("cuMemMap of memory that was mapped before");
  handle->is_mapped = true;
  ++handle->references;
  state().mappings[at] = {.bytes = bytes, .memory = handle};
  return 0;
}

CUCO_DRIVER Error cuMemUnmap(DevicePointer at, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  auto mapping = state().mappings.lower_bound(at);
  if (mapping == state().mappings.end() || mapping->first >= at + bytes) return kInvalidValue;
  while (mapping != state().mappings.end() && mapping->first < at + bytes) {
    release(mapping->second.memory);
    mapping = state().mappings.erase(mapping);
  }
  return 0;
}

CUCO_DRIVER Error cuMemSetAccess(DevicePointer at,
                                 std::size_t bytes,
                                 const cuco::cudart::MemoryAccess* access,
                                 std::size_t count) {
  int owner = 0;
  {
    const std::lock_guard lock(state().mutex);
    const Range* range = find_range(at, bytes);
    if (range == nullptr || !overlaps(at, bytes) || access == nullptr) return kInvalidValue;
    owner = range->device;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.id == owner || access[i].flags == 0) continue;
    const OnDevice on(access[i].location.id);
    constexpr Error kAlready = 704;  // cudaErrorPeerAccessAlreadyEnabled
    const Error status = cudaDeviceEnablePeerAccess(owner, 0);
    if (status != 0 && result_of(status) != kAlready) return result_of(status);
  }
  return 0;
}

CUCO_DRIVER Error cuMemGetAccess(unsigned long long* flags,
                                 const MemoryLocation* location,
                                 DevicePointer at) {
  if (flags == nullptr || location == nullptr) return kInvalidValue;
  const std::lock_guard lock(state().mutex);
  *flags = overlaps(at, 1) ? 3 : 0;
  return 0;
}

CUCO_DRIVER Error cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties,
                                                         const PhysicalMemory* handle) {
  if (properties == nullptr || handle == nullptr) return kInvalidValue;
  *properties = handle->properties;
  return 0;
}

CUCO_DRIVER Error cuMemRetainAllocationHandle(PhysicalMemory** handle, void* address) {
  if (handle == nullptr) return kInvalidValue;
  const std::lock_guard lock(state().mutex);
  const auto at = reinterpret_cast<DevicePointer>(address);
  for (const auto& [base, mapping] : state().mappings) {
    if (at < base || at >= base + mapping.bytes) continue;
    *handle = mapping.memory;
    ++mapping.memory->references;
    return 0;
  }
  return kInvalidValue;
}
