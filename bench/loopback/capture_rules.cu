// SPDX-License-Identifier: Apache-2.0
// Which calls CUDA allows while the calling thread captures another stream, by mode. One JSON line per
// mode; a call that is not allowed also spoils the capture ("end").
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
  cudaFree(nullptr);
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  void *device, *pinned;
  std::vector<char> pageable(4096);
  cudaMalloc(&device, 4096), cudaMallocHost(&pinned, 4096);
  cudaEvent_t event;
  cudaEventCreate(&event), cudaEventRecord(event, other), cudaStreamSynchronize(other);
  const std::vector<std::pair<const char*, std::function<cudaError_t()>>> calls = {
      {"cudaMemcpyAsync pageable", [&] { return cudaMemcpyAsync(device, pageable.data(), 4096, cudaMemcpyHostToDevice, other); }},
      {"cudaMemcpyAsync pinned", [&] { return cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, other); }},
      {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(other); }},
      {"cudaStreamQuery", [&] { return cudaStreamQuery(other); }},
      {"cudaEventQuery", [&] { return cudaEventQuery(event); }},
      {"cudaEventSynchronize", [&] { return cudaEventSynchronize(event); }},
      {"cudaEventCreate", [&] { cudaEvent_t e; return cudaEventCreateWithFlags(&e, cudaEventDisableTiming); }},
      {"cudaStreamCreate", [&] { cudaStream_t s; return cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -1); }},
      {"cudaPointerGetAttributes", [&] { cudaPointerAttributes a; return cudaPointerGetAttributes(&a, device); }},
      {"launch on another stream", [&] { nothing<<<1, 1, 0, other>>>(); return cudaGetLastError(); }},
      {"cudaMalloc", [&] { void* p; return cudaMalloc(&p, 4096); }},
      {"cudaMallocHost", [&] { void* p; return cudaMallocHost(&p, 4096); }},
      {"cudaMemcpy", [&] { return cudaMemcpy(device, pageable.data(), 4096, cudaMemcpyHostToDevice); }},
      {"cudaDeviceSynchronize", [&] { return cudaDeviceSynchronize(); }},
      {"cudaFree", [&] { void* p = device; device = nullptr; return cudaFree(p); }},
  };
  for (const auto& [mode, name] : {std::pair(cudaStreamCaptureModeGlobal, "global"),
                                   std::pair(cudaStreamCaptureModeThreadLocal, "thread local"),
                                   std::pair(cudaStreamCaptureModeRelaxed, "relaxed")}) {
    std::printf("{\"mode\": \"%s\"", name);
    for (const auto& [what, call] : calls) {
      if (device == nullptr) cudaMalloc(&device, 4096);
      cudaStream_t stream;
      cudaGraph_t graph = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      cudaStreamBeginCapture(stream, mode);
      nothing<<<1, 1, 0, stream>>>();
      const cudaError_t result = call();
      const cudaError_t end = cudaStreamEndCapture(stream, &graph);
      (void)cudaGetLastError();
      cudaDeviceSynchronize();
      std::printf(", \"%s\": \"%s%s\"", what, result == cudaSuccess ? "ok" : cudaGetErrorName(result),
                  end == cudaSuccess ? "" : ", spoiled");
    }
    std::printf("}\n");
  }
}
