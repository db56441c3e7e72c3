// SPDX-License-Identifier: Apache-2.0
#ifndef COMM_HPP
#define COMM_HPP
#include <cuda_runtime.h>
#include <cstddef>
// Opaque handle: the NCCL headers are only seen in comm.cu
struct CommHandle;
CommHandle* comm_open(int rank, int size, const void* id);
void comm_id(void* id);
std::size_t comm_id_size();
void comm_close(CommHandle*);
void allreduce_mean(CommHandle*, float* data, std::size_t n, cudaStream_t);
void gather_all(CommHandle*, const float* mine, float* all, std::size_t n, cudaStream_t);
#endif
