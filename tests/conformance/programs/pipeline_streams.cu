// SPDX-License-Identifier: Apache-2.0
// Chunks through copy-in, kernel and copy-out on three streams, ordered by events.
#include "check.h"

__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

int main() {
  const int chunk = 1000, chunks = 8, n = chunk * chunks;
  const auto in = random_floats(n, 19);
  float *from = nullptr, *to = nullptr;
  CHECK(cudaMallocHost(&from, n * sizeof(float)));
  CHECK(cudaMallocHost(&to, n * sizeof(float)));
  for (int i = 0; i < n; ++i)
    from[i] = in[i], to[i] = -7;
  Buffer<float> a(n), b(n);
  CHECK(
      cudaDeviceSynchronize());  // They are cleared; these streams do not wait for the default one.
  cudaStream_t stream[3];
  for (auto& s : stream)
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<cudaEvent_t> loaded(chunks), computed(chunks);
  for (int c = 0; c < chunks; ++c) {
    CHECK(cudaEventCreate(&loaded[c]));
    CHECK(cudaEventCreate(&computed[c]));
    CHECK(cudaMemcpyAsync(a.data + c * chunk, from + c * chunk, chunk * sizeof(float),
                          cudaMemcpyHostToDevice, stream[0]));
    CHECK(cudaEventRecord(loaded[c], stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], loaded[c], 0));
    twice<<<(chunk + 127) / 128, 128, 0, stream[1]>>>(a.data + c * chunk, b.data + c * chunk,
                                                      chunk);
    CHECK(cudaEventRecord(computed[c], stream[1]));
    CHECK(cudaStreamWaitEvent(stream[2], computed[c], 0));
    CHECK(cudaMemcpyAsync(to + c * chunk, b.data + c * chunk, chunk * sizeof(float),
                          cudaMemcpyDeviceToHost, stream[2]));
  }
  CHECK(cudaStreamSynchronize(stream[2]));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, loaded[0], computed[chunks - 1]));
  std::vector<double> expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = 2.0 * in[i];
  const int wrong = compare(std::vector<float>(to, to + n), expected, 0);
  CHECK(cudaFreeHost(from));
  CHECK(cudaFreeHost(to));
  return wrong + verdict(ms >= 0, "elapsed time");
}
