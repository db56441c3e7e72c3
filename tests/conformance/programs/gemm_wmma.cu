// SPDX-License-Identifier: Apache-2.0
// A half-precision matrix product with the wmma API.
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

__global__ void gemm(const half* a, const half* b, float* c, int n) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0F);
  for (int k = 0; k < n; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * n + k, n);
    wmma::load_matrix_sync(fb, b + k * n + blockIdx.x * 16, n);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2.0F;
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

int main() {
  const int n = 128;
  auto a = random_floats(n * n, 5), b = random_floats(n * n, 6);
  std::vector<half> ha, hb;
  for (float& x : a) ha.push_back(__float2half(x)), x = __half2float(ha.back());
  for (float& x : b) hb.push_back(__float2half(x)), x = __half2float(hb.back());
  Buffer<half> da(ha), db(hb);
  Buffer<float> dc(n * n);
  gemm<<<dim3(n / 16, n / 16), 32>>>(da.data, db.data, dc.data, n);
  CHECK(cudaDeviceSynchronize());
  auto expected = reference_gemm(a, b, n, n, n);
  for (double& x : expected) x *= 2;
  return compare(dc.host(), expected, 1e-4);
}
