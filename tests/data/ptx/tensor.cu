// SPDX-License-Identifier: Apache-2.0
// Tensor cores and asynchronous copies: wmma, mma.sync, ldmatrix, cp.async, mbarrier, clusters,
// fp8 and packed bf16, labels inside inline assembly.
// nvcc -std=c++17 -ptx -arch=compute_90 tensor.cu -o tensor.ptx
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

__global__ void multiply_wmma(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.F);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}

__global__ void multiply_mma(const unsigned* a, const unsigned* b, float* c) {
  __shared__ __align__(16) unsigned tile[1024];
  unsigned fa[4];
  float fc[4] = {};
  __pipeline_memcpy_async(&tile[threadIdx.x * 4], &a[threadIdx.x * 4], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x * 4]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
               : "r"(address));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(fc[0]), "+f"(fc[1]), "+f"(fc[2]), "+f"(fc[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(b[0]), "r"(b[1]));
  for (int phase = 0; phase < 2; ++phase) {
    asm volatile(
        "{\n .reg .pred p;\n WAIT:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        " @p bra DONE;\n bra WAIT;\n DONE:\n}" ::"r"(address),
        "r"(phase));
  }
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = fc[i];
  c[500] = static_cast<float>(__nv_fp8_e4m3(fc[1]));
  reinterpret_cast<__nv_bfloat162*>(c)[300] = __hmul2(*reinterpret_cast<const __nv_bfloat162*>(a),
                                                      *reinterpret_cast<const __nv_bfloat162*>(b));
}

__global__ void __cluster_dims__(2, 1, 1) share_between_blocks(int* p) {
  auto cluster = cooperative_groups::this_cluster();
  __shared__ int value;
  value = p[0];
  cluster.sync();
  p[1] = *cluster.map_shared_rank(&value, 1);
  cluster.sync();
}
