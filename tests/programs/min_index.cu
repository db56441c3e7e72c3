// SPDX-License-Identifier: Apache-2.0
// C in all but name: a global table of buffers, goto for errors, unsigned 64-bit keys that hold value
// and index, and an in-place minimum over all ranks. One process, one pthread per GPU.
#include <cuda_runtime.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_GPUS 16
#define N 700
#define ROUNDS 4

typedef unsigned long long u64;
static u64* g_keys[MAX_GPUS];
static u64* g_picked[MAX_GPUS];
static cudaStream_t g_stream[MAX_GPUS];
static ncclComm_t g_comm[MAX_GPUS];
static int g_gpus;

static __host__ __device__ u64 key_of(int rank, int i, int round) {
  return ((u64)((i * 7919 + rank * 104729 + round * 31) % 1009) << 32) | (u64)(rank * N + i);
}

__global__ void make_keys(u64* keys, int rank, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) keys[i] = key_of(rank, i, round);
}

__global__ void pick(const u64* keys, u64* picked, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) picked[round * N + i] = keys[i] & 0xffffffffull;
}

static void* worker(void* argument) {
  const int rank = (int)(size_t)argument;
  u64* host = NULL;
  size_t wrong = 1;
  int i, r, round;
  if (cudaSetDevice(rank) != cudaSuccess) goto out;
  if (cudaStreamCreate(&g_stream[rank]) != cudaSuccess) goto out;
  if (cudaMalloc((void**)&g_keys[rank], N * sizeof(u64)) != cudaSuccess) goto out;
  if (cudaMalloc((void**)&g_picked[rank], N * ROUNDS * sizeof(u64)) != cudaSuccess) goto out;
  for (round = 0; round < ROUNDS; round++) {
    make_keys<<<(N + 255) / 256, 256, 0, g_stream[rank]>>>(g_keys[rank], rank, round);
    if (ncclAllReduce(g_keys[rank], g_keys[rank], N, ncclUint64, ncclMin, g_comm[rank], g_stream[rank]) != ncclSuccess) goto out;
    pick<<<(N + 255) / 256, 256, 0, g_stream[rank]>>>(g_keys[rank], g_picked[rank], round);
  }
  host = (u64*)malloc(N * ROUNDS * sizeof(u64));
  cudaMemcpyAsync(host, g_picked[rank], N * ROUNDS * sizeof(u64), cudaMemcpyDeviceToHost, g_stream[rank]);
  cudaStreamSynchronize(g_stream[rank]);
  wrong = 0;
  for (round = 0; round < ROUNDS; round++)
    for (i = 0; i < N; i++) {
      u64 least = key_of(0, i, round);
      for (r = 1; r < g_gpus; r++)
        if (key_of(r, i, round) < least) least = key_of(r, i, round);
      wrong += host[round * N + i] != (least & 0xffffffffull);
    }
out:
  free(host);
  return (void*)wrong;
}

int main(void) {
  pthread_t threads[MAX_GPUS];
  size_t wrong = 0;
  int i;
  cudaGetDeviceCount(&g_gpus);
  if (g_gpus > MAX_GPUS) g_gpus = MAX_GPUS;
  ncclCommInitAll(g_comm, g_gpus, NULL);
  for (i = 0; i < g_gpus; i++) pthread_create(&threads[i], NULL, worker, (void*)(size_t)i);
  for (i = 0; i < g_gpus; i++) {
    void* result;
    pthread_join(threads[i], &result);
    wrong += (size_t)result;
    cudaFree(g_keys[i]);
    cudaFree(g_picked[i]);
    ncclCommDestroy(g_comm[i]);
  }
  printf("%s\n", wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
