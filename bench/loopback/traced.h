// SPDX-License-Identifier: Apache-2.0
// For designs whose set-up fails: names each CUDA call that fails, on standard error.
//     nvcc -include traced.h …
#pragma once

#include <cstdio>

#include <cuda_runtime.h>

namespace traced {

inline cudaError_t say(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess && result != cudaErrorNotReady) {
    std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(result),
                 cudaGetErrorString(result));
  }
  return result;
}

}  // namespace traced

#define CUCO_TRACED(name, ...) traced::say((name)(__VA_ARGS__), #name, __FILE__, __LINE__)
#define cudaMalloc(...) CUCO_TRACED(cudaMalloc, __VA_ARGS__)
#define cudaMemset(...) CUCO_TRACED(cudaMemset, __VA_ARGS__)
#define cudaMemcpy(...) CUCO_TRACED(cudaMemcpy, __VA_ARGS__)
#define cudaMemcpyAsync(...) CUCO_TRACED(cudaMemcpyAsync, __VA_ARGS__)
#define cudaMemsetAsync(...) CUCO_TRACED(cudaMemsetAsync, __VA_ARGS__)
#define cudaDeviceSynchronize(...) CUCO_TRACED(cudaDeviceSynchronize, __VA_ARGS__)
#define cudaEventCreateWithFlags(...) CUCO_TRACED(cudaEventCreateWithFlags, __VA_ARGS__)
#define cudaEventRecord(...) CUCO_TRACED(cudaEventRecord, __VA_ARGS__)
#define cudaFuncSetAttribute(...) CUCO_TRACED(cudaFuncSetAttribute, __VA_ARGS__)
#define cudaGetDevice(...) CUCO_TRACED(cudaGetDevice, __VA_ARGS__)
#define cudaSetDevice(...) CUCO_TRACED(cudaSetDevice, __VA_ARGS__)
#define cudaGetLastError(...) CUCO_TRACED(cudaGetLastError, __VA_ARGS__)
#define cudaGraphInstantiate(...) CUCO_TRACED(cudaGraphInstantiate, __VA_ARGS__)
#define cudaGraphLaunch(...) CUCO_TRACED(cudaGraphLaunch, __VA_ARGS__)
#define cudaStreamBeginCapture(...) CUCO_TRACED(cudaStreamBeginCapture, __VA_ARGS__)
#define cudaStreamEndCapture(...) CUCO_TRACED(cudaStreamEndCapture, __VA_ARGS__)
#define cudaStreamCreateWithFlags(...) CUCO_TRACED(cudaStreamCreateWithFlags, __VA_ARGS__)
#define cudaStreamCreateWithPriority(...) CUCO_TRACED(cudaStreamCreateWithPriority, __VA_ARGS__)
#define cudaStreamIsCapturing(...) CUCO_TRACED(cudaStreamIsCapturing, __VA_ARGS__)
#define cudaStreamSynchronize(...) CUCO_TRACED(cudaStreamSynchronize, __VA_ARGS__)
#define cudaStreamWaitEvent(...) CUCO_TRACED(cudaStreamWaitEvent, __VA_ARGS__)
