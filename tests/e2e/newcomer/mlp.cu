// SPDX-License-Identifier: Apache-2.0
// Two layers of a tensor-parallel MLP: the first split by columns, the second by rows, so that one
// all-reduce per layer pair is enough. A thread per GPU; kernels are templates, calls are macros.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>

#define CHECK_(call, good, name)                                                    \
  do {                                                                              \
    if ((call) != (good)) {                                                         \
      std::fprintf(stderr, "%s:%d: " name " failed: %s\n", __FILE__, __LINE__, #call); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)
#define CUDA(call) CHECK_(call, cudaSuccess, "CUDA")
#define NCCL(call) CHECK_(call, ncclSuccess, "NCCL")
#define LAUNCH(kernel, grid, block, stream, ...)      \
  do {                                                \
    kernel<<<grid, block, 0, stream>>>(__VA_ARGS__);  \
    CUDA(cudaGetLastError());                         \
  } while (0)

struct Gelu {
  template <typename T>
  __device__ T operator()(T x) const {
    return x * T(0.5) * (T(1) + tanhf(T(0.7978845608) * (x + T(0.044715) * x * x * x)));
  }
};
struct Same {
  template <typename T>
  __device__ T operator()(T x) const {
    return x;
  }
};

/// C = f(A B), all row-major, in tiles of Tile x Tile.
template <int Tile, typename T, typename Function>
__global__ void multiply(const T* a, const T* b, T* c, int m, int n, int k, Function f) {
  __shared__ T left[Tile][Tile], right[Tile][Tile];
  const int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
  T sum = 0;
  for (int at = 0; at < k; at += Tile) {
    left[threadIdx.y][threadIdx.x] = row < m ? a[row * k + at + threadIdx.x] : T(0);
    right[threadIdx.y][threadIdx.x] = column < n ? b[(at + threadIdx.y) * n + column] : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = f(sum);
}

template <typename T>
struct Mlp {
  static constexpr int kTile = 16, kTokens = 32, kWidth = 64, kHidden = 256, kLayers = 2;

  int gpus;
  std::atomic<int> wrong{0};

  static T weight(int i) { return T((i * 37) % 29 - 14) / T(400); }

  void layer(const T* in, const T* up, const T* down, T* hidden, T* out, ncclComm_t comm,
             cudaStream_t stream) const {
    const int share = kHidden / gpus;
    const dim3 block(kTile, kTile);
    LAUNCH((multiply<kTile, T>), dim3(share / kTile, kTokens / kTile), block, stream, in, up, hidden,
           kTokens, share, kWidth, Gelu{});
    LAUNCH((multiply<kTile, T>), dim3(kWidth / kTile, kTokens / kTile), block, stream, hidden, down,
           out, kTokens, kWidth, share, Same{});
    NCCL(ncclAllReduce(out, out, kTokens * kWidth, ncclFloat, ncclSum, comm, stream));
  }

  void on_gpu(int gpu, ncclComm_t comm) {
    CUDA(cudaSetDevice(gpu));
    const int share = kHidden / gpus;
    std::vector<T> x(kTokens * kWidth), up(kWidth * share), down(share * kWidth), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = T(i % 17) / T(17);
    for (int r = 0; r < kWidth; ++r)
      for (int c = 0; c < share; ++c) up[r * share + c] = weight(r * kHidden + gpu * share + c);
    for (int r = 0; r < share; ++r)
      for (int c = 0; c < kWidth; ++c) down[r * kWidth + c] = weight((gpu * share + r) * kWidth + c);
    T *dx, *dup, *ddown, *hidden, *dy;
    CUDA(cudaMalloc(&dx, x.size() * sizeof(T)));
    CUDA(cudaMalloc(&dup, up.size() * sizeof(T)));
    CUDA(cudaMalloc(&ddown, down.size() * sizeof(T)));
    CUDA(cudaMalloc(&hidden, kTokens * share * sizeof(T)));
    CUDA(cudaMalloc(&dy, y.size() * sizeof(T)));
    CUDA(cudaMemcpy(dx, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(dup, up.data(), up.size() * sizeof(T), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(ddown, down.data(), down.size() * sizeof(T), cudaMemcpyHostToDevice));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    for (int l = 0; l < kLayers; ++l)
      layer(l % 2 ? dy : dx, dup, ddown, hidden, l % 2 ? dx : dy, comm, stream);
    CUDA(cudaMemcpyAsync(y.data(), kLayers % 2 ? dy : dx, y.size() * sizeof(T),
                         cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    check(x, y);
    CUDA(cudaStreamDestroy(stream));
    for (T* buffer : {dx, dup, ddown, hidden, dy}) CUDA(cudaFree(buffer));
  }

  void check(std::vector<T> x, const std::vector<T>& y) {
    std::vector<double> in(x.begin(), x.end()), out(in.size());
    for (int l = 0; l < kLayers; ++l, in = out) {
      for (int t = 0; t < kTokens; ++t) {
        std::vector<double> h(kHidden);
        for (int c = 0; c < kHidden; ++c) {
          for (int i = 0; i < kWidth; ++i) h[c] += in[t * kWidth + i] * weight(i * kHidden + c);
          h[c] *= 0.5 * (1 + std::tanh(0.7978845608 * (h[c] + 0.044715 * h[c] * h[c] * h[c])));
        }
        for (int c = 0; c < kWidth; ++c) {
          out[t * kWidth + c] = 0;
          for (int i = 0; i < kHidden; ++i) out[t * kWidth + c] += h[i] * weight(i * kWidth + c);
        }
      }
    }
    for (size_t i = 0; i < y.size(); ++i) wrong += std::abs(y[i] - in[i]) > 1e-3;
  }
};

int main() {
  Mlp<float> mlp;
  CUDA(cudaGetDeviceCount(&mlp.gpus));
  std::vector<ncclComm_t> comms(mlp.gpus);
  NCCL(ncclCommInitAll(comms.data(), mlp.gpus, nullptr));
  std::vector<std::thread> threads;
  for (int gpu = 0; gpu < mlp.gpus; ++gpu)
    threads.emplace_back([&, gpu] { mlp.on_gpu(gpu, comms[gpu]); });
  for (std::thread& thread : threads) thread.join();
  for (ncclComm_t comm : comms) NCCL(ncclCommDestroy(comm));
  std::printf("%s %d wrong\n", mlp.wrong ? "FAIL" : "PASS", mlp.wrong.load());
  return mlp.wrong != 0;
}
