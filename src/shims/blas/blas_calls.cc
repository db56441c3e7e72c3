// SPDX-License-Identifier: Apache-2.0
#include "shims/blas/blas_calls.h"

#include <cstdio>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuco::blas {

cublasStatus_t refuse(const char* function, const char* why) {
  std::fprintf(stderr, "cuco: %s: %s\n", function, why);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t enqueue(const char* function, const Gemm& gemm, cudaStream_t stream) {
  if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 || gemm.batches < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(gemm)) {
    return refuse(
        function,
        "these types are not part of the virtual library; A and B may be fp64, fp32, fp16, "
        "bf16 or int8, with results of fp64, fp32, any 16- or 32-bit float, and int32");
  }
  return launch(gemm, stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                             : CUBLAS_STATUS_EXECUTION_FAILED;
}

Scalar scalar(const void* at, cudaDataType_t type, bool on_device) {
  Scalar made{.type = type};
  if (on_device) {
    made.device = at;
    return made;
  }
  switch (type) {
    case CUDA_R_64F:
      made.value = *static_cast<const double*>(at);
      break;
    case CUDA_R_16F:
      made.value = __half2float(*static_cast<const __half*>(at));
      break;
    case CUDA_R_32I:
      made.value = *static_cast<const int*>(at);
      break;
    default:
      made.value = *static_cast<const float*>(at);
  }
  return made;
}

bool scale_type(cublasComputeType_t compute, cudaDataType_t* type) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      *type = CUDA_R_16F;
      return true;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      *type = CUDA_R_32F;
      return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      *type = CUDA_R_64F;
      return true;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      *type = CUDA_R_32I;
      return true;
    default:
      return false;
  }
}

}  // namespace cuco::blas
