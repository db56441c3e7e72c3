// SPDX-License-Identifier: Apache-2.0
// expect: ranges are accepted
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include "check.h"

int main() {
  nvtxRangePushA("range");
  OK(cudaProfilerStart());
  OK(cudaProfilerStop());
  nvtxRangePop();
  std::puts("ranges are accepted");
}
