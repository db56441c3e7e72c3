// Small kernels with one bug each, and their twins without it. The PTX beside this file was made by
//   nvcc -std=c++17 -O2 -arch=compute_90 -lineinfo -ptx bugs.cu -o bugs.ptx
#include <cuda/atomic>

extern "C" __global__ void reverse(int* out, const int* in, bool first, bool second) {
  __shared__ int tile[128];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = in[threadIdx.x] + round;
    if (first) __syncthreads();
    out[threadIdx.x] = tile[127 - threadIdx.x];
    if (second) __syncthreads();
  }
}

extern "C" __global__ void copy(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = in[i];
}

// Block 0 passes a value to block 1. mode 0: fences; 1: no fence at the writer; 2: release/acquire;
// 3: release of block scope; 4: relaxed flag only.
extern "C" __global__ void pass(int* data, int* flag, int* out, int mode) {
  if (threadIdx.x != 0) return;
  volatile int* spin = flag;
  cuda::atomic_ref<int, cuda::thread_scope_device> device(*flag);
  cuda::atomic_ref<int, cuda::thread_scope_block> block(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    if (mode == 0) __threadfence();
    if (mode <= 1) *spin = 1;
    if (mode == 2) device.store(1, cuda::memory_order_release);
    if (mode == 3) block.store(1, cuda::memory_order_release);
    if (mode == 4) device.store(1, cuda::memory_order_relaxed);
  } else {
    if (mode <= 1) {
      while (*spin == 0) {
      }
      __threadfence();
    } else if (mode == 4) {
      while (device.load(cuda::memory_order_relaxed) == 0) {
      }
    } else {
      while (device.load(cuda::memory_order_acquire) == 0) {
      }
    }
    *out = *data;
  }
}
