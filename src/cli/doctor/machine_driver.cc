// SPDX-License-Identifier: Apache-2.0
// The CUDA driver is asked through dlopen: a machine without one must still start us.
#include "cli/doctor/machine_driver.h"

#include <array>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>

namespace cuco::cli {
namespace {

// The few entry points needed, as cuda.h declares them (CUresult and CUdevice are int).
using Init = int (*)(unsigned);
using GetInteger = int (*)(int*);
using DeviceGet = int (*)(int*, int);
using DeviceGetName = int (*)(char*, int, int);
using DeviceTotalMem = int (*)(std::size_t*, int);

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <typename Function>
Function symbol(const Library& library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library.get(), name));
}

}  // namespace

std::optional<DriverFacts> inspect_driver() {
  const Library library(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!library) return std::nullopt;
  const auto init = symbol<Init>(library, "cuInit");
  const auto driver_version = symbol<GetInteger>(library, "cuDriverGetVersion");
  const auto device_count = symbol<GetInteger>(library, "cuDeviceGetCount");
  const auto device_get = symbol<DeviceGet>(library, "cuDeviceGet");
  const auto device_name = symbol<DeviceGetName>(library, "cuDeviceGetName");
  const auto device_memory = symbol<DeviceTotalMem>(library, "cuDeviceTotalMem_v2");
  if (init == nullptr || driver_version == nullptr || device_count == nullptr ||
      device_get == nullptr || device_name == nullptr || device_memory == nullptr || init(0) != 0) {
    return std::nullopt;
  }
  int version = 0;
  int count = 0;
  if (driver_version(&version) != 0 || device_count(&count) != 0) return std::nullopt;
  DriverFacts facts{.version = fmt::format("{}.{}", version / 1000, version % 1000 / 10)};
  facts.green_contexts = symbol<void*>(library, "cuGreenCtxCreate") != nullptr;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    if (device_get(&device, i) != 0 ||
        device_name(name.data(), static_cast<int>(name.size() - 1), device) != 0 ||
        device_memory(&bytes, device) != 0) {
      continue;
    }
    facts.gpus.push_back({.name = name.data(), .memory_bytes = bytes});
  }
  return facts;
}

}  // namespace cuco::cli
