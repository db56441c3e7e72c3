// SPDX-License-Identifier: Apache-2.0
// Data-parallel linear regression: one MPI process per GPU, its own share of the samples, gradients
// summed over all of them, a step of gradient descent on every GPU.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>
#include <nccl.h>

namespace {

constexpr int kFeatures = 512;
constexpr int kSamples = 64;  // of each rank
constexpr int kSteps = 3;
constexpr float kRate = 0.05f;

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void must(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

float feature(int rank, int sample, int column) {
  return 0.01f * static_cast<float>((7 * rank + 3 * sample + column) % 19 - 9);
}

__global__ void residuals(const float* x, const float* y, const float* w, float* r) {
  __shared__ float parts[128];
  const int sample = blockIdx.x;
  float sum = 0;
  for (int c = threadIdx.x; c < kFeatures; c += blockDim.x) sum += x[sample * kFeatures + c] * w[c];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) r[sample] = parts[0] - y[sample];
}

__global__ void gradient(const float* x, const float* r, float* g) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= kFeatures) return;
  float sum = 0;
  for (int s = 0; s < kSamples; ++s) sum += x[s * kFeatures + c] * r[s];
  g[c] = sum;
}

__global__ void descend(float* w, const float* g, float rate, int samples) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < kFeatures) w[c] -= rate * g[c] / static_cast<float>(samples);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int devices = 0;
  must(cudaGetDeviceCount(&devices), "count");
  must(cudaSetDevice(rank % devices), "device");

  ncclUniqueId id;
  if (rank == 0) must(ncclGetUniqueId(&id), "id");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t everybody;
  must(ncclCommInitRank(&everybody, size, id, rank), "communicator");

  std::vector<float> samples(kSamples * kFeatures), targets(kSamples);
  for (int s = 0; s < kSamples; ++s) {
    for (int c = 0; c < kFeatures; ++c) samples[s * kFeatures + c] = feature(rank, s, c);
    targets[s] = 0.1f * static_cast<float>((rank + s) % 5);
  }
  float *x, *y, *w, *r, *g;
  must(cudaMalloc(&x, samples.size() * sizeof(float)), "x");
  must(cudaMalloc(&y, targets.size() * sizeof(float)), "y");
  must(cudaMalloc(&w, kFeatures * sizeof(float)), "w");
  must(cudaMalloc(&r, kSamples * sizeof(float)), "r");
  must(cudaMalloc(&g, kFeatures * sizeof(float)), "g");
  must(cudaMemcpy(x, samples.data(), samples.size() * sizeof(float), cudaMemcpyHostToDevice), "x");
  must(cudaMemcpy(y, targets.data(), targets.size() * sizeof(float), cudaMemcpyHostToDevice), "y");
  must(cudaMemset(w, 0, kFeatures * sizeof(float)), "w");
  cudaStream_t stream;
  must(cudaStreamCreate(&stream), "stream");

  for (int step = 0; step < kSteps; ++step) {
    residuals<<<kSamples, 128, 0, stream>>>(x, y, w, r);
    gradient<<<(kFeatures + 127) / 128, 128, 0, stream>>>(x, r, g);
    must(ncclAllReduce(g, g, kFeatures, ncclFloat, ncclSum, everybody, stream), "all-reduce");
    descend<<<(kFeatures + 127) / 128, 128, 0, stream>>>(w, g, kRate, kSamples * size);
  }
  std::vector<float> weights(kFeatures);
  must(cudaMemcpyAsync(weights.data(), w, kFeatures * sizeof(float), cudaMemcpyDeviceToHost, stream),
       "weights");
  must(cudaStreamSynchronize(stream), "synchronize");

  double norm = 0;
  for (const float weight : weights) norm += static_cast<double>(weight) * weight;
  double least = 0, most = 0;
  MPI_Allreduce(&norm, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&norm, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const bool right = norm > 0 && least == most;
  if (rank == 0) std::printf("%s |w| = %.6f\n", right ? "PASS" : "FAIL", std::sqrt(norm));
  for (float* buffer : {x, y, w, r, g}) cudaFree(buffer);
  cudaStreamDestroy(stream);
  ncclCommDestroy(everybody);
  MPI_Finalize();
  return right ? 0 : 1;
}
