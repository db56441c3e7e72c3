// SPDX-License-Identifier: Apache-2.0
// expect: all copies are right
#include <cstring>
#include <vector>

#include "check.h"

int main() {
  const int n = 1000;
  std::vector<int> a(n), b(n, 0);
  for (int i = 0; i < n; ++i)
    a[i] = i * 7;
  int *d, *e;
  OK(cudaMalloc(&d, n * 4));
  OK(cudaMalloc(&e, n * 4));
  OK(cudaMemcpy(d, a.data(), n * 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(e, d, n * 4, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(b.data(), e, n * 4, cudaMemcpyDefault));
  CHECK(a == b);
  std::vector<int> c(n);
  OK(cudaMemcpy(c.data(), b.data(), n * 4, cudaMemcpyHostToHost));
  CHECK(a == c);

  // Pinned and registered memory, in a stream.
  cudaStream_t s;
  OK(cudaStreamCreate(&s));
  int* pinned;
  OK(cudaMallocHost(&pinned, n * 4));
  OK(cudaMemcpyAsync(pinned, d, n * 4, cudaMemcpyDeviceToHost, s));
  OK(cudaStreamSynchronize(s));
  CHECK(std::memcmp(pinned, a.data(), n * 4) == 0);
  std::vector<int> big(100000, 5);
  OK(cudaHostRegister(big.data(), big.size() * 4, cudaHostRegisterDefault));
  CHECK(big[99999] == 5);
  OK(cudaMemcpyAsync(big.data() + 10, d, n * 4, cudaMemcpyDeviceToHost, s));
  OK(cudaStreamSynchronize(s));
  CHECK(big[9] == 5 && big[11] == 7 && big[10 + n] == 5);
  OK(cudaHostUnregister(big.data()));
  CHECK(big[11] == 7 && big[99999] == 5);

  // Pageable asynchronous: the source may be reused at once.
  std::vector<int> once(n, 42);
  OK(cudaMemcpyAsync(d, once.data(), n * 4, cudaMemcpyHostToDevice, s));
  std::fill(once.begin(), once.end(), 0);
  OK(cudaMemcpyAsync(b.data(), d, n * 4, cudaMemcpyDeviceToHost, s));
  CHECK(b[0] == 42 && b[n - 1] == 42);

  // Rectangles.
  size_t pitch;
  char* p;
  OK(cudaMallocPitch(&p, &pitch, 100, 20));
  CHECK(pitch >= 100 && pitch % 256 == 0);
  std::vector<char> rectangle(100 * 20), back(60 * 20, 0);
  for (int i = 0; i < 2000; ++i)
    rectangle[i] = (char)i;
  OK(cudaMemcpy2D(p, pitch, rectangle.data(), 100, 100, 20, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(back.data(), 60, p + 10, pitch, 60, 20, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 60; ++x)
      CHECK(back[y * 60 + x] == rectangle[y * 100 + x + 10]);
  OK(cudaMemset2D(p, pitch, 9, 50, 10));
  OK(cudaMemcpy2D(back.data(), 60, p, pitch, 60, 20, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 9 && back[49] == 9 && back[50] == rectangle[50]);
  CHECK(back[9 * 60] == 9 && back[10 * 60] == rectangle[1000]);

  // Boxes.
  cudaExtent extent = make_cudaExtent(32, 8, 4);
  cudaPitchedPtr box;
  OK(cudaMalloc3D(&box, extent));
  std::vector<char> source(32 * 8 * 4), result(32 * 8 * 4, 0);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = (char)(i * 3);
  cudaMemcpy3DParms up = {};
  up.srcPtr = make_cudaPitchedPtr(source.data(), 32, 32, 8);
  up.dstPtr = box;
  up.extent = extent;
  up.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&up));
  cudaMemcpy3DParms down = {};
  down.srcPtr = box;
  down.dstPtr = make_cudaPitchedPtr(result.data(), 32, 32, 8);
  down.extent = extent;
  down.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&down));
  CHECK(source == result);
  OK(cudaMemset3D(box, 1, make_cudaExtent(4, 2, 2)));
  OK(cudaMemcpy3D(&down));
  CHECK(result[0] == 1 && result[3] == 1 && result[4] == source[4] && result[32 * 8] == 1);

  // A large pageable copy goes in pieces.
  const size_t many = size_t(80) << 20;
  std::vector<char> large(many), again(many);
  for (size_t i = 0; i < many; i += 4096)
    large[i] = (char)(i >> 12);
  char* device;
  OK(cudaMalloc(&device, many));
  OK(cudaMemcpy(device, large.data(), many, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(again.data(), device, many, cudaMemcpyDeviceToHost));
  CHECK(large == again);

  FAILS(cudaErrorInvalidValue, cudaMemcpy(d, a.data(), size_t(1) << 30, cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(d, e, 4, (cudaMemcpyKind)9));
  FAILS(cudaErrorInvalidPitchValue,
        cudaMemcpy2D(p, 10, rectangle.data(), 100, 100, 2, cudaMemcpyHostToDevice));
  for (void* memory : {(void*)e, (void*)p, box.ptr, (void*)device})
    OK(cudaFree(memory));
  OK(cudaFree(d));
  FAILS(cudaErrorInvalidValue, cudaFree(d));
  OK(cudaFree(nullptr));
  OK(cudaFreeHost(pinned));
  std::puts("all copies are right");
}
