// SPDX-License-Identifier: Apache-2.0
//
// The driver is loaded at run time, and its few types are declared here: nothing of CUDA is needed
// to build this, and a machine without a GPU only gets an error.
#include "evaluation/gpu_memory.h"

#include <dlfcn.h>

namespace cuco::evaluation {
namespace {

// As in cuda.h, CUDA 12 and 13.
struct Location {
  int type = 1;  // a device
  int id = 0;
};
struct Properties {
  int type = 1;          // pinned
  int handle_types = 1;  // POSIX file descriptor
  Location location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
struct Access {
  Location location;
  int rights = 3;  // read and write
};
using Handle = unsigned long long;
using Pointer = unsigned long long;

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*granularity)(std::size_t*, const Properties*, int) = nullptr;
  int (*create)(Handle*, std::size_t, const Properties*, unsigned long long) = nullptr;
  int (*reserve)(Pointer*, std::size_t, std::size_t, Pointer, unsigned long long) = nullptr;
  int (*map)(Pointer, std::size_t, std::size_t, Handle, unsigned long long) = nullptr;
  int (*set_access)(Pointer, std::size_t, const Access*, std::size_t) = nullptr;
  int (*export_handle)(void*, Handle, int, unsigned long long) = nullptr;
  int (*import_handle)(Handle*, void*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Result<Driver> load_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return Error{ErrorKind::Unavailable, "there is no libcuda.so.1"};
  Driver driver;
  const bool found = find(library, "cuInit", driver.init) &&
                     find(library, "cuMemGetAllocationGranularity", driver.granularity) &&
                     find(library, "cuMemCreate", driver.create) &&
                     find(library, "cuMemAddressReserve", driver.reserve) &&
                     find(library, "cuMemMap", driver.map) &&
                     find(library, "cuMemSetAccess", driver.set_access) &&
                     find(library, "cuMemExportToShareableHandle", driver.export_handle) &&
                     find(library, "cuMemImportFromShareableHandle", driver.import_handle) &&
                     find(library, "cuDeviceGetName", driver.name);
  if (!found) return Error{ErrorKind::Unavailable, "libcuda.so.1 is too old"};
  // Nobody has called the runtime yet, which would do it.
  if (driver.init(0) != 0) return Error{ErrorKind::Unavailable, "the CUDA driver does not start"};
  return driver;
}

Result<void> checked(int code, const char* what) {
  if (code != 0) {
    return Error{ErrorKind::Unavailable,
                 std::string(what) + " failed with CUDA error " + std::to_string(code)};
  }
  return {};
}

Result<Pointer> map_handle(const Driver& driver, Handle handle, std::size_t bytes) {
  Pointer address = 0;
  CUCO_TRY(checked(driver.reserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve"));
  CUCO_TRY(checked(driver.map(address, bytes, 0, handle, 0), "cuMemMap"));
  const Access access;
  CUCO_TRY(checked(driver.set_access(address, bytes, &access, 1), "cuMemSetAccess"));
  return address;
}

Result<std::size_t> rounded(const Driver& driver, std::size_t bytes) {
  const Properties properties;
  std::size_t unit = 0;
  CUCO_TRY(checked(driver.granularity(&unit, &properties, 0), "cuMemGetAllocationGranularity"));
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<GpuMemory> GpuMemory::create(std::size_t bytes) {
  CUCO_TRY_ASSIGN(const Driver driver, load_driver());
  GpuMemory memory;
  CUCO_TRY_ASSIGN(memory.bytes_, rounded(driver, bytes));
  const Properties properties;
  Handle handle = 0;
  CUCO_TRY(checked(driver.create(&handle, memory.bytes_, &properties, 0), "cuMemCreate"));
  CUCO_TRY_ASSIGN(memory.address_, map_handle(driver, handle, memory.bytes_));
  CUCO_TRY(
      checked(driver.export_handle(&memory.fd_, handle, 1, 0), "cuMemExportToShareableHandle"));
  return memory;
}

Result<GpuMemory> GpuMemory::open(int fd, std::size_t bytes) {
  CUCO_TRY_ASSIGN(const Driver driver, load_driver());
  GpuMemory memory;
  CUCO_TRY_ASSIGN(memory.bytes_, rounded(driver, bytes));
  Handle handle = 0;
  void* os_handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
  CUCO_TRY(checked(driver.import_handle(&handle, os_handle, 1), "cuMemImportFromShareableHandle"));
  CUCO_TRY_ASSIGN(memory.address_, map_handle(driver, handle, memory.bytes_));
  return memory;
}

Result<std::string> gpu_name() {
  CUCO_TRY_ASSIGN(const Driver driver, load_driver());
  char name[96] = {};
  CUCO_TRY(checked(driver.name(name, sizeof name, 0), "cuDeviceGetName"));
  return std::string(name);
}

}  // namespace cuco::evaluation
