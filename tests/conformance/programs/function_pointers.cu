// SPDX-License-Identifier: Apache-2.0
// Calls through function pointers, a table in device memory and virtual functions.
#include "check.h"

using Op = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ Op table[3] = {add, multiply, subtract};

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
  float radius;
  __device__ explicit Disc(float r) : radius(r) {}
  __device__ float area() const override { return 3 * radius * radius; }
};

__global__ void apply(int* out, float* areas) {
  const int i = threadIdx.x;
  out[i] = table[i % 3](i, 7);
  Shape* shape = i % 2 ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Disc(i));
  areas[i] = shape ? shape->area() : -1;
  delete shape;
}

int main() {
  Buffer<int> out(64);
  Buffer<float> areas(64);
  apply<<<1, 64>>>(out.data, areas.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(64);
  std::vector<float> area(64);
  for (int i = 0; i < 64; ++i) {
    expected[i] = i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 7 : i - 7;
    area[i] = static_cast<float>(i * i * (i % 2 ? 1 : 3));
  }
  return compare(out.host(), expected, 0) + compare(areas.host(), area, 0);
}
