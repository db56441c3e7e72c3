// SPDX-License-Identifier: Apache-2.0
// Windows and device communicators on every rank of the process.
#pragma once

#include <nccl_device.h>

#include "check.h"

struct Windows {
  std::vector<void*> memory;
  std::vector<ncclWindow_t> windows;
};

inline Windows make_windows(const std::vector<Rank>& ranks, size_t bytes) {
  Windows result;
  result.memory.resize(ranks.size());
  result.windows.resize(ranks.size());
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    NCCL(ncclMemAlloc(&result.memory[r.rank], bytes));
    CUDA(cudaMemset(result.memory[r.rank], 0, bytes));
    CUDA(cudaDeviceSynchronize());
  }
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    NCCL(ncclCommWindowRegister(r.comm, result.memory[r.rank], bytes, &result.windows[r.rank],
                                NCCL_WIN_COLL_SYMMETRIC));
  }
  NCCL(ncclGroupEnd());
  for (ncclWindow_t window : result.windows)
    EXPECT(window != nullptr);
  for (const Rank& r : ranks)
    keep({r.rank, result.memory[r.rank], r.comm, result.windows[r.rank]});
  return result;
}

inline std::vector<ncclDevComm> make_dev_comms(const std::vector<Rank>& ranks,
                                               const ncclDevCommRequirements& wanted) {
  std::vector<ncclDevComm> result(ranks.size());
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks)
    NCCL(ncclDevCommCreate(r.comm, &wanted, &result[r.rank]));
  NCCL(ncclGroupEnd());
  return result;
}

inline ncclDevCommRequirements no_requirements() {
  ncclDevCommRequirements wanted;
  std::memset(&wanted, 0, sizeof wanted);
  return wanted;
}
