/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between a workload's program and whoever runs it.
 *
 * program.cu defines the three functions below, with C linkage. It is compiled alone, into a shared
 * object, with flags that the judge chooses. It contains no main(), no MPI and no clock: the
 * harness starts one process per rank, makes the communicator, allocates every buffer, and then
 * loads it.
 *
 *     cuco_setup      once, before any timing
 *     cuco_run        once per iteration, timed, with fresh inputs and poisoned outputs
 *     cuco_teardown   once
 *
 * All ranks call the functions in the same order, so collective calls are allowed in each of them.
 */
#ifndef CUCO_WORKLOAD_H
#define CUCO_WORKLOAD_H

#include <cuda_runtime.h>
#include <nccl.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rank is given. Everything it points to stays valid until cuco_teardown has returned. */
typedef struct {
  int rank;
  int ranks;
  ncclComm_t comm;

  int sets; /* Rotating buffer sets: iteration i uses one of them, in an order not known before. */

  const long long* params; /* The shape, in the order of `params` in workload.toml. */
  int n_params;

  /* Device buffers, index [set * n + i], i in the order of workload.toml. Each is one symmetric
   * allocation (ncclMemAlloc, same size on every rank, aligned to 4096 bytes), so it may be
   * registered as a window in cuco_setup. Inputs are read-only: they are compared afterwards. */
  void* const* inputs;
  void* const* outputs;
  const size_t* input_bytes; /* [i] */
  const size_t* output_bytes;
  int n_inputs;
  int n_outputs;
} cuco_context;

/* Allocates scratch memory, registers windows, creates device communicators, streams and events,
 * and leaves a handle in *state. Not timed, but limited in time. The buffers hold nothing yet:
 * inputs exist only from cuco_run on, and differ in every iteration. Returns 0, or an error to be
 * shown. */
int cuco_setup(const cuco_context* context, void** state);

/* Does the work once: reads the inputs and writes the outputs of buffer set `set`. A peer's buffers
 * may be used only after that peer has entered the same call, and not after its call has ended: a
 * flag, a barrier or a collective must say so, and whoever waits for it must be ordered after it.
 * It may return before the work is done, as long as everything is ordered before the end of
 * `stream`: the clock stops when `stream` is idle on the slowest rank. Returns 0, or an error to be
 * shown. */
int cuco_run(void* state, int set, cudaStream_t stream);

/* Gives everything back. */
void cuco_teardown(void* state);

#ifdef __cplusplus
}
#endif

#endif
