// SPDX-License-Identifier: Apache-2.0
// expect: the child wrote 4711
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

__global__ void put(int* at, int value) {
  *at = value;
}

int main(int argc, char** argv) {
  if (argc > 1) {  // the child: its memory handle comes on standard input
    cudaIpcMemHandle_t handle;
    CHECK(::read(0, &handle, sizeof handle) == sizeof handle);
    int* p;
    OK(cudaIpcOpenMemHandle((void**)&p, handle, cudaIpcMemLazyEnablePeerAccess));
    put<<<1, 1>>>(p + 3, 4711);
    OK(cudaDeviceSynchronize());
    OK(cudaIpcCloseMemHandle(p));
    return 0;
  }
  int* p;
  OK(cudaMalloc(&p, 64));
  cudaIpcMemHandle_t handle;
  OK(cudaIpcGetMemHandle(&handle, p));
  int pipes[2];
  CHECK(::pipe(pipes) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipes[0], 0);
    ::execl("/proc/self/exe", argv[0], "child", (char*)nullptr);
    ::_exit(1);
  }
  CHECK(::write(pipes[1], &handle, sizeof handle) == sizeof handle);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  int value = 0;
  OK(cudaMemcpy(&value, p + 3, 4, cudaMemcpyDeviceToHost));
  std::printf("the child wrote %d\n", value);
  OK(cudaFree(p));
}
