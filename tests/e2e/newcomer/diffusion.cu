/* SPDX-License-Identifier: Apache-2.0 */
/* Heat on a ring of GPUs, in the C way: one process, arrays indexed by GPU. The borders of each part
 * are computed first and travel while the inside is computed; every few steps all GPUs agree on the
 * largest change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>
#include <nccl.h>

#define MAX_GPUS 16
#define WIDTH 1024
#define ROWS 34 /* the first and the last belong to the neighbours */
#define STEPS 6
#define EVERY 3

#define OK(call) ok((int)(call), #call, __LINE__)
static void ok(int status, const char* call, int line) {
  if (status != 0) {
    fprintf(stderr, "line %d: %s: error %d\n", line, call, status);
    exit(2);
  }
}
#define FOR_ALL(g) for (int g = 0; g < gpus && cudaSetDevice(g) == cudaSuccess; ++g)

static int gpus;
static ncclComm_t comm[MAX_GPUS];
static cudaStream_t inside_stream[MAX_GPUS], border_stream[MAX_GPUS];
static cudaEvent_t borders_done[MAX_GPUS], inside_done[MAX_GPUS];
static float *heat[MAX_GPUS][2], *change[MAX_GPUS], *largest[MAX_GPUS];

__device__ __forceinline__ float next_heat(const float* from, int row, int column) {
  const int left = (column + WIDTH - 1) % WIDTH, right = (column + 1) % WIDTH;
  return 0.2f * (from[row * WIDTH + column] + from[row * WIDTH + left] + from[row * WIDTH + right] +
                 from[(row - 1) * WIDTH + column] + from[(row + 1) * WIDTH + column]);
}

__global__ void step_rows(const float* from, float* to, float* change, int first, int stride) {
  const int row = first + blockIdx.y * stride, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= WIDTH) return;
  const float value = next_heat(from, row, column);
  to[row * WIDTH + column] = value;
  change[row * WIDTH + column] = fabsf(value - from[row * WIDTH + column]);
}

__global__ void largest_of(const float* change, float* result) {
  extern __shared__ float parts[];
  float most = 0;
  for (int i = WIDTH + threadIdx.x; i < (ROWS - 1) * WIDTH; i += blockDim.x)
    most = fmaxf(most, change[i]);
  parts[threadIdx.x] = most;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] = fmaxf(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = parts[0];
}

static float initial(int row, int column) { return (float)((row * 37 + column * 11) % 101) / 101.0f; }

static void set_up(void) {
  OK(cudaGetDeviceCount(&gpus));
  if (gpus > MAX_GPUS) gpus = MAX_GPUS;
  OK(ncclCommInitAll(comm, gpus, NULL));
  float* rows = (float*)malloc(sizeof(float) * ROWS * WIDTH);
  FOR_ALL(g) {
    OK(cudaStreamCreate(&inside_stream[g]));
    OK(cudaStreamCreate(&border_stream[g]));
    OK(cudaEventCreate(&borders_done[g]));
    OK(cudaEventCreate(&inside_done[g]));
    const int all = gpus * (ROWS - 2);
    for (int r = 0; r < ROWS; ++r)
      for (int c = 0; c < WIDTH; ++c)
        rows[r * WIDTH + c] = initial((g * (ROWS - 2) + r - 1 + all) % all, c);
    for (int i = 0; i < 2; ++i) {
      OK(cudaMalloc((void**)&heat[g][i], sizeof(float) * ROWS * WIDTH));
      OK(cudaMemcpy(heat[g][i], rows, sizeof(float) * ROWS * WIDTH, cudaMemcpyHostToDevice));
    }
    OK(cudaMalloc((void**)&change[g], sizeof(float) * ROWS * WIDTH));
    OK(cudaMalloc((void**)&largest[g], sizeof(float)));
  }
  free(rows);
}

static void exchange(int now) {
  OK(ncclGroupStart());
  for (int g = 0; g < gpus; ++g) {
    const int up = (g + gpus - 1) % gpus, down = (g + 1) % gpus;
    float* h = heat[g][now];
    OK(ncclSend(h + WIDTH, WIDTH, ncclFloat, up, comm[g], border_stream[g]));
    OK(ncclRecv(h + (ROWS - 1) * WIDTH, WIDTH, ncclFloat, down, comm[g], border_stream[g]));
    OK(ncclSend(h + (ROWS - 2) * WIDTH, WIDTH, ncclFloat, down, comm[g], border_stream[g]));
    OK(ncclRecv(h, WIDTH, ncclFloat, up, comm[g], border_stream[g]));
  }
  OK(ncclGroupEnd());
}

int main(void) {
  set_up();
  for (int step = 0; step < STEPS; ++step) {
    const int old = step % 2, now = 1 - old;
    FOR_ALL(g) {
      step_rows<<<dim3(WIDTH / 256, 2), 256, 0, border_stream[g]>>>(heat[g][old], heat[g][now],
                                                                   change[g], 1, ROWS - 3);
      step_rows<<<dim3(WIDTH / 256, ROWS - 4), 256, 0, inside_stream[g]>>>(
          heat[g][old], heat[g][now], change[g], 2, 1);
    }
    exchange(now);
    FOR_ALL(g) {
      OK(cudaEventRecord(borders_done[g], border_stream[g]));
      OK(cudaEventRecord(inside_done[g], inside_stream[g]));
      OK(cudaStreamWaitEvent(inside_stream[g], borders_done[g], 0));
      OK(cudaStreamWaitEvent(border_stream[g], inside_done[g], 0));
    }
    if ((step + 1) % EVERY != 0) continue;
    FOR_ALL(g) largest_of<<<1, 256, 256 * sizeof(float), border_stream[g]>>>(change[g], largest[g]);
    OK(ncclGroupStart());
    for (int g = 0; g < gpus; ++g)
      OK(ncclAllReduce(largest[g], largest[g], 1, ncclFloat, ncclMax, comm[g], border_stream[g]));
    OK(ncclGroupEnd());
    FOR_ALL(g) {
      OK(cudaEventRecord(borders_done[g], border_stream[g]));
      OK(cudaStreamWaitEvent(inside_stream[g], borders_done[g], 0));
    }
  }

  /* The same on the host. */
  const int all = gpus * (ROWS - 2);
  double* a = (double*)malloc(sizeof(double) * all * WIDTH);
  double* b = (double*)malloc(sizeof(double) * all * WIDTH);
  for (int i = 0; i < all * WIDTH; ++i) a[i] = initial(i / WIDTH, i % WIDTH);
  double most = 0;
  for (int step = 0; step < STEPS; ++step) {
    most = 0;
    for (int r = 0; r < all; ++r)
      for (int c = 0; c < WIDTH; ++c) {
        const int up = (r + all - 1) % all, down = (r + 1) % all;
        const int left = (c + WIDTH - 1) % WIDTH, right = (c + 1) % WIDTH;
        b[r * WIDTH + c] = 0.2 * (a[r * WIDTH + c] + a[r * WIDTH + left] + a[r * WIDTH + right] +
                                  a[up * WIDTH + c] + a[down * WIDTH + c]);
        most = fmax(most, fabs(b[r * WIDTH + c] - a[r * WIDTH + c]));
      }
    double* swap = a;
    a = b;
    b = swap;
  }
  int wrong = 0;
  float* rows = (float*)malloc(sizeof(float) * ROWS * WIDTH);
  FOR_ALL(g) {
    float seen = 0;
    OK(cudaStreamSynchronize(inside_stream[g]));
    OK(cudaStreamSynchronize(border_stream[g]));
    OK(cudaMemcpy(rows, heat[g][STEPS % 2], sizeof(float) * ROWS * WIDTH, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&seen, largest[g], sizeof seen, cudaMemcpyDeviceToHost));
    wrong += fabs(seen - most) > 1e-5;
    for (int r = 1; r < ROWS - 1; ++r)
      for (int c = 0; c < WIDTH; ++c)
        wrong += fabs(rows[r * WIDTH + c] - a[(g * (ROWS - 2) + r - 1) * WIDTH + c]) > 1e-5;
  }
  FOR_ALL(g) {
    cudaFree(heat[g][0]), cudaFree(heat[g][1]), cudaFree(change[g]), cudaFree(largest[g]);
    cudaEventDestroy(borders_done[g]), cudaEventDestroy(inside_done[g]);
    cudaStreamDestroy(inside_stream[g]), cudaStreamDestroy(border_stream[g]);
    ncclCommDestroy(comm[g]);
  }
  free(a), free(b), free(rows);
  printf("%s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
  return wrong != 0;
}
