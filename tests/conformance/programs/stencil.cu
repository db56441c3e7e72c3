// SPDX-License-Identifier: Apache-2.0
// Ten steps of a 5-point stencil with halos in shared memory, buffers swapped by the host.
#include <utility>

#include "check.h"

__global__ void step(const float* in, float* out, int n) {
  __shared__ float tile[18][18];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const auto at = [&](int i, int j) { return i < 0 || j < 0 || i >= n || j >= n ? 0.0F : in[j * n + i]; };
  tile[threadIdx.y + 1][threadIdx.x + 1] = at(x, y);
  if (threadIdx.x == 0) tile[threadIdx.y + 1][0] = at(x - 1, y);
  if (threadIdx.x == 15) tile[threadIdx.y + 1][17] = at(x + 1, y);
  if (threadIdx.y == 0) tile[0][threadIdx.x + 1] = at(x, y - 1);
  if (threadIdx.y == 15) tile[17][threadIdx.x + 1] = at(x, y + 1);
  __syncthreads();
  if (x >= n || y >= n) return;
  const int i = threadIdx.x + 1, j = threadIdx.y + 1;
  out[y * n + x] = 0.5F * tile[j][i] + 0.125F * (tile[j - 1][i] + tile[j + 1][i] + tile[j][i - 1] + tile[j][i + 1]);
}

int main() {
  const int n = 75;
  const auto in = random_floats(n * n, 18);
  Buffer<float> a(in), b(n * n);
  float *from = a.data, *to = b.data;
  for (int t = 0; t < 10; ++t, std::swap(from, to)) step<<<dim3(5, 5), dim3(16, 16)>>>(from, to, n);
  CHECK(cudaDeviceSynchronize());
  std::vector<double> x(in.begin(), in.end()), y(n * n);
  for (int t = 0; t < 10; ++t, std::swap(x, y)) {
    const auto at = [&](int i, int j) { return i < 0 || j < 0 || i >= n || j >= n ? 0.0 : x[j * n + i]; };
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) y[j * n + i] = 0.5 * at(i, j) + 0.125 * (at(i, j - 1) + at(i, j + 1) + at(i - 1, j) + at(i + 1, j));
  }
  return compare(a.host(), x, 1e-6);
}
