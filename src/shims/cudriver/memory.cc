// SPDX-License-Identifier: Apache-2.0
// Copies, sets and pointers.
#include <cstring>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

constexpr int kDefaultKind = cuco::cudart::kDefaultKind;
const StreamHandle kPerThread = cuco::cudart::handle_of<StreamHandle>(2);

StreamHandle per_thread_if_null(StreamHandle stream) {
  return stream != nullptr ? stream : kPerThread;
}

void* host(DevicePointer address) {
  return reinterpret_cast<void*>(address);
}

Error copy_now(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  if (const Error status = ready(); status != 0) return status;
  if (bytes == 0) return 0;
  if (to == nullptr || from == nullptr) return kInvalidValue;
  return result_of(stream == nullptr ? cudaMemcpy(to, from, bytes, kDefaultKind)
                                     : cudaMemcpy_ptds(to, from, bytes, kDefaultKind));
}

Error copy_later(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaMemcpyAsync(to, from, bytes, kDefaultKind, stream));
}

Error fill(const CucoFill& what, StreamHandle stream, bool wait) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cucoFill(&what, stream, wait ? 1 : 0));
}

/// One side of CUDA_MEMCPY2D and CUDA_MEMCPY3D.
enum MemoryType : int { kHost = 1, kDevice = 2, kArray = 3, kUnified = 4 };

struct Side2d {
  std::size_t x, y;
  int type;
  void* host;
  DevicePointer device;
  void* array;
  std::size_t pitch;
};
struct Copy2d {
  Side2d from, to;
  std::size_t width, height;
};
struct Side3d {
  std::size_t x, y, z, level;
  int type;
  void* host;
  DevicePointer device;
  void* array;
  Context* context;
  std::size_t pitch, height;
};
struct Copy3d {
  Side3d from, to;
  std::size_t width, height, depth;
};

cuco::cudart::PitchedPointer pitched(const Side3d& side, const Copy3d& copy) {
  return {side.type == kHost ? side.host : host(side.device),
          side.pitch != 0 ? side.pitch : side.x + copy.width, side.x + copy.width,
          side.height != 0 ? side.height : side.y + copy.height};
}

Error copy_volume(const Copy3d* copy, StreamHandle stream, bool wait) {
  if (const Error status = ready(); status != 0) return status;
  if (copy == nullptr) return kInvalidValue;
  if (copy->from.type == kArray || copy->to.type == kArray) return unsupported("CUarray");
  cuco::cudart::Copy3d volume{};
  volume.src = pitched(copy->from, *copy);
  volume.dst = pitched(copy->to, *copy);
  volume.src_pos = {copy->from.x, copy->from.y, copy->from.z};
  volume.dst_pos = {copy->to.x, copy->to.y, copy->to.z};
  volume.extent = {copy->width, copy->height, copy->depth};
  volume.kind = kDefaultKind;
  if (!wait) return result_of(cudaMemcpy3DAsync(&volume, stream));
  return result_of(stream == nullptr ? cudaMemcpy3D(&volume) : cudaMemcpy3D_ptds(&volume));
}

Error copy_rectangle(const Copy2d* copy, StreamHandle stream, bool wait) {
  if (copy == nullptr) return kInvalidValue;
  const auto side = [](const Side2d& from) {
    Side3d to{};
    to.x = from.x;
    to.y = from.y;
    to.type = from.type;
    to.host = from.host;
    to.device = from.device;
    to.pitch = from.pitch;
    return to;
  };
  const Copy3d volume{side(copy->from), side(copy->to), copy->width, copy->height, 1};
  return copy_volume(&volume, stream, wait);
}

MemoryLocation location_of(int device) {
  constexpr int kAtDevice = 1;
  constexpr int kAtHost = 2;
  return device < 0 ? MemoryLocation{kAtHost, 0} : MemoryLocation{kAtDevice, device};
}

/// Writes one attribute of a pointer; the driver knows no pageable memory.
Error pointer_attribute(void* data, int attribute, DevicePointer pointer) {
  cuco::cudart::PointerAttributes known;
  if (const Error status = cudaPointerGetAttributes(&known, host(pointer)); status != 0)
    return result_of(status);
  if (known.type == 0) return kInvalidValue;
  const auto put = [&](auto value) {
    std::memcpy(data, &value, sizeof value);
    return Error{0};
  };
  constexpr int kManaged = 3;
  std::uint64_t base = 0;
  std::size_t bytes = 0;
  const Error found = cucoFindAllocation(pointer, &base, &bytes);
  switch (attribute) {
    case 1:
      return put(reinterpret_cast<std::uintptr_t>(primary(known.device)));
    case 2:
      return put(static_cast<int>(known.type == 1 ? kHost : kDevice));
    case 3:
      return put(reinterpret_cast<std::uintptr_t>(known.device_pointer));
    case 4:
      if (known.host_pointer == nullptr) return kInvalidValue;
      return put(reinterpret_cast<std::uintptr_t>(known.host_pointer));
    case 6:  // Copies wait or do not, as their calls say.
      return put(0);
    case 7:
    case 20:
      return found != 0 ? result_of(found) : put(base);
    case 8:
      return put(static_cast<unsigned char>(known.type == kManaged));
    case 9:
      return put(known.device);
    case 10:
    case 13:
      return put(static_cast<unsigned char>(1));
    case 11:
    case 19:
      return found != 0 ? result_of(found) : put(base);
    case 12:
    case 18:
      return found != 0 ? result_of(found) : put(bytes);
    case 14:
      return put(std::uint64_t{0});
    case 15:
      return put(static_cast<unsigned char>(0));
    case 16:
      return put(3);
    default:
      return unsupported("this attribute of cuPointerGetAttribute");
  }
}

}  // namespace

CUCO_DRIVER Error cuMemAllocPitch_v2(DevicePointer* address,
                                     std::size_t* pitch,
                                     std::size_t width,
                                     std::size_t height,
                                     unsigned /*element_bytes*/) {
  if (const Error status = ready(); status != 0) return status;
  void* memory = nullptr;
  const Error status = cudaMallocPitch(&memory, pitch, width, height);
  if (status == 0) *address = reinterpret_cast<DevicePointer>(memory);
  return result_of(status);
}
CUCO_ALIAS(cuMemAllocPitch, cuMemAllocPitch_v2);

CUCO_DRIVER Error cuMemGetAddressRange_v2(DevicePointer* base,
                                          std::size_t* bytes,
                                          DevicePointer address) {
  if (const Error status = ready(); status != 0) return status;
  std::uint64_t at = 0;
  std::size_t size = 0;
  if (cucoFindAllocation(address, &at, &size) != 0) return kNotFound;
  if (base != nullptr) *base = at;
  if (bytes != nullptr) *bytes = size;
  return 0;
}
CUCO_ALIAS(cuMemGetAddressRange, cuMemGetAddressRange_v2);

// Copies know by the address where memory is: all directions are one.

/// Defines a copy with its names: as it is, and with the thread's own default stream.
#define CUCO_COPY(name, to_type, from_type, to_expression, from_expression)               \
  CUCO_DRIVER Error name##_v2(to_type to, from_type from, std::size_t bytes) {            \
    return copy_now(to_expression, from_expression, bytes, nullptr);                      \
  }                                                                                       \
  CUCO_DRIVER Error name##_v2_ptds(to_type to, from_type from, std::size_t bytes) {       \
    return copy_now(to_expression, from_expression, bytes, kPerThread);                   \
  }                                                                                       \
  CUCO_ALIAS(name, name##_v2);                                                            \
  CUCO_DRIVER Error name##Async_v2(to_type to, from_type from, std::size_t bytes,         \
                                   StreamHandle stream) {                                 \
    return copy_later(to_expression, from_expression, bytes, stream);                     \
  }                                                                                       \
  CUCO_DRIVER Error name##Async_v2_ptsz(to_type to, from_type from, std::size_t bytes,    \
                                        StreamHandle stream) {                            \
    return copy_later(to_expression, from_expression, bytes, per_thread_if_null(stream)); \
  }                                                                                       \
  CUCO_ALIAS(name##Async, name##Async_v2)
CUCO_COPY(cuMemcpyHtoD, DevicePointer, const void*, host(to), from);
CUCO_COPY(cuMemcpyDtoH, void*, DevicePointer, to, host(from));
CUCO_COPY(cuMemcpyDtoD, DevicePointer, DevicePointer, host(to), host(from));

CUCO_DRIVER Error cuMemcpy(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return copy_now(host(to), host(from), bytes, nullptr);
}
CUCO_DRIVER Error cuMemcpy_ptds(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return copy_now(host(to), host(from), bytes, kPerThread);
}
CUCO_DRIVER Error cuMemcpyAsync(DevicePointer to,
                                DevicePointer from,
                                std::size_t bytes,
                                StreamHandle stream) {
  return copy_later(host(to), host(from), bytes, stream);
}
CUCO_DRIVER Error cuMemcpyAsync_ptsz(DevicePointer to,
                                     DevicePointer from,
                                     std::size_t bytes,
                                     StreamHandle stream) {
  return copy_later(host(to), host(from), bytes, per_thread_if_null(stream));
}

CUCO_DRIVER Error cuMemcpyPeer(DevicePointer to,
                               const Context* to_context,
                               DevicePointer from,
                               const Context* from_context,
                               std::size_t bytes) {
  if (const Error status = ready(); status != 0) return status;
  if (!is_live(to_context) || !is_live(from_context)) return kInvalidContext;
  return result_of(
      cudaMemcpyPeer(host(to), to_context->device, host(from), from_context->device, bytes));
}
CUCO_ALIAS(cuMemcpyPeer_ptds, cuMemcpyPeer);
CUCO_DRIVER Error cuMemcpyPeerAsync(DevicePointer to,
                                    const Context* to_context,
                                    DevicePointer from,
                                    const Context* from_context,
                                    std::size_t bytes,
                                    StreamHandle stream) {
  if (const Error status = ready(); status != 0) return status;
  if (!is_live(to_context) || !is_live(from_context)) return kInvalidContext;
  return result_of(cudaMemcpyPeerAsync(host(to), to_context->device, host(from),
                                       from_context->device, bytes, stream));
}
CUCO_DRIVER Error cuMemcpyPeerAsync_ptsz(DevicePointer to,
                                         const Context* to_context,
                                         DevicePointer from,
                                         const Context* from_context,
                                         std::size_t bytes,
                                         StreamHandle stream) {
  return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, per_thread_if_null(stream));
}

CUCO_DRIVER Error cuMemcpy2D_v2(const Copy2d* copy) {
  return copy_rectangle(copy, nullptr, true);
}
CUCO_ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
CUCO_DRIVER Error cuMemcpy2D_v2_ptds(const Copy2d* copy) {
  return copy_rectangle(copy, kPerThread, true);
}
CUCO_ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2_ptds);
CUCO_DRIVER Error cuMemcpy2DAsync_v2(const Copy2d* copy, StreamHandle stream) {
  return copy_rectangle(copy, stream, false);
}
CUCO_DRIVER Error cuMemcpy2DAsync_v2_ptsz(const Copy2d* copy, StreamHandle stream) {
  return copy_rectangle(copy, per_thread_if_null(stream), false);
}
// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER differ only in the use of a field that is not needed.
CUCO_DRIVER Error cuMemcpy3D_v2(const Copy3d* copy) {
  return copy_volume(copy, nullptr, true);
}
CUCO_ALIAS(cuMemcpy3DPeer, cuMemcpy3D_v2);
CUCO_DRIVER Error cuMemcpy3D_v2_ptds(const Copy3d* copy) {
  return copy_volume(copy, kPerThread, true);
}
CUCO_ALIAS(cuMemcpy3DPeer_ptds, cuMemcpy3D_v2_ptds);
CUCO_DRIVER Error cuMemcpy3DAsync_v2(const Copy3d* copy, StreamHandle stream) {
  return copy_volume(copy, stream, false);
}
CUCO_ALIAS(cuMemcpy3DPeerAsync, cuMemcpy3DAsync_v2);
CUCO_DRIVER Error cuMemcpy3DAsync_v2_ptsz(const Copy3d* copy, StreamHandle stream) {
  return copy_volume(copy, per_thread_if_null(stream), false);
}
CUCO_ALIAS(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DAsync_v2_ptsz);

/// Defines the sets of one element size with their names.
#define CUCO_FILL(bits, type)                                                                      \
  CUCO_DRIVER Error cuMemsetD##bits##_v2(DevicePointer at, type value, std::size_t count) {        \
    return fill({at, 0, count, 1, value, bits / 8}, nullptr, true);                                \
  }                                                                                                \
  CUCO_DRIVER Error cuMemsetD##bits##_v2_ptds(DevicePointer at, type value, std::size_t count) {   \
    return fill({at, 0, count, 1, value, bits / 8}, kPerThread, true);                             \
  }                                                                                                \
  CUCO_ALIAS(cuMemsetD##bits, cuMemsetD##bits##_v2);                                               \
  CUCO_DRIVER Error cuMemsetD##bits##Async(DevicePointer at, type value, std::size_t count,        \
                                           StreamHandle stream) {                                  \
    return fill({at, 0, count, 1, value, bits / 8}, stream, false);                                \
  }                                                                                                \
  CUCO_DRIVER Error cuMemsetD##bits##Async_ptsz(DevicePointer at, type value, std::size_t count,   \
                                                StreamHandle stream) {                             \
    return fill({at, 0, count, 1, value, bits / 8}, per_thread_if_null(stream), false);            \
  }                                                                                                \
  CUCO_DRIVER Error cuMemsetD2D##bits##_v2(DevicePointer at, std::size_t pitch, type value,        \
                                           std::size_t width, std::size_t height) {                \
    return fill({at, pitch, width, height, value, bits / 8}, nullptr, true);                       \
  }                                                                                                \
  CUCO_DRIVER Error cuMemsetD2D##bits##_v2_ptds(DevicePointer at, std::size_t pitch, type value,   \
                                                std::size_t width, std::size_t height) {           \
    return fill({at, pitch, width, height, value, bits / 8}, kPerThread, true);                    \
  }                                                                                                \
  CUCO_ALIAS(cuMemsetD2D##bits, cuMemsetD2D##bits##_v2);                                           \
  CUCO_DRIVER Error cuMemsetD2D##bits##Async(DevicePointer at, std::size_t pitch, type value,      \
                                             std::size_t width, std::size_t height,                \
                                             StreamHandle stream) {                                \
    return fill({at, pitch, width, height, value, bits / 8}, stream, false);                       \
  }                                                                                                \
  CUCO_DRIVER Error cuMemsetD2D##bits##Async_ptsz(DevicePointer at, std::size_t pitch, type value, \
                                                  std::size_t width, std::size_t height,           \
                                                  StreamHandle stream) {                           \
    return fill({at, pitch, width, height, value, bits / 8}, per_thread_if_null(stream), false);   \
  }                                                                                                \
  static_assert(true)
CUCO_FILL(8, unsigned char);
CUCO_FILL(16, unsigned short);
CUCO_FILL(32, unsigned);

CUCO_DRIVER Error cuMemAdvise(DevicePointer at, std::size_t bytes, int advice, int device) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaMemAdvise(host(at), bytes, advice, location_of(device)));
}
CUCO_DRIVER Error cuMemPrefetchAsync(DevicePointer at,
                                     std::size_t bytes,
                                     int device,
                                     StreamHandle stream) {
  if (const Error status = ready(); status != 0) return status;
  return result_of(cudaMemPrefetchAsync(host(at), bytes, location_of(device), 0, stream));
}
CUCO_DRIVER Error cuMemPrefetchAsync_ptsz(DevicePointer at,
                                          std::size_t bytes,
                                          int device,
                                          StreamHandle stream) {
  return cuMemPrefetchAsync(at, bytes, device, per_thread_if_null(stream));
}

CUCO_DRIVER Error cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
  if (const Error status = initialised(); status != 0) return status;
  return data == nullptr ? kInvalidValue : pointer_attribute(data, attribute, pointer);
}
CUCO_DRIVER Error cuPointerGetAttributes(unsigned count,
                                         const int* attributes,
                                         void** data,
                                         DevicePointer pointer) {
  if (const Error status = initialised(); status != 0) return status;
  if (attributes == nullptr || data == nullptr) return kInvalidValue;
  // What does not apply reads as nothing: this call never fails because of the pointer.
  for (unsigned i = 0; i < count; ++i) {
    if (pointer_attribute(data[i], attributes[i], pointer) != 0) {
      const bool is_wide = attributes[i] == 1 || attributes[i] == 3 || attributes[i] == 4;
      std::memset(data[i], 0, is_wide ? sizeof(void*) : sizeof(int));
    }
  }
  return 0;
}
CUCO_DRIVER Error cuPointerSetAttribute(const void* /*value*/,
                                        int /*attribute*/,
                                        DevicePointer /*pointer*/) {
  return initialised();
}
