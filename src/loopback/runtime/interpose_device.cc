// SPDX-License-Identifier: Apache-2.0
// The devices that a program sees: one per rank, all of them the same GPU.
#include "loopback/gpu/rank_memory.h"
#include "loopback/runtime/interpose.h"

namespace cuco::loopback {

void* find_real(const char* name) {
  void* symbol = ::dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) {
    // A program may have loaded it behind the loader's back.
    if (void* runtime = ::dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL))
      symbol = ::dlsym(runtime, name);
  }
  if (symbol == nullptr) {
    give_up(std::string("the program's CUDA runtime has no ") + name +
            "; link it with nvcc -cudart shared");
  }
  return symbol;
}

namespace {

bool is_device(int device) {
  return device >= 0 && device < Machine::get().ranks();
}

}  // namespace
}  // namespace cuco::loopback

using cuco::loopback::Machine;
using cuco::loopback::Memory;
using cuco::loopback::Streams;
using cuco::loopback::StreamUse;

CUCO_LOOPBACK_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = Machine::get().ranks();
  return cudaSuccess;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaSetDevice(int device) {
  if (!cuco::loopback::is_device(device)) return cudaErrorInvalidDevice;
  Machine::get().enter(device);
  return cudaSuccess;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cuco::loopback::is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = Machine::get().current_rank();
  return cudaSuccess;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!cuco::loopback::is_device(device)) return cudaErrorInvalidDevice;
  const cudaError_t result = CUCO_LOOPBACK_REAL(cudaGetDeviceProperties)(properties, 0);
  if (result == cudaSuccess) properties->multiProcessorCount = Machine::get().rank(device).sms;
  return result;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceGetAttribute(int* value,
                                                        cudaDeviceAttr attribute,
                                                        int device) {
  if (!cuco::loopback::is_device(device)) return cudaErrorInvalidDevice;
  const cudaError_t result = CUCO_LOOPBACK_REAL(cudaDeviceGetAttribute)(value, attribute, 0);
  if (result == cudaSuccess && attribute == cudaDevAttrMultiProcessorCount)
    *value = Machine::get().rank(device).sms;
  return result;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return cudaErrorInvalidValue;
  if (!cuco::loopback::is_device(device) || !cuco::loopback::is_device(peer))
    return cudaErrorInvalidDevice;
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return cuco::loopback::is_device(peer) ? cudaSuccess : cudaErrorInvalidDevice;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return cuco::loopback::is_device(peer) ? cudaSuccess : cudaErrorInvalidDevice;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!cuco::loopback::is_device(device)) return cudaErrorInvalidDevice;
  return CUCO_LOOPBACK_REAL(cudaDeviceGetPCIBusId)(id, length, 0);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!cuco::loopback::is_device(device)) return cudaErrorInvalidDevice;
  return CUCO_LOOPBACK_REAL(cudaDeviceGetDefaultMemPool)(pool, 0);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceSynchronize() {
  return cuco::loopback::error_of(Streams::get().wait_for(Machine::get().current_rank()));
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaDeviceReset() {
  return cudaDeviceSynchronize();
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                          const void* pointer) {
  (void)Machine::get().current_rank();
  const cudaError_t result = CUCO_LOOPBACK_REAL(cudaPointerGetAttributes)(attributes, pointer);
  if (result != cudaSuccess) return result;
  if (const auto owner = Memory::get().owner_of(reinterpret_cast<CUdeviceptr>(pointer)))
    attributes->device = *owner;
  return result;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = Streams::get().rank_of(stream, Machine::get().current_rank());
  return cudaSuccess;
}
