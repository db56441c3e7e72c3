// SPDX-License-Identifier: Apache-2.0
// The CUDA driver is opened while the program runs: a machine without one must still start us.
#include "targets/real/driver_facts.h"

#include <array>

#include <fmt/format.h>

#include "system/os/shared_library.h"

namespace cuco::targets {
namespace {

// The few entry points needed, as cuda.h declares them (CUresult and CUdevice are int).
using Init = int (*)(unsigned);
using GetInteger = int (*)(int*);
using DeviceGet = int (*)(int*, int);
using DeviceGetName = int (*)(char*, int, int);
using DeviceTotalMem = int (*)(std::size_t*, int);
using DeviceGetAttribute = int (*)(int*, int, int);

// CUdevice_attribute
constexpr int kMultiprocessors = 16;
constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;

}  // namespace

std::optional<DriverFacts> inspect_driver() {
  const auto library = system::SharedLibrary::open("libcuda.so.1");
  if (!library) return std::nullopt;
  const auto init = library->find<Init>("cuInit");
  const auto driver_version = library->find<GetInteger>("cuDriverGetVersion");
  const auto device_count = library->find<GetInteger>("cuDeviceGetCount");
  const auto device_get = library->find<DeviceGet>("cuDeviceGet");
  const auto device_name = library->find<DeviceGetName>("cuDeviceGetName");
  const auto device_memory = library->find<DeviceTotalMem>("cuDeviceTotalMem_v2");
  const auto attribute = library->find<DeviceGetAttribute>("cuDeviceGetAttribute");
  if (init == nullptr || driver_version == nullptr || device_count == nullptr ||
      device_get == nullptr || device_name == nullptr || device_memory == nullptr ||
      attribute == nullptr || init(0) != 0) {
    return std::nullopt;
  }
  int version = 0;
  int count = 0;
  if (driver_version(&version) != 0 || device_count(&count) != 0) return std::nullopt;
  DriverFacts facts{.version = fmt::format("{}.{}", version / 1000, version % 1000 / 10)};
  facts.green_contexts = library->find<void*>("cuGreenCtxCreate") != nullptr;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    if (device_get(&device, i) != 0 ||
        device_name(name.data(), static_cast<int>(name.size() - 1), device) != 0 ||
        device_memory(&bytes, device) != 0) {
      continue;
    }
    GpuFacts gpu{.name = name.data(), .memory_bytes = bytes};
    if (attribute(&gpu.multiprocessors, kMultiprocessors, device) != 0 ||
        attribute(&gpu.compute_major, kComputeMajor, device) != 0 ||
        attribute(&gpu.compute_minor, kComputeMinor, device) != 0) {
      continue;
    }
    facts.gpus.push_back(std::move(gpu));
  }
  return facts;
}

}  // namespace cuco::targets
