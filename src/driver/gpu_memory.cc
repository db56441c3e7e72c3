// SPDX-License-Identifier: Apache-2.0
#include "driver/gpu_memory.h"

#include "driver/gpu_driver.h"

namespace cuco::driver {
namespace {

using Handle = GpuDriver::Handle;
using Pointer = GpuDriver::Pointer;

Result<Pointer> map_handle(const GpuDriver& driver, Handle handle, std::size_t bytes) {
  Pointer address = 0;
  CUCO_TRY(gpu_checked(driver.reserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve"));
  CUCO_TRY(gpu_checked(driver.map(address, bytes, 0, handle, 0), "cuMemMap"));
  const GpuAccess access;
  CUCO_TRY(gpu_checked(driver.set_access(address, bytes, &access, 1), "cuMemSetAccess"));
  return address;
}

Result<std::size_t> rounded(const GpuDriver& driver, std::size_t bytes) {
  const GpuMemoryProperties properties;
  std::size_t unit = 0;
  CUCO_TRY(gpu_checked(driver.granularity(&unit, &properties, 0), "cuMemGetAllocationGranularity"));
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<GpuMemory> GpuMemory::create(std::size_t bytes) {
  CUCO_TRY_ASSIGN(const GpuDriver driver, GpuDriver::load());
  GpuMemory memory;
  CUCO_TRY_ASSIGN(memory.bytes_, rounded(driver, bytes));
  const GpuMemoryProperties properties;
  Handle handle = 0;
  CUCO_TRY(gpu_checked(driver.create(&handle, memory.bytes_, &properties, 0), "cuMemCreate"));
  CUCO_TRY_ASSIGN(memory.address_, map_handle(driver, handle, memory.bytes_));
  CUCO_TRY(
      gpu_checked(driver.export_handle(&memory.fd_, handle, 1, 0), "cuMemExportToShareableHandle"));
  return memory;
}

Result<GpuMemory> GpuMemory::open(int fd, std::size_t bytes) {
  CUCO_TRY_ASSIGN(const GpuDriver driver, GpuDriver::load());
  GpuMemory memory;
  CUCO_TRY_ASSIGN(memory.bytes_, rounded(driver, bytes));
  Handle handle = 0;
  void* os_handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
  CUCO_TRY(
      gpu_checked(driver.import_handle(&handle, os_handle, 1), "cuMemImportFromShareableHandle"));
  CUCO_TRY_ASSIGN(memory.address_, map_handle(driver, handle, memory.bytes_));
  return memory;
}

Result<std::string> gpu_name() {
  CUCO_TRY_ASSIGN(const GpuDriver driver, GpuDriver::load());
  char name[96] = {};
  CUCO_TRY(gpu_checked(driver.name(name, sizeof name, 0), "cuDeviceGetName"));
  return std::string(name);
}

}  // namespace cuco::driver
