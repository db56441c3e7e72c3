// SPDX-License-Identifier: Apache-2.0
// A CUDA driver for what ranks that are processes share, on a machine without a GPU: device memory
// is shared memory of the host, kernels other than fills and copies do nothing. So everything but
// the kernels is tested: who maps what where, who meets whom, and what happens when one dies.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <cuda.h>

#include "loopback/device/kernel_args.h"

namespace {

constexpr unsigned kProcessors = 132;
constexpr std::size_t kMemory = std::size_t{1} << 37U;
thread_local CUcontext current = nullptr;

template <typename Handle>
Handle some_handle() {
  return reinterpret_cast<Handle>(std::uintptr_t{0x1000});
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

int descriptor(CUmemGenericAllocationHandle handle) {
  return static_cast<int>(handle);
}

CUresult map(void* at, std::size_t bytes, int file, std::size_t offset) {
  const int flags =
      MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);
  const int protection = file < 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* got = ::mmap(at, bytes, protection, flags, file, static_cast<off_t>(offset));
  return got == at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

// CUDA's names and numbers of parameters.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,readability-function-size)
extern "C" {

// STAND_IN_FAILS names the program in which it does.
CUresult cuInit(unsigned) {
  const char* where = std::getenv("STAND_IN_FAILS");
  if (where == nullptr) return CUDA_SUCCESS;
  return std::strstr(program_invocation_short_name, where) != nullptr ? CUDA_ERROR_NO_DEVICE
                                                                      : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_SUCCESS ? "no error" : "the stand-in says no";
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value =
      attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? static_cast<int>(kProcessors) : 9;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = some_handle<CUcontext>();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDevResource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  *resource = {};
  resource->type = type;
  resource->sm.smCount = kProcessors;
  return CUDA_SUCCESS;
}
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups,
                                     unsigned* count,
                                     const CUdevResource* input,
                                     CUdevResource* rest,
                                     unsigned,
                                     unsigned least) {
  for (unsigned i = 0; i < *count; ++i) {
    groups[i] = *input;
    groups[i].sm.smCount = least;
  }
  *rest = *input;
  rest->sm.smCount = input->sm.smCount - *count * least;
  return CUDA_SUCCESS;
}
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource*, unsigned) {
  *description = some_handle<CUdevResourceDesc>();
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc, CUdevice, unsigned) {
  *green = some_handle<CUgreenCtx>();
  return CUDA_SUCCESS;
}
CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx) {
  *context = some_handle<CUcontext>();
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx, unsigned, int) {
  *stream = static_cast<CUstream>(std::malloc(1));
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuLibraryLoadData(CUlibrary* library,
                           const void*,
                           CUjit_option*,
                           void**,
                           unsigned,
                           CUlibraryOption*,
                           void**,
                           unsigned) {
  *library = some_handle<CUlibrary>();
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  *kernel = reinterpret_cast<CUkernel>(::strdup(name));
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function,
                        unsigned,
                        unsigned,
                        unsigned,
                        unsigned,
                        unsigned,
                        unsigned,
                        unsigned,
                        CUstream,
                        void** args,
                        void**) {
  const char* name = reinterpret_cast<const char*>(function);
  if (std::strcmp(name, "cuco_loopback_fill") == 0) {
    const auto& fill = *static_cast<const cuco::loopback::FillArgs*>(args[0]);
    if (fill.bytes != 0)
      std::memset(pointer(fill.destination), static_cast<int>(fill.value), fill.bytes);
  } else if (std::strcmp(name, "cuco_loopback_copy") == 0) {
    const auto& copy = *static_cast<const cuco::loopback::CopyArgs*>(args[0]);
    if (copy.bytes != 0) std::memcpy(pointer(copy.destination), pointer(copy.source), copy.bytes);
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) {
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) {
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = some_handle<CUevent>();
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream) {
  return CUDA_SUCCESS;
}

// A handle is the descriptor of its memory.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle,
                     std::size_t bytes,
                     const CUmemAllocationProp*,
                     unsigned long long) {
  const int memory = ::memfd_create("device", MFD_CLOEXEC);
  if (memory < 0 || ::ftruncate(memory, static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = static_cast<CUmemGenericAllocationHandle>(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ::close(descriptor(handle));
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(
    CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr wish, unsigned long long) {
  void* at =
      ::mmap(pointer(wish), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<CUdeviceptr>(at);
  return at == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  ::munmap(pointer(address), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address,
                  std::size_t bytes,
                  std::size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  return map(pointer(address), bytes, descriptor(handle), offset);
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return map(pointer(address), bytes, -1, 0);
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes,
                                       const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{2} << 20U;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::calloc(1, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void*, std::size_t, unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(pointer(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(to, pointer(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* out,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType,
                                      unsigned long long) {
  *static_cast<int*>(out) = ::fcntl(descriptor(handle), F_DUPFD_CLOEXEC, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                        void* from,
                                        CUmemAllocationHandleType) {
  const auto theirs = static_cast<int>(reinterpret_cast<std::intptr_t>(from));
  *handle = static_cast<CUmemGenericAllocationHandle>(::fcntl(theirs, F_DUPFD_CLOEXEC, 0));
  return CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name,readability-function-size)
