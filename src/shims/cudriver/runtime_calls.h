// SPDX-License-Identifier: Apache-2.0
/// \file
/// The runtime's functions that the hand-written part of the driver API calls.
#pragma once

#include "shims/cudart/abi.h"
#include "shims/cudriver/driver.h"

extern "C" {
using cuco::cudart::DeviceProperties;
using cuco::cudart::Error;
using cuco::cudart::StreamHandle;

Error cudaGetLastError();
Error cudaGetDevice(int* device);
Error cudaSetDevice(int device);
Error cudaGetDeviceCount(int* count);
Error cudaGetDeviceProperties(DeviceProperties* properties, int device);
Error cudaDeviceGetAttribute(int* value, int attribute, int device);
Error cudaDeviceReset();
Error cudaDeviceSynchronize();
Error cudaDeviceEnablePeerAccess(int peer, unsigned flags);
Error cudaDeviceDisablePeerAccess(int peer);
const char* cudaGetErrorString(Error error);
Error cudaEventElapsedTime(float* ms,
                           cuco::cudart::EventHandle start,
                           cuco::cudart::EventHandle end);
Error cudaStreamGetDevice(StreamHandle stream, int* device);

Error cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
Error cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
Error cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, int kind);
Error cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream);
Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes);
Error cudaMemcpyPeerAsync(void* to,
                          int to_device,
                          const void* from,
                          int from_device,
                          std::size_t bytes,
                          StreamHandle stream);
Error cudaMemcpy3D(const cuco::cudart::Copy3d* copy);
Error cudaMemcpy3D_ptds(const cuco::cudart::Copy3d* copy);
Error cudaMemcpy3DAsync(const cuco::cudart::Copy3d* copy, StreamHandle stream);
Error cudaMemPrefetchAsync(const void* at,
                           std::size_t bytes,
                           cuco::cudart::MemoryLocation location,
                           unsigned flags,
                           StreamHandle stream);
Error cudaMemAdvise(const void* at,
                    std::size_t bytes,
                    int advice,
                    cuco::cudart::MemoryLocation location);
Error cudaPointerGetAttributes(cuco::cudart::PointerAttributes* attributes, const void* pointer);

Error cudaLaunchKernel(const void* function,
                       cuco::cudart::Dim3 grid,
                       cuco::cudart::Dim3 block,
                       void** arguments,
                       std::size_t dynamic_smem,
                       StreamHandle stream);
Error cudaLaunchCooperativeKernel(const void* function,
                                  cuco::cudart::Dim3 grid,
                                  cuco::cudart::Dim3 block,
                                  void** arguments,
                                  std::size_t dynamic_smem,
                                  StreamHandle stream);
Error cudaLaunchKernelExC(const cuco::cudart::LaunchConfig* config,
                          const void* function,
                          void** arguments);
Error cudaFuncGetParamInfo(const void* function,
                           std::size_t index,
                           std::size_t* offset,
                           std::size_t* bytes);
Error cudaFuncGetAttributes(cuco::cudart::FunctionAttributes* attributes, const void* function);
Error cudaFuncSetAttribute(const void* function, int attribute, int value);
Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                    const void* function,
                                                    int threads,
                                                    std::size_t dynamic_smem);

Error cudaLibraryUnload(cuco::cudart::LibraryHandle library);
Error cudaLibraryGetKernel(cuco::cudriver::KernelHandle* kernel,
                           cuco::cudart::LibraryHandle library,
                           const char* name);
Error cudaLibraryGetKernelCount(unsigned* count, cuco::cudart::LibraryHandle library);
Error cudaLibraryEnumerateKernels(cuco::cudriver::KernelHandle* kernels,
                                  unsigned count,
                                  cuco::cudart::LibraryHandle library);
Error cudaLibraryGetGlobal(void** address,
                           std::size_t* bytes,
                           cuco::cudart::LibraryHandle library,
                           const char* name);
}
