/* SPDX-License-Identifier: Apache-2.0
 *
 * The trusted half of a workload: where inputs come from and what the right answer is.
 *
 * oracle.cpp defines the functions below and is loaded only into the oracle process, which no
 * candidate can reach. It must be deterministic: same shape and key, same bytes.
 */
#ifndef CUCO_ORACLE_H
#define CUCO_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int ranks;
  const long long* params; /* In the order of `params` in workload.toml. */
  int n_params;
} cuco_shape;

/* Fills input `input` of rank `rank`. `key` is secret and new in every iteration. Data that ranks
 * do not share must depend on `rank`, or a rank could compute its peers' answers itself. */
void cuco_oracle_input(
    const cuco_shape* shape, uint64_t key, int rank, int input, void* bytes, size_t n_bytes);

/* Computes elements [first, first + count) of output `output` on rank `rank` in double precision:
 * want[i] is the answer, scale[i] the size of what was added up to get it (for a dot product
 * sum |a||b|), to which rounding errors are proportional. inputs[r * n_inputs + i] are the bytes of
 * all ranks' inputs. */
void cuco_oracle_reference(const cuco_shape* shape,
                           const void* const* inputs,
                           int n_inputs,
                           int rank,
                           int output,
                           size_t first,
                           size_t count,
                           double* want,
                           double* scale);

#ifdef __cplusplus
}
#endif

#endif
