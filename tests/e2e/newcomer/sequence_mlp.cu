// SPDX-License-Identifier: Apache-2.0
// A tensor-parallel MLP whose tokens are spread, too: each rank gathers all tokens, computes its
// columns of the hidden layer and its part of the output, and keeps the sum of its own tokens. Layers
// are a list of macros, kernels are templates over the element type and the activation.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LAYERS(apply) \
  apply(0, Relu)      \
  apply(1, Swish)     \
  apply(2, Relu)

#define GUARD(kind, good, call)                                                            \
  do {                                                                                     \
    const kind guarded = (call);                                                           \
    if (guarded != good) {                                                                 \
      std::fprintf(stderr, #call " returned %d in line %d\n", int(guarded), __LINE__);     \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                        \
    }                                                                                      \
  } while (false)
#define CU(call) GUARD(cudaError_t, cudaSuccess, call)
#define NC(call) GUARD(ncclResult_t, ncclSuccess, call)

template <typename T>
struct Element;
template <>
struct Element<float> {
  static constexpr ncclDataType_t kNccl = ncclFloat32;
  __host__ __device__ static float load(float x) { return x; }
  __host__ __device__ static float store(float x) { return x; }
};
template <>
struct Element<__half> {
  static constexpr ncclDataType_t kNccl = ncclFloat16;
  __host__ __device__ static float load(__half x) { return __half2float(x); }
  __host__ __device__ static __half store(float x) { return __float2half(x); }
};

struct Relu {
  static __host__ __device__ float of(float x) { return x > 0 ? x : 0; }
};
struct Swish {
  static __host__ __device__ float of(float x) { return x / (1 + expf(-x)); }
};
struct Identity {
  static __host__ __device__ float of(float x) { return x; }
};

template <typename T, typename Activation, int kTile>
__global__ __launch_bounds__(kTile * kTile) void product(const T* __restrict__ a,
                                                         const T* __restrict__ b,
                                                         T* __restrict__ c, int n, int k) {
  __shared__ float as[kTile][kTile + 1], bs[kTile][kTile + 1];
  const int i = blockIdx.y * kTile + threadIdx.y, j = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += kTile) {
    as[threadIdx.y][threadIdx.x] = Element<T>::load(a[i * k + base + threadIdx.x]);
    bs[threadIdx.y][threadIdx.x] = Element<T>::load(b[(base + threadIdx.y) * n + j]);
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum += as[threadIdx.y][l] * bs[l][threadIdx.x];
    __syncthreads();
  }
  c[i * n + j] = Element<T>::store(Activation::of(sum));
}

template <typename T>
__global__ void add_to(T* x, const T* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = Element<T>::store(Element<T>::load(x[i]) + Element<T>::load(y[i]));
}

template <typename T>
class Network {
 public:
  static constexpr int kTile = 16, kTokens = 64, kWidth = 64, kHidden = 128;

  Network(int rank, int ranks, ncclComm_t comm) : rank_(rank), ranks_(ranks), comm_(comm) {
    CU(cudaStreamCreate(&stream_));
    CU(cudaMalloc(&mine_, bytes(kTokens / ranks, kWidth)));
    CU(cudaMalloc(&part_, bytes(kTokens / ranks, kWidth)));
    CU(cudaMalloc(&all_, bytes(kTokens, kWidth)));
    CU(cudaMalloc(&hidden_, bytes(kTokens, kHidden / ranks)));
    CU(cudaMalloc(&out_, bytes(kTokens, kWidth)));
    CU(cudaMalloc(&up_, bytes(kWidth, kHidden / ranks)));
    CU(cudaMalloc(&down_, bytes(kHidden / ranks, kWidth)));
    const int share = kHidden / ranks;
    upload(mine_, kTokens / ranks, kWidth,
           [&](int r, int c) { return token(rank * (kTokens / ranks) + r, c); });
    upload(up_, kWidth, share, [&](int r, int c) { return weight(r, rank * share + c); });
    upload(down_, share, kWidth, [&](int r, int c) { return weight(c + 5, rank * share + r); });
  }
  ~Network() {
    for (T* buffer : {mine_, part_, all_, hidden_, out_, up_, down_}) cudaFree(buffer);
    cudaStreamDestroy(stream_);
  }

  static float token(int r, int c) { return float((r * 13 + c * 7) % 31) / 31 - 0.4f; }
  static float weight(int r, int c) { return float((r * 5 + c * 3) % 17 - 8) / 64; }

  template <typename Activation>
  void layer() {
    const int share = kHidden / ranks_, own = kTokens / ranks_ * kWidth;
    const dim3 block(kTile, kTile);
    NC(ncclAllGather(mine_, all_, own, Element<T>::kNccl, comm_, stream_));
    product<T, Activation, kTile>
        <<<dim3(share / kTile, kTokens / kTile), block, 0, stream_>>>(all_, up_, hidden_, share, kWidth);
    product<T, Identity, kTile>
        <<<dim3(kWidth / kTile, kTokens / kTile), block, 0, stream_>>>(hidden_, down_, out_, kWidth, share);
    NC(ncclReduceScatter(out_, part_, own, Element<T>::kNccl, ncclSum, comm_, stream_));
    add_to<<<(own + 127) / 128, 128, 0, stream_>>>(mine_, part_, own);
    CU(cudaGetLastError());
  }

  int wrong() {
    std::vector<T> got(kTokens / ranks_ * kWidth);
    CU(cudaMemcpyAsync(got.data(), mine_, got.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    CU(cudaStreamSynchronize(stream_));
    std::vector<double> x(kTokens * kWidth);
    for (int r = 0; r < kTokens; ++r)
      for (int c = 0; c < kWidth; ++c) x[r * kWidth + c] = token(r, c);
#define ON_HOST(number, Activation) host_layer<Activation>(x);
    LAYERS(ON_HOST)
#undef ON_HOST
    int count = 0;
    const size_t first = size_t(rank_) * got.size();
    for (size_t i = 0; i < got.size(); ++i)
      count += std::abs(Element<T>::load(got[i]) - x[first + i]) > (sizeof(T) == 2 ? 0.02 : 1e-4);
    return count;
  }

 private:
  static size_t bytes(int rows, int columns) { return sizeof(T) * rows * columns; }

  template <typename Value>
  static void upload(T* to, int rows, int columns, Value value) {
    std::vector<T> from(size_t(rows) * columns);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) from[size_t(r) * columns + c] = Element<T>::store(value(r, c));
    CU(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  template <typename Activation>
  static void host_layer(std::vector<double>& x) {
    std::vector<double> hidden(kHidden);
    for (int r = 0; r < kTokens; ++r) {
      for (int h = 0; h < kHidden; ++h) {
        double sum = 0;
        for (int c = 0; c < kWidth; ++c) sum += x[r * kWidth + c] * weight(c, h);
        hidden[h] = Activation::of(float(sum));
      }
      for (int c = 0; c < kWidth; ++c)
        for (int h = 0; h < kHidden; ++h) x[r * kWidth + c] += hidden[h] * weight(c + 5, h);
    }
  }

  int rank_, ranks_;
  ncclComm_t comm_;
  cudaStream_t stream_ = nullptr;
  T *mine_ = nullptr, *part_ = nullptr, *all_ = nullptr, *hidden_ = nullptr, *out_ = nullptr;
  T *up_ = nullptr, *down_ = nullptr;
};

template <typename T>
static int forward(int rank, int ranks, ncclComm_t comm) {
  Network<T> network(rank, ranks, comm);
#define RUN(number, Activation) network.template layer<Activation>();
  LAYERS(RUN)
#undef RUN
  return network.wrong();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CU(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NC(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_CHAR, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NC(ncclCommInitRank(&comm, ranks, id, rank));
  const bool halves = argc > 1 && argv[1][0] == 'h';
  int mine = halves ? forward<__half>(rank, ranks, comm) : forward<float>(rank, ranks, comm);
  int wrong = 0;
  MPI_Reduce(&mine, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  NC(ncclCommDestroy(comm));
  if (rank == 0) std::printf("%s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
  MPI_Finalize();
  return rank == 0 && wrong != 0;
}
