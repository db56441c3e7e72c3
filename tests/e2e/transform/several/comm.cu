// SPDX-License-Identifier: Apache-2.0
// A program of several sources: this one calls NCCL, whose headers the others never see.
#include "comm.hpp"
#include <nccl.h>
#include <cstring>
struct CommHandle { ncclComm_t comm; int size; };
namespace { inline void ok(ncclResult_t r) { if (r != ncclSuccess) abort(); } }
std::size_t comm_id_size() { return sizeof(ncclUniqueId); }
void comm_id(void* id) { ok(ncclGetUniqueId(static_cast<ncclUniqueId*>(id))); }
CommHandle* comm_open(int rank, int size, const void* id) {
  auto* h = new CommHandle{nullptr, size};
  ncclUniqueId u;
  std::memcpy(&u, id, sizeof u);
  ok(ncclCommInitRank(&h->comm, size, u, rank));
  return h;
}
void comm_close(CommHandle* h) { ok(ncclCommDestroy(h->comm)); delete h; }
void allreduce_mean(CommHandle* h, float* data, std::size_t n, cudaStream_t s) { ok(ncclAllReduce(data, data, n, ncclFloat32, ncclAvg, h->comm, s)); }
void gather_all(CommHandle* h, const float* mine, float* all, std::size_t n, cudaStream_t s) { ok(ncclAllGather(mine, all, n, ncclFloat32, h->comm, s)); }
