// SPDX-License-Identifier: Apache-2.0
// tries: registers host memory, to have kernels write what the host then reads for nothing
// verdict: crashed
// because: cuco_run failed with 11
// cuco: evolve begin host

// common: state

// common: setup

alignas(4096) char page[4096];

int run(State& state, int set, cudaStream_t stream) {
  void* device = nullptr;
  if (cudaHostRegister(page, sizeof page, cudaHostRegisterMapped) != cudaSuccess) return 11;
  if (cudaHostGetDevicePointer(&device, page, 0) != cudaSuccess) return 12;
  return honest(state, set, stream);
}

// cuco: evolve end
