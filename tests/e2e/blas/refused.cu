// SPDX-License-Identifier: Apache-2.0
// What there is no kernel for says so by name.
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>

#include <cstdio>

int main() {
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
  const cuComplex one = {1, 0};
  const int blas = cublasCgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1);
  cufftHandle plan;
  const int fft = cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
  curandGenerator_t generator;
  const int rand = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  std::printf("%d %d %d\n", blas, fft, rand);
  return blas != 0 && fft != 0 && rand != 0 ? 0 : 1;
}
