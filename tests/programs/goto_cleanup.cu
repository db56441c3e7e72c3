// SPDX-License-Identifier: Apache-2.0
// C style: every error goes to one label. One thread for all GPUs; reduce-scatter and all-gather in
// place, at an offset of the same buffer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include <nccl.h>
#define MAXGPU 8
#define TRY(x) if ((x) != 0) { fprintf(stderr, "failed: %s line %d\n", #x, __LINE__); status = 1; goto cleanup; }

__global__ void grad(float *g, int n, int rank, int it) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) g[i] = (float)((i + rank * 3 + it) % 17);
}
__global__ void update(float *w, float lr, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = w[i] * lr;
}

int main(void) {
  int ngpu = 0, i, it, status = 0;
  const int per = 1536;
  int n = 0;
  ncclComm_t comms[MAXGPU];
  cudaStream_t streams[MAXGPU];
  float *buf[MAXGPU];
  float *host = NULL;
  memset(comms, 0, sizeof comms); memset(streams, 0, sizeof streams); memset(buf, 0, sizeof buf);
  TRY(cudaGetDeviceCount(&ngpu));
  if (ngpu > MAXGPU) ngpu = MAXGPU;
  n = per * ngpu;
  TRY(ncclCommInitAll(comms, ngpu, NULL));
  for (i = 0; i < ngpu; i++) {
    TRY(cudaSetDevice(i));
    TRY(cudaStreamCreate(&streams[i]));
    TRY(cudaMalloc((void **)&buf[i], n * sizeof(float)));
  }
  for (it = 0; it < 4; it++) {
    for (i = 0; i < ngpu; i++) {
      TRY(cudaSetDevice(i));
      grad<<<(n + 127) / 128, 128, 0, streams[i]>>>(buf[i], n, i, it);
    }
    TRY(ncclGroupStart());
    for (i = 0; i < ngpu; i++)
      TRY(ncclReduceScatter(buf[i], buf[i] + (size_t)i * per, per, ncclFloat, ncclSum, comms[i], streams[i]));
    TRY(ncclGroupEnd());
    for (i = 0; i < ngpu; i++) {
      TRY(cudaSetDevice(i));
      update<<<(per + 127) / 128, 128, 0, streams[i]>>>(buf[i] + (size_t)i * per, 0.5f, per);
    }
    TRY(ncclGroupStart());
    for (i = 0; i < ngpu; i++)
      TRY(ncclAllGather(buf[i] + (size_t)i * per, buf[i], per, ncclFloat, comms[i], streams[i]));
    TRY(ncclGroupEnd());
  }
  host = (float *)malloc(n * sizeof(float));
  if (!host) { status = 1; goto cleanup; }
  for (i = 0; i < ngpu; i++) {
    int k, r;
    TRY(cudaSetDevice(i));
    TRY(cudaStreamSynchronize(streams[i]));
    TRY(cudaMemcpy(host, buf[i], n * sizeof(float), cudaMemcpyDeviceToHost));
    for (k = 0; k < n; k++) {
      float e = 0;
      for (r = 0; r < ngpu; r++) e += (float)((k + r * 3 + 3) % 17);
      if (host[k] != 0.5f * e) { status = 2; goto cleanup; }
    }
  }
cleanup:
  free(host);
  for (i = 0; i < ngpu; i++) {
    cudaSetDevice(i);
    if (buf[i]) cudaFree(buf[i]);
    if (streams[i]) cudaStreamDestroy(streams[i]);
    if (comms[i]) ncclCommDestroy(comms[i]);
  }
  puts(status ? "FAIL" : "PASS");
  return status;
}
