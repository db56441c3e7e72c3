// SPDX-License-Identifier: Apache-2.0
__device__ int offset = 3;
__global__ void add(int* p) { p[threadIdx.x] += offset; }
