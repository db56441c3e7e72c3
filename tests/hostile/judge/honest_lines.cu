// SPDX-License-Identifier: Apache-2.0
// tries: honest: lines of data, each with a flag that is released behind it
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

__device__ void send_line(unsigned* line, unsigned x, unsigned y, unsigned z, unsigned epoch) {
  line[0] = x;
  line[1] = y;
  line[2] = z;
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(line + 3), "r"(epoch) : "memory");
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
