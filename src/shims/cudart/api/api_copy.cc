// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "shims/cudart/client_copy.h"
#include "shims/cudart/driver_port.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"

namespace cuco::cudart {

Error symbol_address(const void* symbol, std::size_t offset, std::size_t bytes, void** address) {
  DeviceVariable* variable = find_variable(symbol);
  if (variable == nullptr) return wire::kInvalidSymbol;
  if (const Error status = refused(); status != 0) return status;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  if (const Error status = locate(*variable, &base, &size); status != 0) return status;
  if (offset > size || bytes > size - offset) return wire::kInvalidValue;
  *address = reinterpret_cast<void*>(base + offset);
  return 0;
}

}  // namespace cuco::cudart

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

CopyRequest linear(void* to, const void* from, std::size_t bytes, int kind) {
  return {.to = to,
          .to_pitch = bytes,
          .to_slice = bytes,
          .from = from,
          .from_pitch = bytes,
          .from_slice = bytes,
          .width = bytes,
          .kind = kind};
}

struct Plane {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t width;
  std::size_t height;
};

Error copy_plane(const Plane& plane, int kind, StreamHandle stream, Waiting waiting) {
  if (plane.width > plane.to_pitch || plane.width > plane.from_pitch) {
    return wire::kInvalidPitchValue;
  }
  return copy({.to = plane.to,
               .to_pitch = plane.to_pitch,
               .to_slice = plane.to_pitch * plane.height,
               .from = plane.from,
               .from_pitch = plane.from_pitch,
               .from_slice = plane.from_pitch * plane.height,
               .width = plane.width,
               .height = plane.height,
               .kind = kind},
              stream, waiting);
}

std::size_t offset_of(const PitchedPointer& pointer, const Position& at) {
  return at.z * pointer.pitch * pointer.ysize + at.y * pointer.pitch + at.x;
}

template <typename Parameters>
CopyRequest volume(const Parameters& p, int kind) {
  // One slice needs no ysize, and programs leave it out.
  const auto slice = [&](const PitchedPointer& pointer) {
    return pointer.pitch * (pointer.ysize != 0 ? pointer.ysize : p.extent.height);
  };
  return {.to = static_cast<std::byte*>(p.dst.ptr) + offset_of(p.dst, p.dst_pos),
          .to_pitch = p.dst.pitch,
          .to_slice = slice(p.dst),
          .from = static_cast<const std::byte*>(p.src.ptr) + offset_of(p.src, p.src_pos),
          .from_pitch = p.src.pitch,
          .from_slice = slice(p.src),
          .width = p.extent.width,
          .height = p.extent.height,
          .depth = p.extent.depth,
          .kind = kind};
}

Error copy_volume(const Copy3d* p, StreamHandle stream, Waiting waiting) {
  if (p == nullptr) return wire::kInvalidValue;
  if (p->src_array != nullptr || p->dst_array != nullptr) return unsupported("cudaArray copies");
  return copy(volume(*p, p->kind), stream, waiting);
}

Error copy_volume_peer(const Copy3dPeer* p, StreamHandle stream, Waiting waiting) {
  if (p == nullptr) return wire::kInvalidValue;
  if (p->src_array != nullptr || p->dst_array != nullptr) return unsupported("cudaArray copies");
  return copy(volume(*p, kDeviceToDevice), stream, waiting);
}

struct SymbolCopy {
  const void* symbol;
  std::size_t offset;
  std::size_t bytes;
  int kind;
};

Error to_symbol(const SymbolCopy& s, const void* from, StreamHandle stream, Waiting waiting) {
  void* address = nullptr;
  const Error status = symbol_address(s.symbol, s.offset, s.bytes, &address);
  return status != 0 ? status : copy(linear(address, from, s.bytes, s.kind), stream, waiting);
}

Error from_symbol(void* to, const SymbolCopy& s, StreamHandle stream, Waiting waiting) {
  void* address = nullptr;
  const Error status = symbol_address(s.symbol, s.offset, s.bytes, &address);
  return status != 0 ? status : copy(linear(to, address, s.bytes, s.kind), stream, waiting);
}

Error fill_volume(const PitchedPointer& pointer,
                  int value,
                  const Extent& extent,
                  StreamHandle stream,
                  bool wait) {
  if (extent.width > pointer.pitch && extent.height > 1) return wire::kInvalidValue;
  wire::Fill request;
  request.stream = stream_ref(stream);
  request.address = reinterpret_cast<std::uint64_t>(pointer.ptr);
  request.pitch = pointer.pitch;
  request.slice = pointer.pitch * pointer.ysize;
  request.width = extent.width;
  request.height = extent.height;
  request.depth = extent.depth;
  request.value = static_cast<std::uint32_t>(value) & 0xFFU;
  request.wait = wait ? 1 : 0;
  return fill(request);
}

Error fill_linear(void* at, int value, std::size_t bytes, StreamHandle stream, bool wait) {
  return fill_volume({at, bytes, bytes, 1}, value, {bytes, 1, 1}, stream, wait);
}

constexpr auto kWait = Waiting::ForTheEnd;
constexpr auto kNoWait = Waiting::No;

}  // namespace

CUCO_CUDART Error cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return done(copy(linear(to, from, bytes, kind), nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, int kind) {
  return done(copy(linear(to, from, bytes, kind), kPerThread, kWait));
}
CUCO_CUDART Error
cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream) {
  return done(copy(linear(to, from, bytes, kind), stream, kNoWait));
}
CUCO_CUDART Error
cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, per_thread_if_null(stream));
}
CUCO_CUDART Error cudaMemcpyPeer(
    void* to, int /*to_device*/, const void* from, int /*from_device*/, std::size_t bytes) {
  return done(copy(linear(to, from, bytes, kDeviceToDevice), nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpyPeerAsync(void* to,
                                      int /*to_device*/,
                                      const void* from,
                                      int /*from_device*/,
                                      std::size_t bytes,
                                      StreamHandle stream) {
  return done(copy(linear(to, from, bytes, kDeviceToDevice), stream, kNoWait));
}

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_CUDART Error cudaMemcpy2D(void* to,
                               std::size_t to_pitch,
                               const void* from,
                               std::size_t from_pitch,
                               std::size_t width,
                               std::size_t height,
                               int kind) {
  return done(copy_plane({to, to_pitch, from, from_pitch, width, height}, kind, nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpy2D_ptds(void* to,
                                    std::size_t to_pitch,
                                    const void* from,
                                    std::size_t from_pitch,
                                    std::size_t width,
                                    std::size_t height,
                                    int kind) {
  return done(copy_plane({to, to_pitch, from, from_pitch, width, height}, kind, kPerThread, kWait));
}
CUCO_CUDART Error cudaMemcpy2DAsync(void* to,
                                    std::size_t to_pitch,
                                    const void* from,
                                    std::size_t from_pitch,
                                    std::size_t width,
                                    std::size_t height,
                                    int kind,
                                    StreamHandle stream) {
  return done(copy_plane({to, to_pitch, from, from_pitch, width, height}, kind, stream, kNoWait));
}
CUCO_CUDART Error cudaMemcpy2DAsync_ptsz(void* to,
                                         std::size_t to_pitch,
                                         const void* from,
                                         std::size_t from_pitch,
                                         std::size_t width,
                                         std::size_t height,
                                         int kind,
                                         StreamHandle stream) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind,
                           per_thread_if_null(stream));
}
CUCO_CUDART Error cudaMemcpyBatchAsync(void* const* to,
                                       const void* const* from,
                                       const std::size_t* bytes,
                                       std::size_t count,
                                       void* /*attributes*/,
                                       std::size_t* /*indices*/,
                                       std::size_t /*attribute_count*/,
                                       StreamHandle stream) {
  if (to == nullptr || from == nullptr || bytes == nullptr) return done(wire::kInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const Error status = copy(linear(to[i], from[i], bytes[i], kDefaultKind), stream, kNoWait);
    if (status != 0) return done(status);
  }
  return 0;
}
CUCO_CUDART Error cudaMemcpyBatchAsync_ptsz(void* const* to,
                                            const void* const* from,
                                            const std::size_t* bytes,
                                            std::size_t count,
                                            void* attributes,
                                            std::size_t* indices,
                                            std::size_t attribute_count,
                                            StreamHandle stream) {
  return cudaMemcpyBatchAsync(to, from, bytes, count, attributes, indices, attribute_count,
                              per_thread_if_null(stream));
}
// NOLINTEND(readability-function-size)

CUCO_CUDART Error cudaMemcpy3D(const Copy3d* p) {
  return done(copy_volume(p, nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpy3D_ptds(const Copy3d* p) {
  return done(copy_volume(p, kPerThread, kWait));
}
CUCO_CUDART Error cudaMemcpy3DAsync(const Copy3d* p, StreamHandle stream) {
  return done(copy_volume(p, stream, kNoWait));
}
CUCO_CUDART Error cudaMemcpy3DAsync_ptsz(const Copy3d* p, StreamHandle stream) {
  return done(copy_volume(p, per_thread_if_null(stream), kNoWait));
}
CUCO_CUDART Error cudaMemcpy3DPeer(const Copy3dPeer* p) {
  return done(copy_volume_peer(p, nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpy3DPeer_ptds(const Copy3dPeer* p) {
  return done(copy_volume_peer(p, kPerThread, kWait));
}
CUCO_CUDART Error cudaMemcpy3DPeerAsync(const Copy3dPeer* p, StreamHandle stream) {
  return done(copy_volume_peer(p, stream, kNoWait));
}
CUCO_CUDART Error cudaMemcpy3DPeerAsync_ptsz(const Copy3dPeer* p, StreamHandle stream) {
  return done(copy_volume_peer(p, per_thread_if_null(stream), kNoWait));
}

CUCO_CUDART Error cudaMemcpyToSymbol(
    const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
  return done(to_symbol({symbol, offset, bytes, kind}, from, nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpyToSymbol_ptds(
    const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
  return done(to_symbol({symbol, offset, bytes, kind}, from, kPerThread, kWait));
}
CUCO_CUDART Error cudaMemcpyToSymbolAsync(const void* symbol,
                                          const void* from,
                                          std::size_t bytes,
                                          std::size_t offset,
                                          int kind,
                                          StreamHandle stream) {
  return done(to_symbol({symbol, offset, bytes, kind}, from, stream, kNoWait));
}
CUCO_CUDART Error cudaMemcpyToSymbolAsync_ptsz(const void* symbol,
                                               const void* from,
                                               std::size_t bytes,
                                               std::size_t offset,
                                               int kind,
                                               StreamHandle stream) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, per_thread_if_null(stream));
}
CUCO_CUDART Error cudaMemcpyFromSymbol(
    void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
  return done(from_symbol(to, {symbol, offset, bytes, kind}, nullptr, kWait));
}
CUCO_CUDART Error cudaMemcpyFromSymbol_ptds(
    void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
  return done(from_symbol(to, {symbol, offset, bytes, kind}, kPerThread, kWait));
}
CUCO_CUDART Error cudaMemcpyFromSymbolAsync(void* to,
                                            const void* symbol,
                                            std::size_t bytes,
                                            std::size_t offset,
                                            int kind,
                                            StreamHandle stream) {
  return done(from_symbol(to, {symbol, offset, bytes, kind}, stream, kNoWait));
}
CUCO_CUDART Error cudaMemcpyFromSymbolAsync_ptsz(void* to,
                                                 const void* symbol,
                                                 std::size_t bytes,
                                                 std::size_t offset,
                                                 int kind,
                                                 StreamHandle stream) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, per_thread_if_null(stream));
}

CUCO_CUDART Error cudaGetSymbolAddress(void** address, const void* symbol) {
  if (address == nullptr) return done(wire::kInvalidValue);
  return done(symbol_address(symbol, 0, 0, address));
}
CUCO_CUDART Error cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  const DeviceVariable* variable = find_variable(symbol);
  if (bytes == nullptr) return done(wire::kInvalidValue);
  if (variable == nullptr) return done(wire::kInvalidSymbol);
  *bytes = variable->bytes;
  return 0;
}

CUCO_CUDART Error cucoFill(const CucoFill* what, StreamHandle stream, int wait) {
  const std::size_t row = what->width * what->element_bytes;
  if (what->height > 1 && what->pitch < row) return wire::kInvalidValue;
  if (what->address % what->element_bytes != 0) return wire::kInvalidValue;
  wire::Fill request;
  request.stream = stream_ref(stream);
  request.address = what->address;
  request.pitch = what->pitch != 0 ? what->pitch : row;
  request.slice = request.pitch * what->height;
  request.width = what->width;
  request.height = what->height;
  request.value = what->value;
  request.element_bytes = what->element_bytes;
  request.wait = wait != 0 ? 1 : 0;
  return fill(request);
}

CUCO_CUDART Error cudaMemset(void* at, int value, std::size_t bytes) {
  return done(fill_linear(at, value, bytes, nullptr, true));
}
CUCO_CUDART Error cudaMemset_ptds(void* at, int value, std::size_t bytes) {
  return done(fill_linear(at, value, bytes, kPerThread, true));
}
CUCO_CUDART Error cudaMemsetAsync(void* at, int value, std::size_t bytes, StreamHandle stream) {
  return done(fill_linear(at, value, bytes, stream, false));
}
CUCO_CUDART Error cudaMemsetAsync_ptsz(void* at,
                                       int value,
                                       std::size_t bytes,
                                       StreamHandle stream) {
  return cudaMemsetAsync(at, value, bytes, per_thread_if_null(stream));
}
CUCO_CUDART Error
cudaMemset2D(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return done(fill_volume({at, pitch, width, height}, value, {width, height, 1}, nullptr, true));
}
CUCO_CUDART Error
cudaMemset2D_ptds(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return done(fill_volume({at, pitch, width, height}, value, {width, height, 1}, kPerThread, true));
}
CUCO_CUDART Error cudaMemset2DAsync(void* at,
                                    std::size_t pitch,
                                    int value,
                                    std::size_t width,
                                    std::size_t height,
                                    StreamHandle stream) {
  return done(fill_volume({at, pitch, width, height}, value, {width, height, 1}, stream, false));
}
CUCO_CUDART Error cudaMemset2DAsync_ptsz(void* at,
                                         std::size_t pitch,
                                         int value,
                                         std::size_t width,
                                         std::size_t height,
                                         StreamHandle stream) {
  return cudaMemset2DAsync(at, pitch, value, width, height, per_thread_if_null(stream));
}
CUCO_CUDART Error cudaMemset3D(PitchedPointer at, int value, Extent extent) {
  return done(fill_volume(at, value, extent, nullptr, true));
}
CUCO_CUDART Error cudaMemset3D_ptds(PitchedPointer at, int value, Extent extent) {
  return done(fill_volume(at, value, extent, kPerThread, true));
}
CUCO_CUDART Error cudaMemset3DAsync(PitchedPointer at,
                                    int value,
                                    Extent extent,
                                    StreamHandle stream) {
  return done(fill_volume(at, value, extent, stream, false));
}
CUCO_CUDART Error cudaMemset3DAsync_ptsz(PitchedPointer at,
                                         int value,
                                         Extent extent,
                                         StreamHandle stream) {
  return done(fill_volume(at, value, extent, per_thread_if_null(stream), false));
}
