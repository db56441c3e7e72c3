// SPDX-License-Identifier: Apache-2.0
// tries: a managed variable, whose mapping reaches all of the device's memory when it is stretched
// verdict: crashed
// because: mapped by the host
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

__managed__ int shared_with_host = 1;

int run(State& state, int set, cudaStream_t stream) {
  const long page = (long)&shared_with_host & ~4095L;
  const long all = raw(25, page, 4096, 1L << 30, 1);
  if (all > 0) ((volatile int*)all)[1024] = 1;  // beyond the variable: the device's memory
  return honest(state, set, stream);
}

// cuco: evolve end
