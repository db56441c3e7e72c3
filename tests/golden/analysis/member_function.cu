// Fields of an object are followed inside its own member functions, where they stand alone.
#include <cuda_runtime.h>
#include <nccl.h>

__global__ void fill(int* to, int n) {
  if (threadIdx.x < n) to[threadIdx.x] = 7;
}

struct Exchange {
  int* send;
  int* receive;
  int n;

  void run(ncclComm_t comm, cudaStream_t stream) {
    ncclMemAlloc((void**)&send, n * 4);
    fill<<<1, 32, 0, stream>>>(send, n);
    ncclAllGather(send, receive, n, ncclInt32, comm, stream);
  }
};
