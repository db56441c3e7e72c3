// SPDX-License-Identifier: Apache-2.0
// Memory: allocations that wait for nobody, copies and fills that run on the rank's own
// multiprocessors. The runtime's copies within a GPU are stuck while other ranks' kernels fill it.
#include <algorithm>

#include "loopback/gpu/rank_memory.h"
#include "loopback/runtime/interpose.h"

using cuco::loopback::Machine;
using cuco::loopback::Memory;
using cuco::loopback::Streams;
using cuco::loopback::StreamUse;

namespace cuco::loopback {
namespace {

constexpr std::uint64_t kBytesPerBlock = std::uint64_t{64} << 10U;

unsigned blocks_for(int rank, std::uint64_t bytes) {
  const auto most = static_cast<std::uint64_t>(Machine::get().rank(rank).sms) * 2;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / kBytesPerBlock, 1, most));
}

bool is_on_device(const void* pointer) {
  return Memory::get().find(reinterpret_cast<CUdeviceptr>(pointer)).has_value();
}

/// Copies from and to memory that is not pinned hold a lock of the driver until the stream has come
/// that far, and with it every other rank. CUDA says that they wait for the stream: they do it
/// first.
void wait_if_pageable(const void* to, const void* from, const StreamUse& use) {
  const auto is_pageable = [](const void* memory) {
    if (is_on_device(memory)) return false;
    cudaPointerAttributes attributes{};
    const cudaError_t asked = CUCO_LOOPBACK_REAL(cudaPointerGetAttributes)(&attributes, memory);
    return asked == cudaSuccess && attributes.type == cudaMemoryTypeUnregistered;
  };
  if (Streams::is_capturing(use.stream()) || (!is_pageable(to) && !is_pageable(from))) return;
  const ScopedContext scope(Machine::get().rank(use.rank()).context);
  const RelaxedCapture relaxed;
  (void)driver().cuStreamSynchronize(use.stream());
}

cudaError_t copy_on_device(void* to, const void* from, std::size_t bytes, const StreamUse& use) {
  if (bytes == 0) return cudaSuccess;
  const ScopedContext scope(Machine::get().rank(use.rank()).context);
  CopyArgs args{reinterpret_cast<Address>(from), reinterpret_cast<Address>(to), bytes, 0, 0, 0};
  return error_of(Machine::get().launch(Machine::get().copy_kernel(), blocks_for(use.rank(), bytes),
                                        512, use.stream(), &args));
}

cudaError_t fill(void* to, int value, std::size_t bytes, const StreamUse& use) {
  if (bytes == 0) return cudaSuccess;
  const ScopedContext scope(Machine::get().rank(use.rank()).context);
  FillArgs args{reinterpret_cast<Address>(to), bytes, static_cast<std::uint32_t>(value) & 0xFFU};
  return error_of(Machine::get().launch(Machine::get().fill_kernel(), blocks_for(use.rank(), bytes),
                                        512, use.stream(), &args));
}

}  // namespace
}  // namespace cuco::loopback

using cuco::loopback::copy_on_device;
using cuco::loopback::error_of;
using cuco::loopback::fill;
using cuco::loopback::is_on_device;

CUCO_LOOPBACK_EXPORT cudaError_t cudaMalloc(void** out, size_t bytes) {
  if (out == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  const CUresult result =
      Memory::get().allocate(&address, Machine::get().current_rank(), bytes, false);
  *out = reinterpret_cast<void*>(address);
  return error_of(result);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaFree(void* memory) {
  const int current = Machine::get().current_rank();
  if (memory == nullptr) return cudaSuccess;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const auto owner = Memory::get().owner_of(address);
  const CUresult waited = Streams::get().wait_for(owner.value_or(current));
  if (waited != CUDA_SUCCESS) return error_of(waited);
  if (Memory::get().free(address)) return cudaSuccess;
  return CUCO_LOOPBACK_REAL(cudaFree)(memory);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned flags) {
  (void)Machine::get().current_rank();
  if (out == nullptr) return cudaErrorInvalidValue;
  // Of all ranks: they share one context underneath.
  flags |= cudaHostAllocPortable;
  *out = Memory::get().take_host(bytes, flags);
  if (*out != nullptr) return cudaSuccess;
  const cudaError_t result = CUCO_LOOPBACK_REAL(cudaHostAlloc)(out, bytes, flags);
  if (result == cudaSuccess) Memory::get().note_host(*out, bytes, flags);
  return result;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMallocHost(void** out, size_t bytes) {
  return cudaHostAlloc(out, bytes, cudaHostAllocDefault);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaFreeHost(void* memory) {
  const int current = Machine::get().current_rank();
  if (memory == nullptr) return cudaSuccess;
  const CUresult waited = Streams::get().wait_for(current);
  if (waited != CUDA_SUCCESS) return error_of(waited);
  if (Memory::get().keep_host(memory)) return cudaSuccess;
  return CUCO_LOOPBACK_REAL(cudaFreeHost)(memory);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const StreamUse use(stream, "cudaMemcpyAsync");
  if (is_on_device(to) && is_on_device(from)) return copy_on_device(to, from, bytes, use);
  cuco::loopback::wait_if_pageable(to, from, use);
  return CUCO_LOOPBACK_REAL(cudaMemcpyAsync)(to, from, bytes, kind, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemcpy(void* to,
                                            const void* from,
                                            size_t bytes,
                                            cudaMemcpyKind kind) {
  const StreamUse use(nullptr, "cudaMemcpy");
  if (is_on_device(to) && is_on_device(from)) return copy_on_device(to, from, bytes, use);
  // Waiting first holds no lock that the network needs.
  const CUresult waited = cuco::loopback::driver().cuStreamSynchronize(nullptr);
  if (waited != CUDA_SUCCESS) return error_of(waited);
  return CUCO_LOOPBACK_REAL(cudaMemcpy)(to, from, bytes, kind);
}

CUCO_LOOPBACK_EXPORT cudaError_t
cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

CUCO_LOOPBACK_EXPORT cudaError_t
cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemsetAsync(void* to,
                                                 int value,
                                                 size_t bytes,
                                                 cudaStream_t stream) {
  const StreamUse use(stream, "cudaMemsetAsync");
  if (is_on_device(to)) return fill(to, value, bytes, use);
  return CUCO_LOOPBACK_REAL(cudaMemsetAsync)(to, value, bytes, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  const StreamUse use(nullptr, "cudaMemset");
  if (is_on_device(to)) return fill(to, value, bytes, use);
  return CUCO_LOOPBACK_REAL(cudaMemset)(to, value, bytes);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemcpyToSymbol(
    const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  const StreamUse use(nullptr, "cudaMemcpyToSymbol");
  return CUCO_LOOPBACK_REAL(cudaMemcpyToSymbol)(symbol, from, bytes, offset, kind);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMemcpyFromSymbol(
    void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  const StreamUse use(nullptr, "cudaMemcpyFromSymbol");
  (void)cuco::loopback::driver().cuStreamSynchronize(nullptr);
  return CUCO_LOOPBACK_REAL(cudaMemcpyFromSymbol)(to, symbol, bytes, offset, kind);
}

// NOLINTNEXTLINE(readability-function-size): CUDA's signature.
CUCO_LOOPBACK_EXPORT cudaError_t cudaMemcpy2DAsync(void* to,
                                                   size_t to_pitch,
                                                   const void* from,
                                                   size_t from_pitch,
                                                   size_t width,
                                                   size_t height,
                                                   cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  const StreamUse use(stream, "cudaMemcpy2DAsync");
  cuco::loopback::wait_if_pageable(to, from, use);
  return CUCO_LOOPBACK_REAL(cudaMemcpy2DAsync)(to, to_pitch, from, from_pitch, width, height, kind,
                                               use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  const StreamUse use(stream, "cudaMallocAsync");
  return CUCO_LOOPBACK_REAL(cudaMallocAsync)(out, bytes, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const StreamUse use(stream, "cudaFreeAsync");
  return CUCO_LOOPBACK_REAL(cudaFreeAsync)(memory, use.stream());
}
