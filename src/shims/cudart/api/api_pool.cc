// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation.
#include <cstring>
#include <map>
#include <mutex>

#include "shims/cudart/runtime.h"
#include "shims/wire/messages_memory.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

struct CurrentPools {
  std::mutex mutex;
  std::map<int, PoolHandle> by_device;  ///< Set by cudaDeviceSetMemPool.
};
CurrentPools& current_pools() {
  static CurrentPools* const instance = new CurrentPools;
  return *instance;
}

Error pool_call(const wire::PoolCall& request, std::uint64_t* value) {
  wire::PoolCall::Reply reply;
  const Error status = call(request, &reply);
  if (status == 0 && value != nullptr) *value = reply.value;
  return status;
}

Error allocate_async(void** pointer, std::size_t bytes, std::uint64_t pool, StreamHandle stream) {
  if (pointer == nullptr) return wire::kInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return 0;
  }
  wire::AllocateAsync::Reply reply;
  const wire::AllocateAsync request{
      .device = here(), .stream = number_of(stream), .pool = pool, .bytes = bytes};
  const Error status = call(request, &reply);
  if (status == 0) *pointer = reinterpret_cast<void*>(reply.address);
  return status;
}

/// The first four attributes are ints, the others 64-bit.
bool is_int(int attribute) {
  return attribute >= 1 && attribute <= 3;
}

}  // namespace

CUCO_CUDART Error cudaMallocAsync(void** pointer, std::size_t bytes, StreamHandle stream) {
  return done(allocate_async(pointer, bytes, 0, stream));
}

CUCO_CUDART Error cudaMallocAsync_ptsz(void** pointer, std::size_t bytes, StreamHandle stream) {
  return cudaMallocAsync(pointer, bytes, per_thread_if_null(stream));
}

CUCO_CUDART Error cudaMallocFromPoolAsync(void** pointer,
                                          std::size_t bytes,
                                          PoolHandle pool,
                                          StreamHandle stream) {
  return done(allocate_async(pointer, bytes, number_of(pool), stream));
}

CUCO_CUDART Error cudaMallocFromPoolAsync_ptsz(void** pointer,
                                               std::size_t bytes,
                                               PoolHandle pool,
                                               StreamHandle stream) {
  return cudaMallocFromPoolAsync(pointer, bytes, pool, per_thread_if_null(stream));
}

CUCO_CUDART Error cudaFreeAsync(void* pointer, StreamHandle stream) {
  if (pointer == nullptr) return 0;
  return done(call(wire::FreeAsync{.device = here(),
                                   .stream = number_of(stream),
                                   .address = reinterpret_cast<std::uint64_t>(pointer)}));
}

CUCO_CUDART Error cudaFreeAsync_ptsz(void* pointer, StreamHandle stream) {
  return cudaFreeAsync(pointer, per_thread_if_null(stream));
}

CUCO_CUDART Error cudaDeviceGetDefaultMemPool(PoolHandle* pool, int device) {
  if (pool == nullptr) return done(wire::kInvalidValue);
  std::uint64_t number = 0;
  const Error status =
      pool_call({.action = wire::PoolCall::kDefault, .device = cluster_device(device)}, &number);
  *pool = handle_of<PoolHandle>(number);
  return done(status);
}

CUCO_CUDART Error cudaDeviceGetMemPool(PoolHandle* pool, int device) {
  {
    const std::lock_guard lock(current_pools().mutex);
    const auto found = current_pools().by_device.find(device);
    if (found != current_pools().by_device.end() && pool != nullptr) {
      *pool = found->second;
      return 0;
    }
  }
  return cudaDeviceGetDefaultMemPool(pool, device);
}

CUCO_CUDART Error cudaDeviceSetMemPool(int device, PoolHandle pool) {
  if (cluster_device(device) < 0) return done(wire::kInvalidDevice);
  const std::lock_guard lock(current_pools().mutex);
  current_pools().by_device[device] = pool;
  return 0;
}

CUCO_CUDART Error cudaMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  if (pool == nullptr || properties == nullptr) return done(wire::kInvalidValue);
  std::uint64_t number = 0;
  const Error status = pool_call(
      {.action = wire::PoolCall::kCreate, .device = cluster_device(properties->location.id)},
      &number);
  *pool = handle_of<PoolHandle>(number);
  return done(status);
}

CUCO_CUDART Error cudaMemPoolDestroy(PoolHandle pool) {
  return done(pool_call({.action = wire::PoolCall::kDestroy, .pool = number_of(pool)}, nullptr));
}

CUCO_CUDART Error cudaMemPoolTrimTo(PoolHandle pool, std::size_t /*keep*/) {
  return done(pool_call({.action = wire::PoolCall::kTrim, .pool = number_of(pool)}, nullptr));
}

CUCO_CUDART Error cudaMemPoolSetAttribute(PoolHandle pool, int attribute, void* value) {
  if (value == nullptr || attribute < 1 || attribute > 8) return done(wire::kInvalidValue);
  wire::PoolCall request{.action = wire::PoolCall::kSetAttribute,
                         .pool = number_of(pool),
                         .attribute = static_cast<std::uint32_t>(attribute)};
  std::memcpy(&request.value, value, is_int(attribute) ? sizeof(int) : sizeof(std::uint64_t));
  return done(pool_call(request, nullptr));
}

CUCO_CUDART Error cudaMemPoolGetAttribute(PoolHandle pool, int attribute, void* value) {
  if (value == nullptr || attribute < 1 || attribute > 8) return done(wire::kInvalidValue);
  std::uint64_t number = 0;
  const Error status = pool_call({.action = wire::PoolCall::kGetAttribute,
                                  .pool = number_of(pool),
                                  .attribute = static_cast<std::uint32_t>(attribute)},
                                 &number);
  if (status != 0) return done(status);
  std::memcpy(value, &number, is_int(attribute) ? sizeof(int) : sizeof number);
  return 0;
}

CUCO_CUDART Error cudaMemPoolSetAccess(PoolHandle /*pool*/,
                                       const MemoryAccess* list,
                                       std::size_t count) {
  // Access from another device is peer access here: see cudaDeviceEnablePeerAccess.
  for (std::size_t i = 0; i < count; ++i) {
    const int peer = cluster_device(list[i].location.id);
    if (peer < 0) return done(wire::kInvalidDevice);
    for (int device = 0; device < device_count(); ++device) {
      if (cluster_device(device) == peer) continue;
      (void)call(wire::PeerAccess{
          .device = peer, .peer = cluster_device(device), .action = wire::PeerAccess::kEnable});
    }
  }
  return 0;
}

CUCO_CUDART Error cudaMemPoolGetAccess(int* flags, PoolHandle /*pool*/, MemoryLocation* /*place*/) {
  if (flags == nullptr) return done(wire::kInvalidValue);
  *flags = 3;  // read and write
  return 0;
}
