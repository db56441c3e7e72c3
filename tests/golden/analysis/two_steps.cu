// A producer, an all-reduce on scratch memory, a consumer; a launch in a comment does not count.
#include <cuda_runtime.h>
#include <nccl.h>

__global__ void __launch_bounds__(256) square(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void scale(const float* sum, float* result, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float* place = result + i;
    *place = sum[i] / n;
  }
}

void step(const float* input, float* result, int n, ncclComm_t comm, cudaStream_t stream) {
  float* partial = nullptr;
  cudaMalloc(&partial, n * sizeof(float));
  // square<<<1, 1>>>(input, partial, n); ncclBroadcast(partial, partial, n, ncclFloat, 0, comm, 0);
  square<<<dim3((n + 255) / 256, 1), 256, 0, stream>>>(input, partial, n);
  ncclAllReduce(partial, partial, n, ncclFloat, ncclSum, comm, stream);
  scale<<<1, 256, 0, stream>>>(partial, result, n);
}
