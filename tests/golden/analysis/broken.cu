// What cannot be parsed is reported; the rest is still seen.
#include <cuda_runtime.h>

__global__ void fine(int* x) { x[0] = 1; }

void host(int* p) {
  undeclared(p);
  fine<<<1, 1>>>(p);
}
