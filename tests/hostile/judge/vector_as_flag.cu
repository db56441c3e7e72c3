// SPDX-License-Identifier: Apache-2.0
// tries: sends data and flag as one vector of 16 bytes, and takes them for one
// verdict: wrong-result
// because: schedule
// fidelity: final
// common: multiply
// common: flags

__device__ void send_line(unsigned* line, unsigned x, unsigned y, unsigned z, unsigned epoch) {
  asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(line), "r"(x), "r"(y), "r"(z), "r"(epoch)
               : "memory");
}
__device__ uint3 await_line(const unsigned* line, unsigned epoch) {
  unsigned x, y, z, flag;
  do {
    asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(flag)
                 : "l"(line)
                 : "memory");
  } while (flag != epoch);
  return {x, y, z};
}
// common: lines

// cuco: evolve end
