// SPDX-License-Identifier: Apache-2.0
/// \file
/// D = activation(alpha op(A) op(B) + beta C + bias), for many matrices at once: what all calls of
/// cuBLAS and cuBLASLt come down to.
#pragma once

#include <cuda_runtime.h>
#include <library_types.h>

namespace cuco::blas {

/// Element (i, j) of matrix number b lies at i * row + j * column + b * batch, in elements. With
/// `list`, which is in device memory, matrix number b begins at list[b].
struct Matrix {
  const void* data = nullptr;
  const void* const* list = nullptr;
  long long row = 1;
  long long column = 1;
  long long batch = 0;
  cudaDataType_t type = CUDA_R_32F;
};

/// A factor: on the host, or in device memory where the caller says so.
struct Scalar {
  double value = 1;
  const void* device = nullptr;
  cudaDataType_t type = CUDA_R_32F;
};

enum class Activation { None, Relu, Gelu };

struct Gemm {
  int m = 0;
  int n = 0;
  int k = 0;
  int batches = 1;
  Matrix a;  ///< m x k, transposed already by its strides; b: k x n; c and d: m x n.
  Matrix b;
  Matrix c;
  Matrix d;
  Scalar alpha;
  Scalar beta;
  Activation activation = Activation::None;
  const void* bias = nullptr;  ///< One per row; null: none.
  cudaDataType_t bias_type = CUDA_R_32F;
  long long bias_batch = 0;
};

/// Is there a kernel for these types? A and B must have the same one.
[[nodiscard]] bool is_supported(const Gemm& gemm);

/// Enqueues it.
[[nodiscard]] cudaError_t launch(const Gemm& gemm, cudaStream_t stream);

}  // namespace cuco::blas
