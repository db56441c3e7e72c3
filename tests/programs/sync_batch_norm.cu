// SPDX-License-Identifier: Apache-2.0
// Batch normalisation over all ranks behind a virtual function: sums and squares of each channel are
// added up over the ranks in double precision. The caller sees only the base class.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

constexpr int kChannels = 48, kSamples = 40;

__global__ void channel_sums(const float* x, double* sums) {
  double sum = 0, squares = 0;
  for (int s = 0; s < kSamples; ++s) {
    const double v = x[s * kChannels + threadIdx.x];
    sum += v;
    squares += v * v;
  }
  sums[threadIdx.x] = sum;
  sums[kChannels + threadIdx.x] = squares;
}

__global__ void normalise(const float* x, const double* sums, float* out, double inverse) {
  const double mean = sums[threadIdx.x] * inverse;
  const double variance = sums[kChannels + threadIdx.x] * inverse - mean * mean;
  const int i = blockIdx.x * kChannels + threadIdx.x;
  out[i] = static_cast<float>((x[i] - mean) / sqrt(variance + 1e-5));
}

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const float* in, float* out) = 0;
};

class SyncBatchNorm : public Layer {
 public:
  SyncBatchNorm(ncclComm_t comm, cudaStream_t stream, int ranks) : comm_(comm), stream_(stream), ranks_(ranks) {
    cudaMalloc(&sums_, 2 * kChannels * sizeof(double));
  }
  ~SyncBatchNorm() override { cudaFree(sums_); }
  void forward(const float* in, float* out) override {
    channel_sums<<<1, kChannels, 0, stream_>>>(in, sums_);
    ncclAllReduce(sums_, sums_, 2 * kChannels, ncclDouble, ncclSum, comm_, stream_);
    normalise<<<kSamples, kChannels, 0, stream_>>>(in, sums_, out, 1.0 / (static_cast<double>(kSamples) * ranks_));
  }

 private:
  ncclComm_t comm_;
  cudaStream_t stream_;
  int ranks_;
  double* sums_ = nullptr;
};

static float sample(int rank, int s, int c) { return static_cast<float>((rank * 7 + s * 13 + c * 3) % 19); }

int main() {
  int gpus;
  cudaGetDeviceCount(&gpus);
  std::vector<ncclComm_t> comms(gpus);
  ncclCommInitAll(comms.data(), gpus, nullptr);
  std::vector<int> wrong(gpus);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < gpus; ++rank) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      std::vector<float> host(kSamples * kChannels), result(host.size());
      for (int s = 0; s < kSamples; ++s)
        for (int c = 0; c < kChannels; ++c) host[s * kChannels + c] = sample(rank, s, c);
      float *x, *y;
      cudaMalloc(&x, host.size() * sizeof(float));
      cudaMalloc(&y, host.size() * sizeof(float));
      cudaMemcpyAsync(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
      {
        std::unique_ptr<Layer> layer = std::make_unique<SyncBatchNorm>(comms[rank], stream, gpus);
        for (int i = 0; i < 4; ++i) layer->forward(x, y);
        cudaMemcpyAsync(result.data(), y, result.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
      }
      cudaFree(x);
      cudaFree(y);
      for (int c = 0; c < kChannels; ++c) {
        double sum = 0, squares = 0;
        for (int r = 0; r < gpus; ++r)
          for (int s = 0; s < kSamples; ++s) {
            const double v = sample(r, s, c);
            sum += v;
            squares += v * v;
          }
        const double mean = sum / (kSamples * gpus), variance = squares / (kSamples * gpus) - mean * mean;
        for (int s = 0; s < kSamples; ++s)
          wrong[rank] += std::fabs(result[s * kChannels + c] - (sample(rank, s, c) - mean) / std::sqrt(variance + 1e-5)) > 1e-4;
      }
    });
  }
  int all = 0;
  for (int r = 0; r < gpus; ++r) {
    threads[r].join();
    all += wrong[r];
  }
  for (auto comm : comms) ncclCommDestroy(comm);
  std::printf("%s\n", all ? "FAIL" : "PASS");
  return all != 0;
}
