// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <string>

#include "shims/cudart/device_attributes.h"
#include "shims/cudart/runtime.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr int kVersion = 13000;

struct Limits {
  std::size_t values[7] = {1024, 1U << 20U, 8U << 20U, 2, 2048, 64, 0};
};
Limits& limits(int device) {
  static Limits* const all = new Limits[wire::kMaxDevices];
  return all[device];
}

}  // namespace

CUCO_CUDART Error cudaGetDeviceCount(int* count) {
  if (count == nullptr) return done(wire::kInvalidValue);
  *count = device_count();
  return done(*count > 0 ? 0 : kNoDevice);
}

CUCO_CUDART Error cudaSetDevice(int device) {
  note_runtime_used();
  if (cluster_device(device) < 0) {
    return done(identity() == nullptr || device_count() == 0 ? kNoDevice
                                                             : Error{wire::kInvalidDevice});
  }
  thread().device = device;
  return 0;
}

CUCO_CUDART Error cudaGetDevice(int* device) {
  if (device == nullptr) return done(wire::kInvalidValue);
  *device = thread().device;
  return 0;
}

CUCO_CUDART Error cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  note_runtime_used();
  return done(cluster_device(device) < 0 ? Error{wire::kInvalidDevice} : 0);
}

CUCO_CUDART Error cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (devices == nullptr || cluster_device(devices[i]) < 0) return done(wire::kInvalidDevice);
  }
  return 0;
}

CUCO_CUDART Error cudaSetDeviceFlags(unsigned flags) {
  return done((flags & ~0x9FU) != 0 ? Error{wire::kInvalidValue} : 0);
}

CUCO_CUDART Error cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return done(wire::kInvalidValue);
  *flags = 0x8;  // cudaDeviceMapHost
  return 0;
}

CUCO_CUDART Error cudaChooseDevice(int* device, const DeviceProperties* wanted) {
  if (device == nullptr || wanted == nullptr) return done(wire::kInvalidValue);
  *device = 0;
  return 0;
}

CUCO_CUDART Error cudaGetDeviceProperties(DeviceProperties* properties, int device) {
  const wire::DeviceInfo* info = device_info(device);
  if (properties == nullptr) return done(wire::kInvalidValue);
  if (info == nullptr) return done(wire::kInvalidDevice);
  *properties = properties_of(*info);
  return 0;
}

CUCO_CUDART Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  const wire::DeviceInfo* info = device_info(device);
  if (value == nullptr) return done(wire::kInvalidValue);
  if (info == nullptr) return done(wire::kInvalidDevice);
  const auto found = attribute_of(*info, attribute);
  if (!found) return done(wire::kInvalidValue);
  *value = *found;
  return 0;
}

CUCO_CUDART Error cudaDeviceSynchronize() {
  return done(call(wire::DeviceSynchronize{.device = here()}));
}

CUCO_CUDART Error cudaDeviceReset() {
  const int device = here();
  if (device < 0) return done(kNoDevice);
  const Error status = settle(wire::call(client(), wire::DeviceReset{.device = device}, nullptr));
  clear_sticky_error(device);
  thread().last_error = 0;
  return done(status);
}

CUCO_CUDART Error cudaDeviceSetLimit(int limit, std::size_t value) {
  if (limit < 0 || limit > 6) return done(43);  // cudaErrorUnsupportedLimit
  if (const Error status = refused(); status != 0) return done(status);
  limits(here()).values[limit] = value;
  return done(call(wire::SetLimit{
      .device = here(), .limit = static_cast<std::uint32_t>(limit), .value = value}));
}

CUCO_CUDART Error cudaDeviceGetLimit(std::size_t* value, int limit) {
  if (limit < 0 || limit > 6) return done(43);
  if (value == nullptr) return done(wire::kInvalidValue);
  if (const Error status = refused(); status != 0) return done(status);
  *value = limits(here()).values[limit];
  return 0;
}

CUCO_CUDART Error cudaDeviceGetCacheConfig(int* config) {
  if (config == nullptr) return done(wire::kInvalidValue);
  *config = 0;
  return 0;
}

CUCO_CUDART Error cudaDeviceSetCacheConfig(int /*config*/) {
  return 0;
}

CUCO_CUDART Error cudaDeviceGetSharedMemConfig(int* config) {
  if (config == nullptr) return done(wire::kInvalidValue);
  *config = 1;  // four-byte banks
  return 0;
}

CUCO_CUDART Error cudaDeviceSetSharedMemConfig(int /*config*/) {
  return 0;
}

CUCO_CUDART Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}

CUCO_CUDART Error cudaDeviceGetPCIBusId(char* text, int length, int device) {
  const wire::DeviceInfo* info = device_info(device);
  if (info == nullptr) return done(wire::kInvalidDevice);
  if (text == nullptr || length < 13) return done(wire::kInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(length), "%04x:%02x:%02x.0", info->pci_domain,
                info->pci_bus, info->pci_device);
  return 0;
}

CUCO_CUDART Error cudaDeviceGetByPCIBusId(int* device, const char* text) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (device == nullptr || text == nullptr ||
      std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    return done(wire::kInvalidValue);
  }
  for (int i = 0; i < device_count(); ++i) {
    const wire::DeviceInfo* info = device_info(i);
    if (info != nullptr && info->pci_bus == bus && info->pci_domain == domain) {
      *device = i;
      return 0;
    }
  }
  return done(wire::kInvalidDevice);
}

CUCO_CUDART Error cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  wire::GetMemoryInfo::Reply reply;
  const Error status = call(wire::GetMemoryInfo{.device = here()}, &reply);
  if (status != 0) return done(status);
  if (free != nullptr) *free = reply.free;
  if (total != nullptr) *total = reply.total;
  return 0;
}

CUCO_CUDART Error cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return done(wire::kInvalidValue);
  const wire::PeerAccess request{.device = cluster_device(device),
                                 .peer = cluster_device(peer),
                                 .action = wire::PeerAccess::kCan};
  if (request.device < 0 || request.peer < 0) return done(wire::kInvalidDevice);
  wire::PeerAccess::Reply reply;
  const Error status = call(request, &reply);
  *can = static_cast<int>(reply.possible);
  return done(status);
}

CUCO_CUDART Error cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (flags != 0) return done(wire::kInvalidValue);
  const wire::PeerAccess request{
      .device = here(), .peer = cluster_device(peer), .action = wire::PeerAccess::kEnable};
  return done(request.peer < 0 ? Error{wire::kInvalidDevice} : call(request));
}

CUCO_CUDART Error cudaDeviceDisablePeerAccess(int peer) {
  const wire::PeerAccess request{
      .device = here(), .peer = cluster_device(peer), .action = wire::PeerAccess::kDisable};
  return done(request.peer < 0 ? Error{wire::kInvalidDevice} : call(request));
}

CUCO_CUDART Error cudaDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  if (value == nullptr || attribute < 1 || attribute > 5) return done(wire::kInvalidValue);
  int can = 0;
  const Error status = cudaDeviceCanAccessPeer(&can, from, to);
  if (status != 0) return status;
  // Rank 0 is the fastest kind of link; array access and "only partial atomics" do not apply.
  *value = attribute == 2 || attribute == 3 ? can : 0;
  return 0;
}

CUCO_CUDART Error cudaDriverGetVersion(int* version) {
  if (version == nullptr) return done(wire::kInvalidValue);
  *version = kVersion;
  return 0;
}

CUCO_CUDART Error cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}

CUCO_CUDART Error cudaProfilerStart() {
  return 0;
}
CUCO_CUDART Error cudaProfilerStop() {
  return 0;
}
CUCO_CUDART Error cudaCtxResetPersistingL2Cache() {
  return 0;
}
CUCO_CUDART Error cudaDeviceFlushGPUDirectRDMAWrites(int /*target*/, int /*scope*/) {
  return 0;
}
