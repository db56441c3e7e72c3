// SPDX-License-Identifier: Apache-2.0
// Function templates all the way: the element type decides NCCL's type, and one template holds the
// launches and the collective. Instantiated for float and bfloat16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

template <typename T>
struct NcclType;
template <>
struct NcclType<float> {
  static constexpr ncclDataType_t value = ncclFloat32;
};
template <>
struct NcclType<__nv_bfloat16> {
  static constexpr ncclDataType_t value = ncclBfloat16;
};

template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads) produce(T* out, int n, int rank) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    out[i] = static_cast<T>(static_cast<float>(i % 8) + static_cast<float>(rank % 4));
}

template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads) halve(const T* in, float* out, int n) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    out[i] = 0.5f * static_cast<float>(in[i]);
}

template <typename T>
class AllReduceStep {
 public:
  AllReduceStep(int n, ncclComm_t comm, cudaStream_t stream) : n_(n), comm_(comm), stream_(stream) {
    cudaMalloc(&addend_, n * sizeof(T));
    cudaMalloc(&sum_, n * sizeof(T));
    cudaMalloc(&out_, n * sizeof(float));
  }
  ~AllReduceStep() {
    cudaFree(addend_);
    cudaFree(sum_);
    cudaFree(out_);
  }
  template <int kThreads = 128>
  void run(int rank) {
    constexpr int kBlocks = 6;
    produce<T, kThreads><<<kBlocks, kThreads, 0, stream_>>>(addend_, n_, rank);
    ncclAllReduce(addend_, sum_, n_, NcclType<T>::value, ncclSum, comm_, stream_);
    halve<T, kThreads><<<kBlocks, kThreads, 0, stream_>>>(sum_, out_, n_);
  }
  int wrong(int ranks) {
    std::vector<float> host(n_);
    cudaMemcpyAsync(host.data(), out_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_);
    cudaStreamSynchronize(stream_);
    int count = 0;
    for (int i = 0; i < n_; ++i) {
      float sum = 0;
      for (int r = 0; r < ranks; ++r) sum += static_cast<float>(i % 8 + r % 4);
      count += std::fabs(host[i] - 0.5f * sum) > 0.01f * sum;
    }
    return count;
  }

 private:
  int n_;
  ncclComm_t comm_;
  cudaStream_t stream_;
  T *addend_ = nullptr, *sum_ = nullptr;
  float* out_ = nullptr;
};

template <typename T>
int test(int rank, int ranks, ncclComm_t comm, cudaStream_t stream) {
  AllReduceStep<T> step(2500, comm, stream);
  for (int i = 0; i < 4; ++i) step.template run<>(rank);
  return step.wrong(ranks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const int wrong = test<float>(rank, ranks, comm, stream) + test<__nv_bfloat16>(rank, ranks, comm, stream);
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
