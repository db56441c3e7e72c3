// SPDX-License-Identifier: Apache-2.0
// expect: order is kept
#include "check.h"

__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}
__global__ void put(int* at, int value) {
  *at = value;
}
__global__ void twice(int* at) {
  *at *= 2;
}

int main() {
  int *d, h = 0;
  OK(cudaMalloc(&d, 8));
  cudaStream_t a, b, free_stream;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  OK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
  cudaEvent_t e, start, end;
  OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));

  // b waits for a by an event.
  spin<<<1, 1, 0, a>>>(100000);
  put<<<1, 1, 0, a>>>(d, 21);
  OK(cudaEventRecord(e, a));
  OK(cudaStreamWaitEvent(b, e, 0));
  twice<<<1, 1, 0, b>>>(d);
  CHECK(cudaEventQuery(e) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  CHECK(cudaStreamQuery(a) == cudaErrorNotReady);
  cudaGetLastError();
  OK(cudaStreamSynchronize(b));
  OK(cudaEventQuery(e));
  OK(cudaStreamQuery(a));
  OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
  CHECK(h == 42);

  // The default stream waits for blocking streams, and they for it.
  spin<<<1, 1, 0, a>>>(50000);
  put<<<1, 1, 0, a>>>(d, 1);
  twice<<<1, 1>>>(d);
  twice<<<1, 1, 0, b>>>(d);
  OK(cudaStreamSynchronize(b));
  OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
  CHECK(h == 4);

  // A non-blocking stream does not wait.
  spin<<<1, 1, 0, a>>>(2000000);
  put<<<1, 1, 0, free_stream>>>(d, 5);
  OK(cudaStreamSynchronize(free_stream));
  CHECK(cudaStreamQuery(a) == cudaErrorNotReady);
  cudaGetLastError();
  OK(cudaDeviceSynchronize());

  // Virtual time: a long kernel takes longer than a short one, streams overlap.
  float one = 0, two = 0;
  OK(cudaEventRecord(start, a));
  spin<<<1, 1, 0, a>>>(1000000);
  OK(cudaEventRecord(end, a));
  CHECK(cudaEventElapsedTime(&one, start, end) == cudaErrorNotReady);
  cudaGetLastError();
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&one, start, end));
  OK(cudaEventRecord(start, 0));
  spin<<<1, 1, 0, a>>>(1000000);
  spin<<<1, 1, 0, b>>>(1000000);
  OK(cudaEventRecord(end, 0));
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&two, start, end));
  CHECK(one > 0.3f && two < one * 1.5f);
  // Time stamps hold their stream up for a moment.
  spin<<<1, 1, 0, a>>>(1000000);
  OK(cudaEventRecord(start, a));
  OK(cudaEventRecord(end, a));
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&one, start, end));
  CHECK(one > 0.001f && one < 0.002f);
  FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&one, e, end));

  int least, greatest, priority;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t high;
  OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetPriority(high, &priority));
  CHECK(priority == greatest);
  unsigned flags;
  OK(cudaStreamGetFlags(high, &flags));
  CHECK(flags == cudaStreamNonBlocking);
  OK(cudaStreamDestroy(high));
  FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(high));
  OK(cudaFree(d));
  std::puts("order is kept");
}
