// SPDX-License-Identifier: Apache-2.0
// What C++ does to PTX: virtual calls, function tables, recursion, printf, assert, malloc, switch
// tables, local arrays, managed and constant data, packed initialisers.
// nvcc -std=c++17 -ptx -arch=compute_90 -lineinfo language.cu -o language.ptx
#include <cassert>
#include <cstdio>

#include <cooperative_groups.h>

struct Shape {
  __device__ virtual int area(int x) { return x + 1; }
};
struct Square : Shape {
  __device__ int area(int x) override { return x * x; }
};
struct __attribute__((packed)) Packed {
  char tag;
  void* pointer;
};
using Function = int (*)(int);

__device__ int plus_three(int x) { return x + 3; }
__device__ int times_three(int x) { return x * 3; }
__device__ Function table[2] = {plus_three, times_three};
__device__ const char* names[2] = {"hello\n", "w"};
__constant__ float coefficients[4] = {1.F, 2.F, 3.F, -0.F};
__managed__ int managed = 5;
__device__ double scale = 3.5;
__device__ Packed packed = {1, &table};

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern __shared__ char dynamic[];

__global__ void make(Shape** shape) { *shape = new Square; }

__global__ void __launch_bounds__(256, 2) work(int* p, int n, Shape* shape) {
  __shared__ int tile[256];
  int local[16];
  tile[threadIdx.x] = p[threadIdx.x];
  cooperative_groups::this_grid().sync();
  for (int i = 0; i < 16; ++i) local[i] = tile[(threadIdx.x ^ i) % 256];
  p[blockIdx.x] = table[n](local[n & 15]) + fibonacci(n) + shape->area(n);
  printf("%d %s %f\n", n, names[n & 1], scale * coefficients[n]);
  assert(n < 100);
  int* q = static_cast<int*>(malloc(static_cast<size_t>(n)));
  q[0] = dynamic[n];
  free(q);
  switch (n) {
    case 0: p[0] = 5; break;
    case 1: p[1] = atomicAdd(p, 7); break;
    case 2: p[2] = __shfl_down_sync(0xFFFFFFFF, n, 16); break;
    case 3: p[3] = packed.tag; break;
    case 4: p[4] = __syncthreads_count(n); break;
    case 5: p[5] = managed; break;
    default: p[7] = 1;
  }
}
