// SPDX-License-Identifier: Apache-2.0
// Sequence parallelism around a product: all-gather of the tokens, a product with this rank's
// columns, a second product with its rows, and a reduce-scatter of the partial sums.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace shape {
constexpr int tokens = 16, width = 48, hidden = 32;  // per rank: tokens and hidden
}

__global__ void scale_tokens(const float* in, float* out, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * by;
}

// One block per row of c.
__global__ void rows_times(const float* a, const float* b, float* c, int n, int k) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < k; i += blockDim.x) row[i] = a[blockIdx.x * k + i];
  __syncthreads();
  for (int column = threadIdx.x; column < n; column += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += row[i] * b[i * n + column];
    c[blockIdx.x * n + column] = sum;
  }
}

static float up_weight(int i, int j) { return static_cast<float>((i + 2 * j) % 7 - 3) * 0.1f; }
static float down_weight(int j, int i) { return static_cast<float>((3 * j + i) % 5 - 2) * 0.1f; }

int main(int argc, char** argv) {
  using namespace shape;
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

  const int all_tokens = tokens * ranks;
  auto make = [](size_t floats) {
    float* memory = nullptr;
    cudaMalloc(&memory, floats * sizeof(float));
    return memory;
  };
  float* x = make(tokens * width);
  float* scaled = make(tokens * width);
  float* gathered = make(all_tokens * width);
  float* inner = make(all_tokens * hidden);
  float* partial = make(all_tokens * width);
  float* up = make(width * hidden);
  float* down = make(hidden * width);
  std::vector<float> host_x(tokens * width), host_up(width * hidden), host_down(hidden * width);
  for (int i = 0; i < tokens * width; ++i) host_x[i] = static_cast<float>((rank * tokens * width + i) % 13) * 0.25f;
  for (int i = 0; i < width; ++i)
    for (int j = 0; j < hidden; ++j) {
      host_up[i * hidden + j] = up_weight(i, rank * hidden + j);
      host_down[j * width + i] = down_weight(rank * hidden + j, i);
    }
  cudaMemcpy(x, host_x.data(), host_x.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(up, host_up.data(), host_up.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(down, host_down.data(), host_down.size() * sizeof(float), cudaMemcpyHostToDevice);

  for (int layer = 0; layer < 3; ++layer) {
    scale_tokens<<<tokens * width / 128, 128, 0, stream>>>(x, scaled, tokens * width, 0.5f);
    ncclAllGather(scaled, gathered, tokens * width, ncclFloat, comm, stream);
    rows_times<<<all_tokens, 64, width * sizeof(float), stream>>>(gathered, up, inner, hidden, width);
    rows_times<<<all_tokens, 64, hidden * sizeof(float), stream>>>(inner, down, partial, width, hidden);
    ncclReduceScatter(partial, x, tokens * width, ncclFloat, ncclSum, comm, stream);
  }
  std::vector<float> result(tokens * width);
  cudaMemcpyAsync(result.data(), x, result.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  int wrong = 0;
  for (int t = 0; t < tokens; ++t) {
    std::vector<double> row(host_x.begin() + t * width, host_x.begin() + (t + 1) * width);
    for (int layer = 0; layer < 3; ++layer) {
      std::vector<double> next(width);
      for (int j = 0; j < hidden * ranks; ++j) {
        double sum = 0;
        for (int i = 0; i < width; ++i) sum += 0.5 * row[i] * up_weight(i, j);
        for (int i = 0; i < width; ++i) next[i] += sum * down_weight(j, i);
      }
      row = next;
    }
    for (int i = 0; i < width; ++i) wrong += std::fabs(result[t * width + i] - row[i]) > 1e-3 * (1 + std::fabs(row[i]));
  }
  std::printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");
  for (float* memory : {x, scaled, gathered, inner, partial, up, down}) cudaFree(memory);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return wrong != 0;
}
