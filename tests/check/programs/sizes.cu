// SPDX-License-Identifier: Apache-2.0
// Strong operations order something only if they overlap completely: one size, one address. The
// elements of a vector are operations of their own, which nothing orders. A fence.proxy is no fence
// for loads and stores.
//
// CASE same_size none
// CASE awaited_wide global-race
// CASE awaited_narrow global-race
// CASE raised_wide global-race
// CASE two_flags_at_once none
// CASE vector_with_flag global-race
// CASE vector_of_flags none
// CASE fenced none
// CASE proxy_fenced global-race
#include "case.h"

constexpr unsigned kThreads = 128;

enum Raise { Word, Wide, FlagInVector, FlagsInVector, Fenced, ProxyFenced };
enum Await { AsWord, AsWide, AsHalf, AsVector };

__device__ void raise(unsigned* flag, Raise how) {
  switch (how) {
    case Word:
      asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(flag) : "memory");
      break;
    case Wide:
      asm volatile("st.release.gpu.u64 [%0], 1;" ::"l"(flag) : "memory");
      break;
    case FlagInVector:
      asm volatile("st.release.gpu.v4.u32 [%0], {1, 2, 3, 4};" ::"l"(flag) : "memory");
      break;
    case FlagsInVector:
      asm volatile("st.release.gpu.v2.u32 [%0], {1, 1};" ::"l"(flag) : "memory");
      break;
    case Fenced:
      asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.u32 [%0], 1;" ::"l"(flag) : "memory");
      break;
    case ProxyFenced:
      asm volatile("fence.proxy.async; st.relaxed.gpu.u32 [%0], 1;" ::"l"(flag) : "memory");
      break;
  }
}

__device__ void await(const unsigned* flag, Await how) {
  unsigned long long seen = 0;
  while (seen == 0) {
    unsigned low = 0, high = 1;
    unsigned short half = 0;
    if (how == AsWide) {
      asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(seen) : "l"(flag) : "memory");
    } else if (how == AsHalf) {
      asm volatile("ld.acquire.gpu.u16 %0, [%1];" : "=h"(half) : "l"(flag) : "memory");
      seen = half;
    } else if (how == AsVector) {
      asm volatile("ld.acquire.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "l"(flag) : "memory");
      seen = low & high;
    } else {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(low) : "l"(flag) : "memory");
      seen = low;
    }
  }
}

// Block 0 has something for block 1: in `data`, or in the words behind the flag.
__global__ void pass(unsigned* data, unsigned* flag, unsigned* out, Raise raised, Await awaited) {
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 0) {
    data[thread] = thread;
    __syncthreads();
    if (thread == 0) raise(flag, raised);
    if (thread == 0 && awaited == AsVector && raised == Word) raise(flag + 1, raised);
    return;
  }
  if (thread == 0) await(flag, awaited);
  __syncthreads();
  out[thread] = raised == FlagInVector ? flag[1 + thread % 3] : data[thread];
}

int main(int argc, char** argv) {
  Case which(argc, argv);
  unsigned *data, *flag, *out;
  cudaMalloc(&data, 4 * kThreads);
  cudaMalloc(&out, 4 * kThreads);
  cudaMalloc(&flag, 16);
  cudaMemset(flag, 0, 16);
  if (which.is("same_size")) pass<<<2, kThreads>>>(data, flag, out, Word, AsWord);
  if (which.is("awaited_wide")) pass<<<2, kThreads>>>(data, flag, out, Word, AsWide);
  if (which.is("awaited_narrow")) pass<<<2, kThreads>>>(data, flag, out, Word, AsHalf);
  if (which.is("raised_wide")) pass<<<2, kThreads>>>(data, flag, out, Wide, AsWord);
  if (which.is("two_flags_at_once")) pass<<<2, kThreads>>>(data, flag, out, Word, AsVector);
  if (which.is("vector_with_flag")) pass<<<2, kThreads>>>(data, flag, out, FlagInVector, AsWord);
  if (which.is("vector_of_flags")) pass<<<2, kThreads>>>(data, flag, out, FlagsInVector, AsVector);
  if (which.is("fenced")) pass<<<2, kThreads>>>(data, flag, out, Fenced, AsWord);
  if (which.is("proxy_fenced")) pass<<<2, kThreads>>>(data, flag, out, ProxyFenced, AsWord);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaFree(data);
  cudaFree(out);
  cudaFree(flag);
  return which.end();
}
