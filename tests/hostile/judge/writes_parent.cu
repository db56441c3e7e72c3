// SPDX-License-Identifier: Apache-2.0
// tries: changes its parent's memory
// verdict: crashed
// because: cuco_run failed with 1
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State&, int, cudaStream_t) {
  // process_vm_writev of eight bytes to the parent's stack; it must not succeed.
  long value = 0;
  struct {
    void* base;
    unsigned long bytes;
  } here = {&value, 8}, there = {&value, 8};
  return raw(311, raw(110), (long)&here, 1, (long)&there, 1) == 8 ? 0 : 1;
}

// cuco: evolve end
