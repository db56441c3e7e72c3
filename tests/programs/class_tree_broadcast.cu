// SPDX-License-Identifier: Apache-2.0
// ncclBcast / ncclReduce in a tree of helper classes; MPI; CHECK macros that throw.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_CHECK(cmd) do { cudaError_t e = (cmd); if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); } while (0)
#define NCCL_CHECK(cmd) do { ncclResult_t r = (cmd); if (r != ncclSuccess) throw std::runtime_error(ncclGetErrorString(r)); } while (0)

namespace dist {
class Context {
 public:
  Context(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    CUDA_CHECK(cudaSetDevice(rank_));
    ncclUniqueId id;
    if (rank_ == 0) NCCL_CHECK(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    NCCL_CHECK(ncclCommInitRank(&comm_, size_, id, rank_));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Context() {
    cudaStreamDestroy(stream_);
    ncclCommDestroy(comm_);
    MPI_Finalize();
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
 private:
  int rank_ = 0, size_ = 1;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

class Collective {
 public:
  explicit Collective(std::shared_ptr<Context> ctx) : ctx_(std::move(ctx)) {}
  virtual ~Collective() = default;
 protected:
  std::shared_ptr<Context> ctx_;
};

template <typename T> struct TypeOf;
template <> struct TypeOf<float> { static constexpr ncclDataType_t value = ncclFloat; };
template <> struct TypeOf<long long> { static constexpr ncclDataType_t value = ncclInt64; };

class Broadcaster : public Collective {
 public:
  using Collective::Collective;
  template <typename T> void operator()(T* data, size_t n, int root) {
    NCCL_CHECK(ncclBcast(data, n, TypeOf<T>::value, root, ctx_->comm(), ctx_->stream()));
  }
};
class Reducer : public Collective {
 public:
  using Collective::Collective;
  template <typename T> void operator()(const T* in, T* out, size_t n, int root) {
    NCCL_CHECK(ncclReduce(in, out, n, TypeOf<T>::value, ncclSum, root, ctx_->comm(), ctx_->stream()));
  }
};
}  // namespace dist

__global__ void scale(const float* w, const float* x, float* y, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[i] * x[i] * f;
}
__global__ void count_large(const float* y, long long* hits, int n) {
  long long c = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) c += y[i] > 0.5f;
  atomicAdd((unsigned long long*)hits, (unsigned long long)c);
}

class Trainer {
 public:
  Trainer(std::shared_ptr<dist::Context> ctx, int n) : ctx_(ctx), bcast_(ctx), reduce_(ctx), n_(n) {
    CUDA_CHECK(cudaMalloc(&w_, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&x_, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&y_, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&sum_, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&hits_, 2 * sizeof(long long)));
    std::vector<float> h(n);
    for (int i = 0; i < n; ++i) h[i] = 0.01f * ((i * 7 + ctx->rank()) % 100);
    CUDA_CHECK(cudaMemcpy(x_, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    if (ctx->rank() == 0) CUDA_CHECK(cudaMemcpy(w_, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Trainer() { cudaFree(w_); cudaFree(x_); cudaFree(y_); cudaFree(sum_); cudaFree(hits_); }
  void step(int it) {
    bcast_(w_, n_, 0);
    scale<<<(n_ + 255) / 256, 256, 0, ctx_->stream()>>>(w_, x_, y_, n_, 1.0f + it);
    CUDA_CHECK(cudaMemsetAsync(hits_, 0, 2 * sizeof(long long), ctx_->stream()));
    count_large<<<1, 256, 0, ctx_->stream()>>>(y_, hits_, n_);
    reduce_(y_, sum_, n_, it % ctx_->size());
    reduce_(hits_, hits_ + 1, 1, 0);
  }
  bool check(int it) {
    CUDA_CHECK(cudaStreamSynchronize(ctx_->stream()));
    long long h[2];
    CUDA_CHECK(cudaMemcpy(h, hits_, sizeof h, cudaMemcpyDeviceToHost));
    if (ctx_->rank() != it % ctx_->size()) return true;
    std::vector<float> got(n_);
    CUDA_CHECK(cudaMemcpy(got.data(), sum_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n_; ++i) {
      float e = 0;
      for (int r = 0; r < ctx_->size(); ++r) e += 0.01f * ((i * 7) % 100) * 0.01f * ((i * 7 + r) % 100) * (1.0f + it);
      if (std::fabs(e - got[i]) > 1e-3f * (1 + std::fabs(e))) return false;
    }
    return true;
  }
 private:
  std::shared_ptr<dist::Context> ctx_;
  dist::Broadcaster bcast_;
  dist::Reducer reduce_;
  int n_;
  float *w_, *x_, *y_, *sum_;
  long long* hits_;
};

int main(int argc, char** argv) try {
  auto ctx = std::make_shared<dist::Context>(&argc, &argv);
  auto trainer = std::make_unique<Trainer>(ctx, 1000);
  bool ok = true;
  for (int it = 0; it < 5; ++it) { trainer->step(it); ok = trainer->check(it) && ok; }
  trainer.reset();
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return !ok;
} catch (const std::exception& e) { std::fprintf(stderr, "%s\n", e.what()); return 1; }
