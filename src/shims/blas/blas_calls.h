// SPDX-License-Identifier: Apache-2.0
/// \file
/// What both libraries' calls have in common.
#pragma once

#include <cublas_v2.h>

#include "shims/blas/gemm.h"

namespace cuco::blas {

/// Says on standard error what is not part of the virtual library, and why, in one line.
cublasStatus_t refuse(const char* function, const char* why);

/// op(M) of a matrix in column-major order.
[[nodiscard]] inline Matrix column_major(const void* data,
                                         cudaDataType_t type,
                                         long long ld,
                                         cublasOperation_t op,
                                         long long batch = 0) {
  Matrix matrix{.data = data, .batch = batch, .type = type};
  matrix.row = op == CUBLAS_OP_N ? 1 : ld;
  matrix.column = op == CUBLAS_OP_N ? ld : 1;
  return matrix;
}

/// Enqueues it, or refuses it by name.
cublasStatus_t enqueue(const char* function, const Gemm& gemm, cudaStream_t stream);

/// A factor of the given type, where the caller has put it.
[[nodiscard]] Scalar scalar(const void* at, cudaDataType_t type, bool on_device);

/// The type of alpha and beta; false for one that there is no kernel for.
bool scale_type(cublasComputeType_t compute, cudaDataType_t* type);

}  // namespace cuco::blas
