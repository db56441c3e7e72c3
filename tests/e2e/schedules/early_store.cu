// SPDX-License-Identifier: Apache-2.0
// Two GPUs store a value and an epoch to each other; the kernel behind waits for the epoch and reads
// the value. The store has long been issued when that kernel starts: it has to wait all the same.
// A probe must not name it.
#include <cuda/atomic>

#include <cstdio>

#include <cuda_runtime.h>

using Epoch = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__global__ void send(unsigned* peer, unsigned epoch) {
  peer[32] = 100 + epoch;
  Epoch(peer[0]).store(epoch, cuda::memory_order_release);
}

__device__ void await(unsigned* here, unsigned epoch) {
  while (Epoch(here[0]).load(cuda::memory_order_acquire) < epoch) {
  }
}

__global__ void receive(unsigned* here, unsigned epoch, unsigned* out) {
  await(here, epoch);
  out[epoch] = here[32];
}

int main() {
  unsigned* inbox[2];
  unsigned* out[2];
  cudaStream_t stream[2];
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    cudaDeviceEnablePeerAccess(1 - i, 0);
    cudaMalloc(&inbox[i], 4096);
    cudaMemset(inbox[i], 0, 4096);
    cudaMalloc(&out[i], 64);
    cudaMemset(out[i], 0, 64);
    cudaStreamCreate(&stream[i]);
    cudaDeviceSynchronize();
  }
  for (unsigned epoch = 1; epoch <= 3; ++epoch) {
    for (int i = 0; i < 2; ++i) {
      cudaSetDevice(i);
      send<<<1, 1, 0, stream[i]>>>(inbox[1 - i], epoch);
    }
    for (int i = 0; i < 2; ++i) {
      cudaSetDevice(i);
      receive<<<1, 1, 0, stream[i]>>>(inbox[i], epoch, out[i]);
    }
  }
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    cudaStreamSynchronize(stream[i]);
    cudaFree(inbox[i]);
    cudaFree(out[i]);
  }
  std::puts("done");
}
