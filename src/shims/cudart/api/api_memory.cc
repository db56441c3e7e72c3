// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "shims/cudart/driver_port.h"
#include "shims/cudart/host_memory.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_memory.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr std::size_t kPitchAlignment = 512;

Error allocate(void** pointer, std::size_t bytes, wire::MemoryKind kind, unsigned flags) {
  if (pointer == nullptr) return wire::kInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return refused();
  }
  wire::Allocate::Reply reply;
  const Error status =
      call(wire::Allocate{.device = here(), .kind = kind, .bytes = bytes, .flags = flags}, &reply);
  if (status != 0) return status;
  if (kind != wire::MemoryKind::Device && !map_host_memory(reply.address, bytes)) {
    return wire::kMemoryAllocation;
  }
  *pointer = reinterpret_cast<void*>(reply.address);
  return 0;
}

Error release(void* pointer, wire::MemoryKind kind) {
  if (pointer == nullptr) return refused();
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  wire::Free::Reply reply;
  const Error status = call(wire::Free{.address = address, .kind = kind}, &reply);
  if (status == 0 && !is_device_address(pointer)) unmap_host_memory(address, reply.bytes);
  return status;
}

}  // namespace

CUCO_CUDART Error cudaMalloc(void** pointer, std::size_t bytes) {
  return done(allocate(pointer, bytes, wire::MemoryKind::Device, 0));
}

CUCO_CUDART Error cudaFree(void* pointer) {
  if (pointer == nullptr) note_runtime_used();  // the customary way to start the runtime
  return done(release(pointer, wire::MemoryKind::Device));
}

CUCO_CUDART Error cudaMallocHost(void** pointer, std::size_t bytes) {
  return done(allocate(pointer, bytes, wire::MemoryKind::Host, 0));
}

CUCO_CUDART Error cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (flags > 7) return done(wire::kInvalidValue);
  return done(allocate(pointer, bytes, wire::MemoryKind::Host, flags));
}

CUCO_CUDART Error cudaFreeHost(void* pointer) {
  return done(release(pointer, wire::MemoryKind::Host));
}

CUCO_CUDART Error cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (bytes == 0 || (flags != 1 && flags != 2)) return done(wire::kInvalidValue);
  return done(allocate(pointer, bytes, wire::MemoryKind::Managed, flags));
}

CUCO_CUDART Error cudaMallocPitch(void** pointer,
                                  std::size_t* pitch,
                                  std::size_t width,
                                  std::size_t height) {
  if (pitch == nullptr) return done(wire::kInvalidValue);
  *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return done(allocate(pointer, *pitch * height, wire::MemoryKind::Device, 0));
}

CUCO_CUDART Error cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
  if (pointer == nullptr) return done(wire::kInvalidValue);
  const std::size_t pitch =
      (extent.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  void* memory = nullptr;
  const Error status =
      allocate(&memory, pitch * extent.height * extent.depth, wire::MemoryKind::Device, 0);
  *pointer = {memory, pitch, extent.width, extent.height};
  return done(status);
}

CUCO_CUDART Error cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || bytes == 0 || flags > 15) return done(wire::kInvalidValue);
  if (is_server_address(pointer) || registered_alias(pointer)) {
    return done(wire::kHostMemoryAlreadyRegistered);
  }
  void* alias = nullptr;
  const Error status = allocate(&alias, page_span(pointer, bytes), wire::MemoryKind::Host, flags);
  if (status != 0) return done(status);
  if (!register_memory(pointer, bytes, reinterpret_cast<std::uint64_t>(alias), flags)) {
    (void)release(alias, wire::MemoryKind::Host);
    return done(wire::kInvalidValue);
  }
  return 0;
}

CUCO_CUDART Error cudaHostUnregister(void* pointer) {
  const auto alias = unregister_memory(pointer);
  if (!alias) return done(wire::kHostMemoryNotRegistered);
  return done(release(reinterpret_cast<void*>(*alias), wire::MemoryKind::Host));
}

CUCO_CUDART Error cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (device == nullptr || flags != 0) return done(wire::kInvalidValue);
  if (const auto alias = registered_alias(host)) {
    *device = reinterpret_cast<void*>(*alias);
    return 0;
  }
  if (!is_server_address(host)) return done(wire::kInvalidValue);
  *device = host;
  return 0;
}

CUCO_CUDART Error cudaHostGetFlags(unsigned* flags, void* host) {
  if (flags == nullptr) return done(wire::kInvalidValue);
  if (const auto known = registered_flags(host)) {
    *flags = *known;
    return 0;
  }
  wire::FindAllocation::Reply reply;
  const Error status =
      call(wire::FindAllocation{.address = reinterpret_cast<std::uint64_t>(host)}, &reply);
  if (status != 0) return done(status);
  if (reply.kind != wire::MemoryKind::Host) return done(wire::kInvalidValue);
  *flags = reply.flags | 2;  // cudaHostAllocMapped: all is
  return 0;
}

CUCO_CUDART Error cucoFindAllocation(std::uint64_t address,
                                     std::uint64_t* base,
                                     std::size_t* bytes) {
  wire::FindAllocation::Reply reply;
  if (!is_server_address(reinterpret_cast<const void*>(address))) return wire::kInvalidValue;
  if (const Error status = call(wire::FindAllocation{.address = address}, &reply); status != 0)
    return status;
  if (reply.kind == wire::MemoryKind::Unknown) return wire::kInvalidValue;
  *base = reply.base;
  *bytes = reply.bytes;
  return 0;
}

CUCO_CUDART Error cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return done(wire::kInvalidValue);
  *attributes = {};
  attributes->device = thread().device;
  if (const auto alias = registered_alias(pointer)) {
    attributes->type = static_cast<int>(wire::MemoryKind::Host);
    attributes->device_pointer = reinterpret_cast<void*>(*alias);
    attributes->host_pointer = const_cast<void*>(pointer);
    return 0;
  }
  wire::FindAllocation::Reply reply;
  if (is_server_address(pointer)) {
    const Error status =
        call(wire::FindAllocation{.address = reinterpret_cast<std::uint64_t>(pointer)}, &reply);
    if (status != 0) return done(status);
  }
  attributes->type = static_cast<int>(reply.kind);
  if (reply.kind == wire::MemoryKind::Unknown) {
    attributes->device = -2;
    attributes->host_pointer = const_cast<void*>(pointer);
    return 0;
  }
  attributes->device = ordinal_of(reply.device) >= 0 ? ordinal_of(reply.device) : 0;
  attributes->device_pointer = const_cast<void*>(pointer);
  if (reply.kind != wire::MemoryKind::Device) {
    attributes->host_pointer = const_cast<void*>(pointer);
  }
  return 0;
}

// Managed memory is one memory for host and devices here: there is nothing to attach.

CUCO_CUDART Error cudaStreamAttachMemAsync(StreamHandle /*stream*/,
                                           void* pointer,
                                           std::size_t /*bytes*/,
                                           unsigned /*flags*/) {
  return done(is_server_address(pointer) ? 0 : Error{wire::kInvalidValue});
}

CUCO_CUDART Error cudaStreamAttachMemAsync_ptsz(StreamHandle stream,
                                                void* pointer,
                                                std::size_t bytes,
                                                unsigned flags) {
  return cudaStreamAttachMemAsync(stream, pointer, bytes, flags);
}
