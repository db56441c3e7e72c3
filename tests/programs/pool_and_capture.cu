// SPDX-License-Identifier: Apache-2.0
// CUDA graph captured around collectives on two streams, launched many times; cudaMallocAsync buffers; bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CK(x) do { auto e_ = (x); if (e_ != 0) { std::fprintf(stderr, "%s:%d %s -> %d\n", __FILE__, __LINE__, #x, (int)e_); std::exit(1); } } while (0)
using bf16 = __nv_bfloat16;
__global__ void step_kernel(bf16* x, const int* iter, int n, int rank) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = __float2bfloat16(float((i + rank + *iter) % 16));
}
__global__ void bump(int* iter) { ++*iter; }
__global__ void accumulate(float* acc, const bf16* all, int n, int ranks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int r = 0; r < ranks; ++r) s += __bfloat162float(all[r * n + i]);
  acc[i] += s;
}
int main(int argc, char** argv) {
  CK(MPI_Init(&argc, &argv));
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) CK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  CK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t main_stream, side;
  cudaEvent_t fork, join;
  CK(cudaStreamCreate(&main_stream));
  CK(cudaStreamCreate(&side));
  CK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  const int n = 1024;
  bf16 *mine, *all; float* acc; int* iter;
  CK(cudaMallocAsync(&mine, n * sizeof(bf16), main_stream));
  CK(cudaMallocAsync(&all, n * ranks * sizeof(bf16), main_stream));
  CK(cudaMallocAsync(&acc, n * sizeof(float), main_stream));
  CK(cudaMallocAsync(&iter, sizeof(int), main_stream));
  CK(cudaMemsetAsync(acc, 0, n * sizeof(float), main_stream));
  CK(cudaMemsetAsync(iter, 0, sizeof(int), main_stream));
  CK(cudaStreamSynchronize(main_stream));
  cudaGraph_t graph; cudaGraphExec_t exec;
  CK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
  step_kernel<<<n / 128, 128, 0, main_stream>>>(mine, iter, n, rank);
  CK(cudaEventRecord(fork, main_stream));
  CK(cudaStreamWaitEvent(side, fork, 0));
  CK(ncclAllGather(mine, all, n, ncclBfloat16, comm, side));
  bump<<<1, 1, 0, main_stream>>>(iter);
  CK(cudaEventRecord(join, side));
  CK(cudaStreamWaitEvent(main_stream, join, 0));
  accumulate<<<n / 128, 128, 0, main_stream>>>(acc, all, n, ranks);
  CK(cudaStreamEndCapture(main_stream, &graph));
  CK(cudaGraphInstantiate(&exec, graph, 0));
  const int its = 6;
  for (int k = 0; k < its; ++k) CK(cudaGraphLaunch(exec, main_stream));
  std::vector<float> h(n);
  CK(cudaMemcpyAsync(h.data(), acc, n * sizeof(float), cudaMemcpyDeviceToHost, main_stream));
  CK(cudaStreamSynchronize(main_stream));
  bool ok = true;
  for (int i = 0; i < n; ++i) {
    float e = 0;
    for (int k = 0; k < its; ++k) for (int r = 0; r < ranks; ++r) e += float((i + r + k) % 16);
    ok = ok && h[i] == e;
  }
  CK(cudaGraphExecDestroy(exec)); CK(cudaGraphDestroy(graph));
  CK(cudaFreeAsync(mine, main_stream)); CK(cudaFreeAsync(all, main_stream));
  CK(cudaFreeAsync(acc, main_stream)); CK(cudaFreeAsync(iter, main_stream));
  CK(cudaStreamSynchronize(main_stream));
  CK(cudaEventDestroy(fork)); CK(cudaEventDestroy(join));
  CK(cudaStreamDestroy(side)); CK(cudaStreamDestroy(main_stream));
  CK(ncclCommDestroy(comm));
  std::printf(ok ? "PASS\n" : "FAIL\n");
  MPI_Finalize();
  return !ok;
}
