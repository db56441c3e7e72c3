// SPDX-License-Identifier: Apache-2.0
// Devices, errors, versions.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

struct ErrorName {
  Error code;
  const char* name;
};
constexpr ErrorName kErrors[] = {
#include "shims/cudriver/errors.inc"
};

const ErrorName* find_error(Error code) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [&](const ErrorName& one) { return one.code == code; });
  return found == std::end(kErrors) ? nullptr : found;
}

/// CUdevprop
struct LegacyProperties {
  int max_threads_per_block;
  int max_block[3];
  int max_grid[3];
  int shared_per_block;
  int const_bytes;
  int warp_size;
  int max_pitch;
  int registers_per_block;
  int clock_rate;
  int texture_align;
};

Error properties_of(int device, DeviceProperties* properties) {
  if (const Error status = initialised(); status != 0) return status;
  return result_of(cudaGetDeviceProperties(properties, device));
}

}  // namespace

CUCO_DRIVER Error cuGetErrorName(Error code, const char** name) {
  if (name == nullptr) return kInvalidValue;
  const ErrorName* known = find_error(code);
  *name = known == nullptr ? nullptr : known->name;
  return known == nullptr ? kInvalidValue : 0;
}

CUCO_DRIVER Error cuGetErrorString(Error code, const char** text) {
  if (text == nullptr) return kInvalidValue;
  const ErrorName* known = find_error(code);
  *text = known == nullptr ? nullptr : cudaGetErrorString(code);
  return known == nullptr ? kInvalidValue : 0;
}

CUCO_DRIVER Error cuDriverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = 13000;
  return 0;
}

CUCO_DRIVER Error cuDeviceGetCount(int* count) {
  if (const Error status = initialised(); status != 0) return status;
  return count == nullptr ? kInvalidValue : result_of(cudaGetDeviceCount(count));
}

CUCO_DRIVER Error cuDeviceGet(int* device, int ordinal) {
  int count = 0;
  if (device == nullptr) return kInvalidValue;
  if (const Error status = cuDeviceGetCount(&count); status != 0) return status;
  if (ordinal < 0 || ordinal >= count) return 101;  // CUDA_ERROR_INVALID_DEVICE
  *device = ordinal;
  return 0;
}

CUCO_DRIVER Error cuDeviceGetName(char* name, int bytes, int device) {
  if (name == nullptr || bytes <= 0) return kInvalidValue;
  DeviceProperties properties;
  if (const Error status = properties_of(device, &properties); status != 0) return status;
  const std::size_t length =
      std::min(std::strlen(properties.name), static_cast<std::size_t>(bytes) - 1);
  std::memcpy(name, properties.name, length);
  name[length] = '\0';
  return 0;
}

CUCO_DRIVER Error cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  if (bytes == nullptr) return kInvalidValue;
  DeviceProperties properties;
  if (const Error status = properties_of(device, &properties); status != 0) return status;
  *bytes = properties.total_memory;
  return 0;
}
CUCO_ALIAS(cuDeviceTotalMem, cuDeviceTotalMem_v2);

CUCO_DRIVER Error cuDeviceGetUuid_v2(cuco::cudart::Uuid* uuid, int device) {
  if (uuid == nullptr) return kInvalidValue;
  DeviceProperties properties;
  if (const Error status = properties_of(device, &properties); status != 0) return status;
  *uuid = properties.uuid;
  return 0;
}
CUCO_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

CUCO_DRIVER Error cuDeviceComputeCapability(int* major, int* minor, int device) {
  if (major == nullptr || minor == nullptr) return kInvalidValue;
  DeviceProperties properties;
  if (const Error status = properties_of(device, &properties); status != 0) return status;
  *major = properties.major;
  *minor = properties.minor;
  return 0;
}

CUCO_DRIVER Error cuDeviceGetProperties(LegacyProperties* legacy, int device) {
  if (legacy == nullptr) return kInvalidValue;
  DeviceProperties properties;
  if (const Error status = properties_of(device, &properties); status != 0) return status;
  *legacy = {};
  legacy->max_threads_per_block = properties.max_threads_per_block;
  std::copy_n(properties.max_block, 3, legacy->max_block);
  std::copy_n(properties.max_grid, 3, legacy->max_grid);
  legacy->shared_per_block = static_cast<int>(properties.shared_per_block);
  legacy->const_bytes = static_cast<int>(properties.const_bytes);
  legacy->warp_size = properties.warp_size;
  legacy->max_pitch = static_cast<int>(properties.max_pitch);
  legacy->registers_per_block = properties.registers_per_block;
  constexpr int kClockRate = 13;  // cudaDevAttrClockRate
  return result_of(cudaDeviceGetAttribute(&legacy->clock_rate, kClockRate, device));
}

CUCO_DRIVER Error cuDeviceGetExecAffinitySupport(int* supported, int /*type*/, int /*device*/) {
  if (supported == nullptr) return kInvalidValue;
  *supported = 0;
  return 0;
}

CUCO_DRIVER Error cuProfilerInitialize(const char*, const char*, int) {
  return 0;
}
