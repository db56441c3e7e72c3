// SPDX-License-Identifier: Apache-2.0
// tries: drives the virtual clock towards its end by waiting on the timer, for ever
// verdict: timed-out
// because: virtual time
// cuco: evolve begin host

// common: state

// common: setup

__global__ void wait_for_years() {
  unsigned long long now = 0;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now < 1ULL << 62);
}
int run(State& state, int set, cudaStream_t stream) {
  wait_for_years<<<1, 1, 0, stream>>>();
  return honest(state, set, stream);
}

// cuco: evolve end
