// SPDX-License-Identifier: Apache-2.0
// One process, one thread, all GPUs of the node. Each has a stream that computes and one that
// communicates, with events between them; calls of all GPUs stand in groups. Rows of a matrix are
// spread over the GPUs: column sums by reduce-scatter, means by all-gather, then all rows are centred.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define TRY(call)                                                     \
  do {                                                                \
    if (const auto status = (call); static_cast<int>(status) != 0) {  \
      std::fprintf(stderr, "line %d: error %d\n", __LINE__, status);  \
      std::exit(1);                                                   \
    }                                                                 \
  } while (0)

static const int kRows = 96, kColumns = 2048, kRounds = 2;

__global__ void fill(float* m, int device) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kRows * kColumns) m[i] = 0.5f * ((i * 7 + device * 11) % 23);
}

__global__ void column_sums(const float* m, float* sums) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= kColumns) return;
  float sum = 0;
  for (int r = 0; r < kRows; ++r) sum += m[r * kColumns + c];
  sums[c] = sum;
}

__global__ void divide(float* part, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[i] /= by;
}

__global__ void centre(float* m, const float* means) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kRows * kColumns) m[i] -= means[i % kColumns];
}

class Device {
 public:
  Device(int number, int all) : number_(number), part_(kColumns / all) {
    TRY(cudaSetDevice(number));
    TRY(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&network, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&summed, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&gathered, cudaEventDisableTiming));
    TRY(cudaMalloc(&matrix, sizeof(float) * kRows * kColumns));
    TRY(cudaMalloc(&sums, sizeof(float) * kColumns));
    TRY(cudaMalloc(&share, sizeof(float) * part_));
    TRY(cudaMalloc(&means, sizeof(float) * kColumns));
    fill<<<(kRows * kColumns + 255) / 256, 256, 0, compute>>>(matrix, number);
  }
  ~Device() {
    cudaSetDevice(number_);
    for (float* buffer : {matrix, sums, share, means}) cudaFree(buffer);
    cudaEventDestroy(summed);
    cudaEventDestroy(gathered);
    cudaStreamDestroy(compute);
    cudaStreamDestroy(network);
  }
  Device(const Device&) = delete;

  void add_up() {
    TRY(cudaSetDevice(number_));
    column_sums<<<(kColumns + 127) / 128, 128, 0, compute>>>(matrix, sums);
    TRY(cudaEventRecord(summed, compute));
    TRY(cudaStreamWaitEvent(network, summed, 0));
  }
  void average(int all) {
    TRY(cudaSetDevice(number_));
    divide<<<(part_ + 127) / 128, 128, 0, network>>>(share, part_, float(kRows * all));
  }
  void subtract() {
    TRY(cudaSetDevice(number_));
    TRY(cudaEventRecord(gathered, network));
    TRY(cudaStreamWaitEvent(compute, gathered, 0));
    centre<<<(kRows * kColumns + 255) / 256, 256, 0, compute>>>(matrix, means);
  }

  cudaStream_t compute, network;
  cudaEvent_t summed, gathered;
  float *matrix, *sums, *share, *means;

 private:
  int number_, part_;
};

int main() {
  int all = 0;
  TRY(cudaGetDeviceCount(&all));
  std::vector<std::unique_ptr<Device>> devices;
  for (int d = 0; d < all; ++d) devices.push_back(std::make_unique<Device>(d, all));
  std::vector<ncclComm_t> comms(all);
  TRY(ncclCommInitAll(comms.data(), all, nullptr));

  for (int round = 0; round < kRounds; ++round) {
    for (auto& device : devices) device->add_up();
    TRY(ncclGroupStart());
    for (int d = 0; d < all; ++d)
      TRY(ncclReduceScatter(devices[d]->sums, devices[d]->share, kColumns / all, ncclFloat, ncclSum,
                            comms[d], devices[d]->network));
    TRY(ncclGroupEnd());
    for (auto& device : devices) device->average(all);
    TRY(ncclGroupStart());
    for (int d = 0; d < all; ++d)
      TRY(ncclAllGather(devices[d]->share, devices[d]->means, kColumns / all, ncclFloat, comms[d],
                        devices[d]->network));
    TRY(ncclGroupEnd());
    for (auto& device : devices) device->subtract();
  }

  int wrong = 0;
  std::vector<float> left(kRows * kColumns);
  std::vector<double> total(kColumns, 0.0);
  for (int d = 0; d < all; ++d) {
    TRY(cudaSetDevice(d));
    TRY(cudaStreamSynchronize(devices[d]->compute));
    TRY(cudaMemcpy(left.data(), devices[d]->matrix, sizeof(float) * left.size(),
                   cudaMemcpyDeviceToHost));
    for (int i = 0; i < kRows * kColumns; ++i) total[i % kColumns] += left[i];
  }
  for (const double sum : total) wrong += sum > 0.05 || sum < -0.05;
  std::printf("%s %d columns are not centred\n", wrong ? "FAIL" : "PASS", wrong);
  for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  return wrong != 0;
}
