// SPDX-License-Identifier: Apache-2.0
// Tiles of 64 x 64 through shared memory. 16-bit factors go to the tensor cores, the others do not.
// Plain kernels: their predicted time is theirs, not that of NVIDIA's library.
#include "shims/blas/gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cuco::blas {
namespace {

constexpr int kTile = 64;

__device__ double read(const void* data, cudaDataType_t type, long long at) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(data)[at];
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(data)[at]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]);
    case CUDA_R_32I:
      return static_cast<const int*>(data)[at];
    default:
      return static_cast<const float*>(data)[at];
  }
}

template <typename Sum>
__device__ void write(void* data, cudaDataType_t type, long long at, Sum value) {
  switch (type) {
    case CUDA_R_64F:
      static_cast<double*>(data)[at] = static_cast<double>(value);
      break;
    case CUDA_R_16F:
      static_cast<__half*>(data)[at] = __float2half(static_cast<float>(value));
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16(static_cast<float>(value));
      break;
    case CUDA_R_32I:
      static_cast<int*>(data)[at] = static_cast<int>(value);
      break;
    default:
      static_cast<float*>(data)[at] = static_cast<float>(value);
  }
}

__device__ const char* begin_of(const Matrix& matrix, int batch) {
  const void* data = matrix.list != nullptr ? matrix.list[batch] : matrix.data;
  return static_cast<const char*>(data);
}

__device__ double value_of(const Scalar& scalar) {
  return scalar.device != nullptr ? read(scalar.device, scalar.type, 0) : scalar.value;
}

/// Element (i, j) of the sum of products goes where the call wants it.
template <typename Sum>
__device__ void finish(const Gemm& gemm, int batch, int i, int j, Sum sum) {
  const auto alpha = static_cast<Sum>(value_of(gemm.alpha));
  const auto beta = static_cast<Sum>(value_of(gemm.beta));
  Sum value = alpha * sum;
  // As BLAS has it: what is multiplied by zero is not read.
  if (beta != Sum(0)) {
    const long long at = i * gemm.c.row + j * gemm.c.column + (gemm.c.list ? 0 : batch * gemm.c.batch);
    value += beta * static_cast<Sum>(read(begin_of(gemm.c, batch), gemm.c.type, at));
  }
  if (gemm.bias != nullptr)
    value += static_cast<Sum>(read(gemm.bias, gemm.bias_type, i + batch * gemm.bias_batch));
  if (gemm.activation == Activation::Relu) value = value > Sum(0) ? value : Sum(0);
  if (gemm.activation == Activation::Gelu) {
    const float x = static_cast<float>(value);
    value = static_cast<Sum>(0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))));
  }
  const long long at = i * gemm.d.row + j * gemm.d.column + (gemm.d.list ? 0 : batch * gemm.d.batch);
  write(const_cast<char*>(begin_of(gemm.d, batch)), gemm.d.type, at, value);
}

/// A tile of `matrix` from (row, column) on into shared memory, zeros beyond its end. Neighbouring
/// threads read neighbouring elements, whichever way the matrix lies.
template <typename T, int kRows, int kColumns, int kPitch>
__device__ void load_tile(T* tile, const Matrix& matrix, int batch, int row, int column, int rows, int columns) {
  const T* data = reinterpret_cast<const T*>(begin_of(matrix, batch));
  const long long shift = matrix.list != nullptr ? 0 : batch * matrix.batch;
  const bool by_rows = matrix.row == 1;
  for (int e = threadIdx.x; e < kRows * kColumns; e += blockDim.x) {
    const int r = by_rows ? e % kRows : e / kColumns;
    const int c = by_rows ? e / kRows : e % kColumns;
    const bool inside = row + r < rows && column + c < columns;
    tile[r * kPitch + c] =
        inside ? data[shift + (row + r) * matrix.row + (column + c) * matrix.column] : T(0.0f);
  }
}

/// 256 threads, 4 x 4 elements each.
template <typename T, typename Sum>
__global__ void __launch_bounds__(256) gemm_plain(const __grid_constant__ Gemm gemm) {
  constexpr int kDepth = 16;
  __shared__ T a[kTile * (kDepth + 1)];
  __shared__ T b[kDepth * (kTile + 1)];
  const int row = blockIdx.x * kTile, column = blockIdx.y * kTile, batch = blockIdx.z;
  const int i0 = threadIdx.x % 16, j0 = threadIdx.x / 16;
  Sum sums[4][4] = {};
  for (int k = 0; k < gemm.k; k += kDepth) {
    load_tile<T, kTile, kDepth, kDepth + 1>(a, gemm.a, batch, row, k, gemm.m, gemm.k);
    load_tile<T, kDepth, kTile, kTile + 1>(b, gemm.b, batch, k, column, gemm.k, gemm.n);
    __syncthreads();
    for (int p = 0; p < kDepth; ++p) {
      Sum left[4], right[4];
      for (int i = 0; i < 4; ++i) left[i] = static_cast<Sum>(a[(i0 + 16 * i) * (kDepth + 1) + p]);
      for (int j = 0; j < 4; ++j) right[j] = static_cast<Sum>(b[p * (kTile + 1) + j0 + 16 * j]);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i) {
      const int at_row = row + i0 + 16 * i, at_column = column + j0 + 16 * j;
      if (at_row < gemm.m && at_column < gemm.n) finish(gemm, batch, at_row, at_column, sums[i][j]);
    }
}

/// Four warps, 32 x 32 elements each, by the tensor cores.
template <typename T>
__global__ void __launch_bounds__(128) gemm_tensor(const __grid_constant__ Gemm gemm) {
  namespace wmma = nvcuda::wmma;
  constexpr int kDepth = 32, kPitchA = kDepth + 8, kPitchB = kTile + 8, kPitchSum = kTile + 4;
  __shared__ union {
    struct {
      __align__(32) T a[kTile * kPitchA];
      __align__(32) T b[kDepth * kPitchB];
    } tiles;
    __align__(32) float sums[kTile * kPitchSum];
  } memory;
  const int row = blockIdx.x * kTile, column = blockIdx.y * kTile, batch = blockIdx.z;
  const int warp = threadIdx.x / 32, warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
  for (int k = 0; k < gemm.k; k += kDepth) {
    load_tile<T, kTile, kDepth, kPitchA>(memory.tiles.a, gemm.a, batch, row, k, gemm.m, gemm.k);
    load_tile<T, kDepth, kTile, kPitchB>(memory.tiles.b, gemm.b, batch, k, column, gemm.k, gemm.n);
    __syncthreads();
    for (int p = 0; p < kDepth; p += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> right[2];
      for (int i = 0; i < 2; ++i)
        wmma::load_matrix_sync(left[i], memory.tiles.a + (warp_row + 16 * i) * kPitchA + p, kPitchA);
      for (int j = 0; j < 2; ++j)
        wmma::load_matrix_sync(right[j], memory.tiles.b + p * kPitchB + warp_column + 16 * j, kPitchB);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(memory.sums + (warp_row + 16 * i) * kPitchSum + warp_column + 16 * j,
                              sums[i][j], kPitchSum, wmma::mem_row_major);
  __syncthreads();
  for (int e = threadIdx.x; e < kTile * kTile; e += blockDim.x) {
    const int i = e % kTile, j = e / kTile;
    if (row + i < gemm.m && column + j < gemm.n)
      finish(gemm, batch, row + i, column + j, memory.sums[i * kPitchSum + j]);
  }
}

bool is_result(cudaDataType_t type) {
  return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

}  // namespace

bool is_supported(const Gemm& gemm) {
  if (gemm.a.type != gemm.b.type || gemm.c.type != gemm.d.type) return false;
  switch (gemm.a.type) {
    case CUDA_R_64F:
      return gemm.d.type == CUDA_R_64F;
    case CUDA_R_32F:
      return gemm.d.type == CUDA_R_32F;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return is_result(gemm.d.type);
    case CUDA_R_8I:
      return gemm.d.type == CUDA_R_32I;
    default:
      return false;
  }
}

cudaError_t launch(const Gemm& gemm, cudaStream_t stream) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.batches == 0) return cudaSuccess;
  const dim3 grid((gemm.m + kTile - 1) / kTile, (gemm.n + kTile - 1) / kTile, gemm.batches);
  switch (gemm.a.type) {
    case CUDA_R_64F:
      gemm_plain<double, double><<<grid, 256, 0, stream>>>(gemm);
      break;
    case CUDA_R_16F:
      gemm_tensor<__half><<<grid, 128, 0, stream>>>(gemm);
      break;
    case CUDA_R_16BF:
      gemm_tensor<__nv_bfloat16><<<grid, 128, 0, stream>>>(gemm);
      break;
    case CUDA_R_8I:
      gemm_plain<signed char, int><<<grid, 256, 0, stream>>>(gemm);
      break;
    default:
      gemm_plain<float, float><<<grid, 256, 0, stream>>>(gemm);
  }
  return cudaGetLastError();
}

}  // namespace cuco::blas
