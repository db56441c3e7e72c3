// SPDX-License-Identifier: Apache-2.0
// Whole kernels as nvcc emits them.
#include <cmath>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

std::vector<float> ramp(std::size_t n, float scale) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(i % 17) * scale - 1.0F;
  return out;
}

TEST(Kernels, Saxpy) {
  const auto gpu = load(read_text("bench/data/kernels.ptx"));
  const int n = 1000;  // Not a multiple of the block: the last one is partly idle.
  const std::vector<float> x = ramp(n, 0.5F);
  const std::vector<float> y = ramp(n, 0.25F);
  const Address dx = gpu->upload<float>(x);
  const Address dy = gpu->upload<float>(y);
  const auto result =
      run_ok(*gpu, "saxpy", {.grid = {8, 1, 1}, .block = {128, 1, 1}}, n, 2.0F, dx, dy);
  const auto out = gpu->download<float>(dy, n);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_EQ(out[i], std::fma(2.0F, x[i], y[i])) << i;
  EXPECT_GT(result.grid.finished, result.grid.started);
  EXPECT_GT(result.grid.counters.thread_instructions, 15U * 1000U);
}

TEST(Kernels, TiledGemm) {
  const auto gpu = load(read_text("bench/data/kernels.ptx"));
  const int n = 64;
  const std::vector<float> a = ramp(n * n, 0.5F);
  const std::vector<float> b = ramp(n * n, 0.25F);
  const Address da = gpu->upload<float>(a);
  const Address db = gpu->upload<float>(b);
  const Address dc = gpu->allocate(n * n * 4);
  const auto result =
      run_ok(*gpu, "gemm_tiled", {.grid = {2, 2, 1}, .block = {32, 32, 1}}, n, da, db, dc);
  const auto c = gpu->download<float>(dc, n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum = std::fma(a[i * n + k], b[k * n + j], sum);
      ASSERT_EQ(c[i * n + j], sum) << i << "," << j;
    }
  }
  EXPECT_EQ(result.grid.counters.bank_conflicts, 0U);
  EXPECT_EQ(result.grid.counters.barriers, 4U * 32U * 4U);
}

TEST(Kernels, DivergentLoop) {
  const auto gpu = load(read_text("bench/data/kernels.ptx"));
  const int n = 300;
  const Address out = gpu->allocate(n * 4);
  const auto result = run_ok(*gpu, "divergent", {.grid = {3, 1, 1}, .block = {128, 1, 1}}, n, out);
  const auto steps = gpu->download<std::uint32_t>(out, n);
  for (unsigned i = 0; i < n; ++i) {
    unsigned x = i + 1;
    unsigned expected = 0;
    while (x != 1 && expected <= 400) {
      const bool odd = (x & 1U) != 0;
      x = odd ? 3 * x + 1 : x >> 1U;
      expected += odd ? 2 : 1;
    }
    EXPECT_EQ(steps[i], expected) << i;
  }
  EXPECT_GT(result.grid.counters.divergent_branches, 0U);
}

}  // namespace
}  // namespace cuco::vgpu
