// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "loopback/gpu/settings.h"

namespace cuco::loopback {
namespace {

// The driver gives a small range where it likes, but a large one where it is asked to (H200, driver
// 580). Far from what Linux and CUDA use by themselves.
constexpr std::uint64_t kBase = 0x2000'0000'0000;
constexpr std::uint64_t kBytes = std::uint64_t{16} << 40U;
constexpr std::uint64_t kHostBase = 0x1f00'0000'0000;
constexpr std::uint64_t kHostBytes = std::uint64_t{1} << 40U;

}  // namespace

Pages::Pages() : places_(kBase, kBytes), next_host_(kHostBase) {}

Pages& Pages::get() {
  static Pages& pages = *new Pages;
  return pages;
}

void Pages::share_with(Audience& audience) {
  audience_ = &audience;
}

void Pages::reserve_shared() {
  CUdeviceptr at = 0;
  must(driver().cuMemAddressReserve(&at, kBytes, 0, kBase, 0), "addresses for all processes");
  if (at != kBase) give_up("the driver has no free addresses that are the same in all processes");
}

bool Pages::is_shared(std::uint64_t address) {
  return (address >= kBase && address - kBase < kBytes) ||
         (address >= kHostBase && address - kHostBase < kHostBytes);
}

CUresult Pages::create(CUmemGenericAllocationHandle* out, std::uint64_t bytes, bool exportable) {
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (exportable || audience_ != nullptr)
    what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return driver().cuMemCreate(out, bytes, &what, 0);
}

void Pages::destroy(CUmemGenericAllocationHandle handle) {
  if (audience_ != nullptr) audience_->destroyed(handle);
  (void)driver().cuMemRelease(handle);
}

CUresult Pages::reserve(CUdeviceptr* out, std::uint64_t bytes, std::uint64_t alignment) {
  if (audience_ == nullptr) return driver().cuMemAddressReserve(out, bytes, alignment, 0, 0);
  const std::lock_guard lock(mutex_);
  const auto place = places_.take(bytes, alignment);
  if (!place) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = *place;
  return CUDA_SUCCESS;
}

void Pages::give_back(CUdeviceptr at, std::uint64_t bytes) {
  if (audience_ == nullptr) {
    (void)driver().cuMemAddressFree(at, bytes);
    return;
  }
  const std::lock_guard lock(mutex_);
  places_.give_back(at);
}

CUresult Pages::map_here(CUdeviceptr at, std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const Driver& d = driver();
  if (const CUresult failed = d.cuMemMap(at, bytes, 0, handle, 0); failed != CUDA_SUCCESS)
    return failed;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return d.cuMemSetAccess(at, bytes, &access, 1);
}

CUresult Pages::map(CUdeviceptr at, std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const CUresult result = map_here(at, bytes, handle);
  if (result == CUDA_SUCCESS && audience_ != nullptr) audience_->mapped(at, bytes, handle);
  return result;
}

void Pages::unmap(CUdeviceptr at, std::uint64_t bytes) {
  if (audience_ != nullptr) audience_->unmapped(at, bytes);
  (void)driver().cuMemUnmap(at, bytes);
}

CUresult Pages::map_host_here(void* at, std::uint64_t bytes, int descriptor) {
  void* memory =
      ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, descriptor, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  if (memory != at) {
    (void)::munmap(memory, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return driver().cuMemHostRegister(memory, bytes,
                                    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

void* Pages::host(std::uint64_t bytes) {
  if (audience_ == nullptr) {
    void* memory = nullptr;
    must(driver().cuMemHostAlloc(&memory, bytes,
                                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
         "pinned memory for loopback itself");
    std::memset(memory, 0, bytes);
    return memory;
  }
  const std::lock_guard lock(mutex_);
  const int descriptor = ::memfd_create("cuco-loopback", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0)
    give_up("no memory that processes share");
  void* at = reinterpret_cast<void*>(next_host_);
  next_host_ += bytes;
  must(map_host_here(at, bytes, descriptor), "pinned memory for loopback itself");
  audience_->host_mapped(at, bytes, descriptor);
  return at;
}

}  // namespace cuco::loopback
