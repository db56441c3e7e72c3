// SPDX-License-Identifier: Apache-2.0
// A bf16 matrix product with mma.sync, ldmatrix and a double-buffered cp.async pipeline.
#include <cuda_bf16.h>

#include "check.h"

constexpr int kM = 64, kN = 64, kK = 32;

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

// a is m x k row-major, b is n x k row-major (that is, k x n column-major).
__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 sa[2][kM][kK + 8], sb[2][kN][kK + 8];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  float sum[2][4][4] = {};
  const auto fetch = [&](int stage, int at) {
    for (int i = t; i < kM * kK / 8; i += blockDim.x) {
      const int row = i / (kK / 8), col = i % (kK / 8) * 8;
      copy16(&sa[stage][row][col], &a[(blockIdx.y * kM + row) * k + at + col]);
      copy16(&sb[stage][row][col], &b[(blockIdx.x * kN + row) * k + at + col]);
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0, 0);
  for (int at = 0, stage = 0; at < k; at += kK, stage ^= 1) {
    if (at + kK < k) {
      fetch(stage ^ 1, at + kK);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (int ks = 0; ks < kK; ks += 16) {
      unsigned fa[2][4], fb[4][2];
      for (int i = 0; i < 2; ++i) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                     : "r"(shared_address(&sa[stage][wm + i * 16 + lane % 16][ks + lane / 16 * 8])));
      }
      for (int j = 0; j < 4; ++j) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(fb[j][0]), "=r"(fb[j][1])
                     : "r"(shared_address(&sb[stage][wn + j * 8 + lane % 8][ks + lane / 8 % 2 * 8])));
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
          float* d = sum[i][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                       : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                       : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
        }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int r = 0; r < 4; ++r) {
        const int row = blockIdx.y * kM + wm + i * 16 + lane / 4 + r / 2 * 8;
        const int col = blockIdx.x * kN + wn + j * 8 + lane % 4 * 2 + r % 2;
        c[row * n + col] = sum[i][j][r];
      }
}

int main() {
  const int m = 128, n = 128, k = 160;
  auto a = random_floats(m * k, 7), b = random_floats(k * n, 8);
  std::vector<__nv_bfloat16> ha, hb(k * n);
  for (float& x : a) ha.push_back(__float2bfloat16(x)), x = __bfloat162float(ha.back());
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < n; ++j) {
      hb[j * k + i] = __float2bfloat16(b[i * n + j]);
      b[i * n + j] = __bfloat162float(hb[j * k + i]);
    }
  Buffer<__nv_bfloat16> da(ha), db(hb);
  Buffer<float> dc(m * n);
  gemm<<<dim3(n / kN, m / kM), 128>>>(da.data, db.data, dc.data, n, k);
  CHECK(cudaDeviceSynchronize());
  return compare(dc.host(), reference_gemm(a, b, m, n, k), 1e-4);
}
