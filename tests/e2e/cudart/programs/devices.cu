// SPDX-License-Identifier: Apache-2.0
// ranks: 4
// expect: four devices work together
#include "check.h"

__global__ void put(int* at, int value) {
  *at = value;
}
__global__ void fetch(int* to, const int* from) {
  *to = *from + 1;
}

int main() {
  int count = 0;
  OK(cudaGetDeviceCount(&count));
  CHECK(count == 4);
  int* p[4];
  for (int i = 0; i < 4; ++i) {
    OK(cudaSetDevice(i));
    OK(cudaMalloc(&p[i], 1 << 20));
    put<<<1, 1>>>(p[i], 100 * i);
  }
  for (int i = 0; i < 4; ++i) {
    OK(cudaSetDevice(i));
    OK(cudaDeviceSynchronize());
  }
  OK(cudaSetDevice(0));
  int can = 0, value = 0;
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  OK(cudaMemcpyPeer(p[0] + 1, 0, p[3], 3, 4));
  OK(cudaMemcpy(&value, p[0] + 1, 4, cudaMemcpyDeviceToHost));
  CHECK(value == 300);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  fetch<<<1, 1>>>(p[0], p[1]);
  OK(cudaMemcpy(&value, p[0], 4, cudaMemcpyDeviceToHost));
  CHECK(value == 101);
  cudaStream_t other;
  OK(cudaSetDevice(2));
  OK(cudaStreamCreate(&other));
  int device = -1;
  OK(cudaStreamGetDevice(other, &device));
  CHECK(device == 2);
  OK(cudaSetDevice(0));
  put<<<1, 1, 0, other>>>(p[0], 1);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  // Without peer access a kernel must not read another device's memory.
  fetch<<<1, 1>>>(p[0], p[2]);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  OK(cudaSetDevice(1));
  OK(cudaDeviceSynchronize());
  std::puts("four devices work together");
}
