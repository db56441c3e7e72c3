// SPDX-License-Identifier: Apache-2.0
// Memory errors of kernels and copies, one behaviour per case, and twins without it.
//
// CASE index_too_far out-of-bounds
// CASE index_in_bounds none
// CASE before_the_start out-of-bounds
// CASE far_away out-of-bounds
// CASE last_vector none
// CASE freed_then_used use-after-free
// CASE freed_async_then_used use-after-free
// CASE used_then_freed none
// CASE freed_async_after_use none
// CASE read_unwritten uninitialised-read
// CASE read_cleared none
// CASE copy_out_unwritten uninitialised-read
// CASE copy_out_written none
// CASE byte_holes uninitialised-read
// CASE bytes_all_written none
// CASE shared_unwritten uninitialised-read
// CASE shared_written none
// CASE shared_read_ahead none
// CASE shared_read_ahead_kept uninitialised-read
// CASE vector_at_odd_word misaligned
// CASE double_at_odd_word misaligned
// CASE vector_aligned none
// CASE double_aligned none
// CASE never_freed leak
// CASE host_never_freed leak
// CASE all_freed none
// CASE host_freed none
#include "case.h"

// Loads before it is known whether the value is wanted, as compilers do; `written` of them are
// there.
__global__ void choose(float* out, int written, int wanted) {
  __shared__ float part[64];
  const int i = threadIdx.x;
  if (i < written) part[i] = 1.0f;
  __syncthreads();
  float ahead;
  asm volatile("ld.shared.f32 %0, [%1];"
               : "=f"(ahead)
               : "r"((unsigned)__cvta_generic_to_shared(&part[i])));
  float sum = i;
  for (int turn = 0; turn < 3; ++turn)
    sum += i < wanted ? ahead : 2.0f;
  out[i] = sum;
}

__global__ void fill(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = 1.0f;
}

__global__ void add(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1.0f;
}

__global__ void fill_from(float* data, int first, int n) {
  const int i = threadIdx.x;
  if (i < n) data[first + i] = 2.0f;
}

__global__ void fill_vectors(float4* data, int n) {
  const int i = threadIdx.x;
  if (i < n) data[i] = make_float4(1, 2, 3, 4);
}

__global__ void fill_doubles(double* data, int n) {
  const int i = threadIdx.x;
  if (i < n) data[i] = 1.0;
}

__global__ void write_bytes(unsigned char* data, int step, int n) {
  const int i = threadIdx.x * step;
  if (i < n) data[i] = 7;
}

__global__ void read_words(unsigned* out, const unsigned* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void sum_shared(float* out, const float* in, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[63 - threadIdx.x];
}

int main(int argc, char** argv) {
  Case run(argc, argv);
  const int n = 1000;
  float* a = nullptr;
  float* b = nullptr;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemset(a, 0, n * sizeof(float));
  bool free_both = true;
  if (run.is("index_too_far")) fill<<<4, 256>>>(a, n + 1);
  if (run.is("index_in_bounds")) fill<<<4, 256>>>(a, n);
  if (run.is("before_the_start")) fill_from<<<1, 32>>>(a, -1, 32);
  if (run.is("far_away")) fill_from<<<1, 32>>>(a, 1 << 28, 32);
  if (run.is("last_vector")) fill_vectors<<<1, 256>>>((float4*)a, n / 4);
  if (run.is("freed_then_used")) {
    cudaFree(a);
    fill<<<4, 256>>>(a, n);
    a = nullptr;
  }
  if (run.is("used_then_freed")) {
    fill<<<4, 256>>>(a, n);
    cudaFree(a);
    a = nullptr;
  }
  if (run.is("freed_async_then_used") || run.is("freed_async_after_use")) {
    float* pooled = nullptr;
    cudaMallocAsync(&pooled, n * sizeof(float), 0);
    if (run.is("freed_async_after_use")) fill<<<4, 256>>>(pooled, n);
    cudaFreeAsync(pooled, 0);
    if (run.is("freed_async_then_used")) fill<<<4, 256>>>(pooled, n);
  }
  if (run.is("read_unwritten")) add<<<4, 256>>>(a, b, n);
  if (run.is("read_cleared")) add<<<4, 256>>>(b, a, n);
  if (run.is("copy_out_unwritten") || run.is("copy_out_written")) {
    float host[n];
    fill<<<4, 256>>>(b, run.is("copy_out_written") ? n : n - 1);
    cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
  }
  if (run.is("byte_holes") || run.is("bytes_all_written")) {
    write_bytes<<<1, 128>>>((unsigned char*)b, run.is("byte_holes") ? 2 : 1, 128);
    read_words<<<1, 16>>>((unsigned*)a, (const unsigned*)b);
  }
  if (run.is("shared_unwritten")) sum_shared<<<1, 64>>>(b, a, 63);
  if (run.is("shared_written")) sum_shared<<<1, 64>>>(b, a, 64);
  if (run.is("shared_read_ahead")) choose<<<1, 64>>>(b, 40, 40);
  if (run.is("shared_read_ahead_kept")) choose<<<1, 64>>>(b, 40, 41);
  if (run.is("vector_at_odd_word")) fill_vectors<<<1, 32>>>((float4*)(a + 1), 32);
  if (run.is("double_at_odd_word")) fill_doubles<<<1, 32>>>((double*)(a + 3), 32);
  if (run.is("vector_aligned")) fill_vectors<<<1, 32>>>((float4*)(a + 4), 32);
  if (run.is("double_aligned")) fill_doubles<<<1, 32>>>((double*)(a + 2), 32);
  if (run.is("never_freed")) free_both = false;
  if (run.is("host_never_freed") || run.is("host_freed")) {
    void* host = nullptr;
    cudaMallocHost(&host, 4096);
    if (run.is("host_freed")) cudaFreeHost(host);
  }
  if (run.is("all_freed")) fill<<<4, 256>>>(b, n);
  cudaDeviceSynchronize();
  cudaFree(a);
  if (free_both) cudaFree(b);
  return run.end();
}
