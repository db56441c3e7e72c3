// SPDX-License-Identifier: Apache-2.0
// Neighbours to the left and right: columns are not contiguous, so a kernel packs them before the
// exchange and another one unpacks them behind it. The domain is periodic.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

constexpr int kHeight = 64, kColumns = 32, kPitch = kColumns + 2;

__global__ void pack_edges(const float* field, float* left, float* right) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= kHeight) return;
  left[y] = field[y * kPitch + 1];
  right[y] = field[y * kPitch + kColumns];
}

__global__ void unpack_halos(float* field, const float* left, const float* right) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= kHeight) return;
  field[y * kPitch] = left[y];
  field[y * kPitch + kColumns + 1] = right[y];
}

__global__ void diffuse(const float* from, float* to) {
  const int x = threadIdx.x + 1, y = blockIdx.x;
  const float* row = from + y * kPitch;
  to[y * kPitch + x] = 0.5f * row[x] + 0.25f * (row[x - 1] + row[x + 1]);
}

struct Rank {
  int index = 0, count = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *field = nullptr, *other = nullptr;
  float *edge_left = nullptr, *edge_right = nullptr, *halo_left = nullptr, *halo_right = nullptr;

  void allocate() {
    cudaSetDevice(index);
    cudaStreamCreate(&stream);
    cudaMalloc(&field, sizeof(float) * kHeight * kPitch);
    cudaMalloc(&other, sizeof(float) * kHeight * kPitch);
    for (float** edge : {&edge_left, &edge_right, &halo_left, &halo_right}) cudaMalloc(edge, sizeof(float) * kHeight);
    std::vector<float> host(kHeight * kPitch);
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kColumns; ++x) host[y * kPitch + x + 1] = static_cast<float>((y * 3 + (index * kColumns + x) * 7) % 41);
    cudaMemcpyAsync(field, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
  }

  void release() {
    for (float* memory : {field, other, edge_left, edge_right, halo_left, halo_right}) cudaFree(memory);
  }

  void iterate() {
    const int left = (index + count - 1) % count, right = (index + 1) % count;
    pack_edges<<<1, kHeight, 0, stream>>>(field, edge_left, edge_right);
    ncclGroupStart();
    ncclSend(edge_left, kHeight, ncclFloat, left, comm, stream);
    ncclSend(edge_right, kHeight, ncclFloat, right, comm, stream);
    ncclRecv(halo_right, kHeight, ncclFloat, right, comm, stream);
    ncclRecv(halo_left, kHeight, ncclFloat, left, comm, stream);
    ncclGroupEnd();
    unpack_halos<<<1, kHeight, 0, stream>>>(field, halo_left, halo_right);
    diffuse<<<kHeight, kColumns, 0, stream>>>(field, other);
    float* swapped = field;
    field = other;
    other = swapped;
  }
};

int main() {
  int gpus;
  cudaGetDeviceCount(&gpus);
  std::vector<ncclComm_t> comms(gpus);
  ncclCommInitAll(comms.data(), gpus, nullptr);
  const int iterations = 8, width = kColumns * gpus;
  std::vector<float> now(kHeight * width), next(kHeight * width);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < width; ++x) now[y * width + x] = static_cast<float>((y * 3 + x * 7) % 41);
  for (int i = 0; i < iterations; ++i, now.swap(next))
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < width; ++x)
        next[y * width + x] = 0.5f * now[y * width + x] + 0.25f * (now[y * width + (x + width - 1) % width] + now[y * width + (x + 1) % width]);

  std::vector<int> wrong(gpus);
  std::vector<std::thread> threads;
  for (int r = 0; r < gpus; ++r) {
    threads.emplace_back([&, r] {
      Rank me;
      me.index = r;
      me.count = gpus;
      me.comm = comms[r];
      me.allocate();
      for (int i = 0; i < iterations; ++i) me.iterate();
      std::vector<float> host(kHeight * kPitch);
      cudaMemcpyAsync(host.data(), me.field, host.size() * sizeof(float), cudaMemcpyDeviceToHost, me.stream);
      cudaStreamSynchronize(me.stream);
      me.release();
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kColumns; ++x)
          wrong[r] += std::fabs(host[y * kPitch + x + 1] - now[y * width + r * kColumns + x]) > 1e-3f;
    });
  }
  int all = 0;
  for (int r = 0; r < gpus; ++r) {
    threads[r].join();
    all += wrong[r];
  }
  for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  std::printf("%s\n", all ? "FAIL" : "PASS");
  return all != 0;
}
