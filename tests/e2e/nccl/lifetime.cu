// SPDX-License-Identifier: Apache-2.0
// A communicator's life: not blocking, asking for its state, shrinking, revoking, aborting,
// finalising; and the calls that fit nowhere else: ncclBcast, ncclGroupSimulateEnd.
#include "check.h"

namespace {

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  NCCL(ncclCommGetAsyncError(comm, &state));
  return state;
}

void wait_for(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress)
    state = state_of(comm);
  EXPECT(state == ncclSuccess);
}

/// One thread makes one communicator after the other, without a group: only possible if the calls
/// come back before the other ranks have called.
std::vector<Rank> make_without_blocking(int n) {
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::vector<Rank> ranks(n);
  for (int r = 0; r < n; ++r) {
    CUDA(cudaSetDevice(r));
    ranks[r].rank = r;
    CUDA(cudaStreamCreate(&ranks[r].stream));
    const ncclResult_t made = ncclCommInitRankConfig(&ranks[r].comm, n, id, r, &config);
    EXPECT(made == (r + 1 < n ? ncclInProgress : ncclSuccess));
    EXPECT(ranks[r].comm != nullptr);
    if (r == 0 && n > 1) {
      EXPECT(state_of(ranks[0].comm) == ncclInProgress);
      int* data = upload(0, std::vector<int>(4));
      EXPECT(ncclAllReduce(data, data, 4, ncclInt, ncclSum, ranks[0].comm, ranks[0].stream) ==
             ncclInvalidArgument);
    }
  }
  for (const Rank& r : ranks)
    wait_for(r.comm);
  return ranks;
}

void check_sum(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  std::vector<int*> data;
  NCCL(ncclGroupStart());
  for (int i = 0; i < n; ++i) {
    data.push_back(upload(ranks[i].rank, std::vector<int>(100, i + 1)));
    NCCL(ncclAllReduce(data[i], data[i], 100, ncclInt, ncclSum, ranks[i].comm, ranks[i].stream));
  }
  NCCL(ncclGroupEnd());
  synchronise(ranks);
  for (int i = 0; i < n; ++i)
    EXPECT(download<int>(data[i], 1)[0] == n * (n + 1) / 2);
}

void check_split_without_blocking(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  std::vector<Rank> halves = ranks;
  for (int r = 0; r < n; ++r) {
    // The last rank takes part and gets nothing; the others' children do not block either.
    const int color = r == n - 1 ? NCCL_SPLIT_NOCOLOR : 0;
    const ncclResult_t made = ncclCommSplit(ranks[r].comm, color, r, &halves[r].comm, nullptr);
    EXPECT(made == ncclInProgress || (r == n - 1 && made == ncclSuccess));
  }
  EXPECT(halves[n - 1].comm == nullptr);
  halves.pop_back();
  for (const Rank& r : halves)
    wait_for(r.comm);
  for (const Rank& r : ranks)
    wait_for(r.comm);
  check_sum(halves);
  for (const Rank& r : halves)
    NCCL(ncclCommDestroy(r.comm));
}

void check_shrink(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  int excluded[] = {0};
  std::vector<Rank> rest(ranks.begin() + 1, ranks.end());
  NCCL(ncclGroupStart());
  for (Rank& r : rest) {
    NCCL(ncclCommShrink(ranks[r.rank].comm, excluded, 1, &r.comm, nullptr, NCCL_SHRINK_DEFAULT));
  }
  NCCL(ncclGroupEnd());
  for (const Rank& r : rest) {
    int rank = -1;
    int size = 0;
    NCCL(ncclCommUserRank(r.comm, &rank));
    NCCL(ncclCommCount(r.comm, &size));
    EXPECT(rank == r.rank - 1 && size == n - 1);
  }
  check_sum(rest);
  for (const Rank& r : rest)
    NCCL(ncclCommDestroy(r.comm));
}

void check_bcast_and_prediction(const std::vector<Rank>& ranks) {
  std::vector<int*> data;
  for (const Rank& r : ranks)
    data.push_back(upload(r.rank, std::vector<int>(100, r.rank)));
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks)
    NCCL(ncclBcast(data[r.rank], 100, ncclInt, 1, r.comm, r.stream));
  NCCL(ncclGroupEnd());
  synchronise(ranks);
  for (int* values : data)
    EXPECT(download<int>(values + 99, 1)[0] == 1);
  ncclSimInfo_t prediction = NCCL_SIM_INFO_INITIALIZER;
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    NCCL(ncclAllReduce(data[r.rank], data[r.rank], 100, ncclInt, ncclSum, r.comm, r.stream));
  }
  NCCL(ncclGroupSimulateEnd(&prediction));
  EXPECT(prediction.estimatedTime > 0);
  synchronise(ranks);
  EXPECT(download<int>(data[0], 1)[0] == 1);  // It was not done.
}

/// Ends a communicator in the middle of a collective that one rank never calls.
void check_end_in_the_middle(int n, bool revoke) {
  std::vector<ncclComm_t> comms(n);
  NCCL(ncclCommInitAll(comms.data(), n, nullptr));
  std::vector<cudaStream_t> streams(n);
  for (int r = 0; r < n; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaStreamCreate(&streams[r]));
    int* data = upload(r, std::vector<int>(10));
    if (r == 0) continue;
    NCCL(ncclAllReduce(data, data, 10, ncclInt, ncclSum, comms[r], streams[r]));
  }
  CUDA(cudaSetDevice(1));
  EXPECT(cudaStreamQuery(streams[1]) == cudaErrorNotReady);
  if (revoke) {
    NCCL(ncclCommRevoke(comms[1], 0));
  } else {
    NCCL(ncclCommAbort(comms[1]));
  }
  for (int r = 1; r < n; ++r) {
    CUDA(cudaSetDevice(r));
    CUDA(cudaStreamSynchronize(streams[r]));
  }
  EXPECT(state_of(comms[0]) == ncclRemoteError);
  EXPECT(std::strlen(ncclGetLastError(comms[0])) > 0);
  for (int r = 0; r < n; ++r) {
    if (revoke || r != 1) NCCL(ncclCommAbort(comms[r]));
  }
}

}  // namespace

int main() {
  int n = 0;
  CUDA(cudaGetDeviceCount(&n));
  const std::vector<Rank> ranks = make_without_blocking(n);
  check_sum(ranks);
  check_split_without_blocking(ranks);
  check_bcast_and_prediction(ranks);
  for (const Rank& r : ranks) {
    const ncclResult_t finalised = ncclCommFinalize(r.comm);
    EXPECT(finalised == ncclSuccess || finalised == ncclInProgress);
  }
  for (const Rank& r : ranks)
    wait_for(r.comm);
  for (const Rank& r : ranks)
    NCCL(ncclCommDestroy(r.comm));
  const std::vector<Rank> blocking = all_ranks();
  check_shrink(blocking);
  check_end_in_the_middle(n, true);
  check_end_in_the_middle(n, false);
  free_all();
  std::printf("lifetime on %d ranks: ok\n", n);
}
