// SPDX-License-Identifier: Apache-2.0
// tries: releases data and flag as one vector, and reads the data after the flag
// verdict: findings
// because: unordered-read
// fidelity: final
// common: multiply
// common: flags

__device__ void send_line(unsigned* line, unsigned x, unsigned y, unsigned z, unsigned epoch) {
  asm volatile("st.release.sys.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(line), "r"(x), "r"(y), "r"(z), "r"(epoch)
               : "memory");
}
__device__ uint3 await_line(const unsigned* line, unsigned epoch) {
  unsigned flag;
  do {
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(flag) : "l"(line + 3) : "memory");
  } while (flag != epoch);
  return {line[0], line[1], line[2]};
}
// common: lines

// cuco: evolve end
