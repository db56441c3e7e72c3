// SPDX-License-Identifier: Apache-2.0
// Logistic regression with momentum, data-parallel over MPI: every rank has samples of its own, the
// gradients of weights and bias are averaged in one group, rank 0 reports the loss of each epoch.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

namespace train {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void operator||(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Failure(std::string(what) + ": " + cudaGetErrorString(status));
}
inline void operator||(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw Failure(std::string(what) + ": " + ncclGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)) || "allocation";
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  void upload(const std::vector<T>& from) {
    cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) || "upload";
  }
  std::vector<T> download() const {
    std::vector<T> to(count_);
    cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) || "download";
    return to;
  }
  void clear() {
    cudaMemset(data_, 0, count_ * sizeof(T)) || "clear";
    cudaDeviceSynchronize() || "clear";  // streams that do not block do not wait for the fill
  }
  T* get() const { return data_; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

struct Communicator {
  ncclComm_t handle{};
  int rank = 0, ranks = 1;

  Communicator() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int local = 0, gpus = 0;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    cudaGetDeviceCount(&gpus) || "devices";
    cudaSetDevice(local % gpus) || "device";
    ncclUniqueId id;
    std::memset(&id, 0, sizeof id);
    if (rank == 0) ncclGetUniqueId(&id) || "id";
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclCommInitRank(&handle, ranks, id, rank) || "communicator";
  }
  ~Communicator() { ncclCommDestroy(handle); }
};

// One warp per sample: p = sigmoid(w·x + b), the error p - y, and the sample's loss.
__global__ void forward(const float* __restrict__ x, const float* __restrict__ y,
                        const float* __restrict__ model, float* __restrict__ error,
                        float* __restrict__ loss, int samples, int features) {
  const int sample = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (sample >= samples) return;
  float z = 0;
  for (int f = lane; f < features; f += 32) z = fmaf(x[sample * features + f], model[f], z);
#pragma unroll
  for (int half = 16; half > 0; half >>= 1) z += __shfl_down_sync(0xffffffffu, z, half);
  if (lane != 0) return;
  const float p = 1.0f / (1.0f + expf(-(z + model[features])));
  error[sample] = p - y[sample];
  loss[sample] = -(y[sample] * logf(p) + (1 - y[sample]) * logf(1 - p));
}

// One thread per weight, the last one for the bias.
__global__ void backward(const float* __restrict__ x, const float* __restrict__ error,
                         float* __restrict__ slope, int samples, int features) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f > features) return;
  float sum = 0;
  for (int s = 0; s < samples; ++s) sum += error[s] * (f < features ? x[s * features + f] : 1.0f);
  slope[f] = sum / samples;
}

__global__ void update(float* model, float* speed, const float* slope, int count, float rate,
                       float momentum) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    speed[i] = momentum * speed[i] - rate * slope[i];
    model[i] += speed[i];
  }
}

class Trainer {
 public:
  Trainer(const Communicator& all, int samples, int features)
      : all_(all), samples_(samples), features_(features), x_(size_t(samples) * features),
        y_(samples), model_(features + 1), speed_(features + 1), slope_(features + 1),
        error_(samples), loss_(samples) {
    std::vector<float> x(x_.size()), y(samples);
    unsigned state = 12345u + 977u * all.rank;
    for (int s = 0; s < samples; ++s) {
      float sum = 0;
      for (int f = 0; f < features; ++f) {
        state = state * 1664525u + 1013904223u;
        const float value = float(state >> 8) / float(1 << 24) - 0.5f;
        x[size_t(s) * features + f] = value;
        sum += f % 2 ? value : -value;
      }
      y[s] = sum > 0;
    }
    x_.upload(x);
    y_.upload(y);
    model_.clear();
    speed_.clear();
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) || "stream";
  }
  ~Trainer() { cudaStreamDestroy(stream_); }

  double epoch() {
    forward<<<(samples_ * 32 + 255) / 256, 256, 0, stream_>>>(
        x_.get(), y_.get(), model_.get(), error_.get(), loss_.get(), samples_, features_);
    backward<<<(features_ + 256) / 256, 256, 0, stream_>>>(x_.get(), error_.get(), slope_.get(),
                                                           samples_, features_);
    ncclGroupStart() || "group";
    ncclAllReduce(slope_.get(), slope_.get(), features_, ncclFloat, ncclAvg, all_.handle, stream_) ||
        "weights";
    ncclAllReduce(slope_.get() + features_, slope_.get() + features_, 1, ncclFloat, ncclAvg,
                  all_.handle, stream_) || "bias";
    ncclGroupEnd() || "group";
    update<<<2, 128, 0, stream_>>>(model_.get(), speed_.get(), slope_.get(), features_ + 1, 0.5f,
                                   0.9f);
    cudaStreamSynchronize(stream_) || "epoch";
    const auto losses = loss_.download();
    double mine = std::accumulate(losses.begin(), losses.end(), 0.0) / samples_, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / all_.ranks;
  }
  std::vector<float> model() const { return model_.download(); }

 private:
  const Communicator& all_;
  int samples_, features_;
  DeviceArray<float> x_, y_, model_, speed_, slope_, error_, loss_;
  cudaStream_t stream_{};
};

}  // namespace train

int main(int argc, char* argv[]) try {
  MPI_Init(&argc, &argv);
  int failed = 0;
  {
    const int features = argc > 1 ? std::stoi(argv[1]) : 256;
    const train::Communicator all;
    auto trainer = std::make_unique<train::Trainer>(all, 96, features);
    double first = 0, last = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
      last = trainer->epoch();
      if (epoch == 0) first = last;
    }
    const auto model = trainer->model();
    double sum = std::accumulate(model.begin(), model.end(), 0.0), least = 0, most = 0;
    MPI_Allreduce(&sum, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    failed = !(last < 0.9 * first) || least != most;
    if (all.rank == 0)
      std::printf("%s loss %.5f -> %.5f\n", failed ? "FAIL" : "PASS", first, last);
  }
  MPI_Finalize();
  return failed;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
