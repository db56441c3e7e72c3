// SPDX-License-Identifier: Apache-2.0
// tries: the same in a callback of the stream
// verdict: findings
// because: host CPU
// cuco: evolve begin host

// common: state

// common: setup

void CUDART_CB work(void*) {
  static volatile unsigned long long x = 1;
  for (long long i = 0; i < 400'000'000LL; ++i)
    x = x * 6364136223846793005ULL + 1;
}

int run(State& state, int set, cudaStream_t stream) {
  cudaLaunchHostFunc(stream, work, nullptr);
  return honest(state, set, stream);
}

// cuco: evolve end
