// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tiled GEMM of bench/data/kernels.ptx as plain C++: what slowdowns are measured against.
#pragma once

#include <algorithm>

namespace cuco::bench {

[[gnu::noinline]] inline void native_gemm(int n, const float* a, const float* b, float* c) {
  std::fill(c, c + n * n, 0.0F);
  for (int i0 = 0; i0 < n; i0 += 32) {
    for (int k0 = 0; k0 < n; k0 += 32) {
      for (int i = i0; i < i0 + 32; ++i) {
        for (int k = k0; k < k0 + 32; ++k) {
          const float value = a[i * n + k];
          for (int j = 0; j < n; ++j)
            c[i * n + j] += value * b[k * n + j];
        }
      }
    }
  }
}

}  // namespace cuco::bench
