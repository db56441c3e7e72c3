// SPDX-License-Identifier: Apache-2.0
// Double-buffered pipeline with events; two communicators by ncclCommSplit (rows/columns); alternating streams.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>
static void die(const char* what) { std::fprintf(stderr, "%s\n", what); MPI_Abort(MPI_COMM_WORLD, 1); }
#define NC(x) if ((x) != ncclSuccess) die(#x)
#define CU(x) if ((x) != cudaSuccess) die(#x)
__global__ void produce(double* out, int n, int tag) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = (i % 13) + tag;
}
__global__ void consume(const double* in, double* total, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total[i] += in[i];
}
struct Slot { double* data; cudaEvent_t ready, done; };
int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CU(cudaSetDevice(rank));
  ncclUniqueId id;
  if (!rank) NC(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t world, row, col;
  NC(ncclCommInitRank(&world, size, id, rank));
  const int width = size % 2 == 0 ? 2 : size;
  NC(ncclCommSplit(world, rank / width, rank % width, &row, NULL));
  NC(ncclCommSplit(world, rank % width, rank / width, &col, NULL));
  cudaStream_t compute, comms;
  CU(cudaStreamCreate(&compute));
  CU(cudaStreamCreateWithPriority(&comms, cudaStreamNonBlocking, -1));
  constexpr int n = 4000;
  std::array<Slot, 2> slots;
  for (auto& s : slots) {
    CU(cudaMalloc(&s.data, n * sizeof(double)));
    CU(cudaEventCreateWithFlags(&s.ready, cudaEventDisableTiming));
    CU(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
  }
  double* total;
  CU(cudaMalloc(&total, n * sizeof(double)));
  CU(cudaMemsetAsync(total, 0, n * sizeof(double), compute));
  const int steps = 6;
  produce<<<8, 128, 0, compute>>>(slots[0].data, n, rank);
  CU(cudaEventRecord(slots[0].ready, compute));
  for (int k = 0; k < steps; ++k) {
    Slot& now = slots[k & 1];
    Slot& next = slots[(k + 1) & 1];
    CU(cudaStreamWaitEvent(comms, now.ready, 0));
    if (k % 2 == 0) { NC(ncclAllReduce(now.data, now.data, n, ncclDouble, ncclSum, row, comms)); }
    else { NC(ncclAllReduce(now.data, now.data, n, ncclDouble, ncclSum, col, comms)); }
    CU(cudaEventRecord(now.done, comms));
    if (k + 1 < steps) {
      produce<<<8, 128, 0, compute>>>(next.data, n, rank + 10 * (k + 1));
      CU(cudaEventRecord(next.ready, compute));
    }
    CU(cudaStreamWaitEvent(compute, now.done, 0));
    consume<<<8, 128, 0, compute>>>(now.data, total, n);
  }
  NC(ncclAllReduce(total, total, n, ncclDouble, ncclAvg, world, compute));
  std::vector<double> h(n);
  CU(cudaMemcpyAsync(h.data(), total, n * sizeof(double), cudaMemcpyDeviceToHost, compute));
  CU(cudaStreamSynchronize(compute));
  bool ok = true;
  for (int i = 0; i < n && ok; ++i) {
    double sum = 0;
    for (int me = 0; me < size; ++me)
      for (int k = 0; k < steps; ++k)
        for (int r = 0; r < size; ++r) {
          const bool mate = k % 2 == 0 ? r / width == me / width : r % width == me % width;
          if (mate) sum += (i % 13) + r + 10 * k;
        }
    ok = h[i] > sum / size - 1e-6 && h[i] < sum / size + 1e-6;
    if (!ok) std::fprintf(stderr, "%d: %f for %f\n", i, h[i], sum / size);
  }
  for (auto& s : slots) { cudaFree(s.data); cudaEventDestroy(s.ready); cudaEventDestroy(s.done); }
  cudaFree(total);
  NC(ncclCommDestroy(row)); NC(ncclCommDestroy(col)); NC(ncclCommDestroy(world));
  cudaStreamDestroy(compute); cudaStreamDestroy(comms);
  printf("%s\n", ok ? "PASS" : "FAIL");
  MPI_Finalize();
  return ok ? 0 : 1;
}
