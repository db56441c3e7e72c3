// SPDX-License-Identifier: Apache-2.0
// Every host-driven collective, sends and receives, groups, splits and reductions, on as many ranks
// as the process sees devices.
#include "check.h"

namespace {

int value(int rank, int i) {
  return rank * 1000 + i;
}

/// Runs one call per rank in a group, and waits.
template <typename Call>
void grouped(const std::vector<Rank>& ranks, Call call) {
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks)
    NCCL(call(r));
  NCCL(ncclGroupEnd());
  synchronise(ranks);
}

struct Buffers {
  std::vector<int*> send, recv;
  int n;

  Buffers(const std::vector<Rank>& ranks, int count) : n(count) {
    const int size = static_cast<int>(ranks.size()) * count;
    for (const Rank& r : ranks) {
      std::vector<int> values(size);
      for (int i = 0; i < size; ++i)
        values[i] = value(r.rank, i);
      send.push_back(upload(r.rank, values));
      recv.push_back(upload(r.rank, std::vector<int>(size, -1)));
    }
  }
  int at(int rank, int i) const { return download<int>(recv[rank] + i, 1)[0]; }
};

void check_data_movement(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  const int count = 1000;
  const int root = n - 1;
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclAllGather(b.send[r.rank], b.recv[r.rank], count, ncclInt, r.comm, r.stream);
    });
    for (int r = 0; r < n; ++r) {
      const auto got = download<int>(b.recv[r], size_t(n) * count);
      for (int i = 0; i < n * count; ++i)
        EXPECT(got[i] == value(i / count, i % count));
    }
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclAlltoAll(b.send[r.rank], b.recv[r.rank], count, ncclInt, r.comm, r.stream);
    });
    for (int r = 0; r < n; ++r) {
      for (int s = 0; s < n; ++s)
        EXPECT(b.at(r, s * count + 7) == value(s, r * count + 7));
    }
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclBroadcast(b.send[r.rank], b.recv[r.rank], count, ncclInt, root, r.comm, r.stream);
    });
    for (int r = 0; r < n; ++r)
      EXPECT(b.at(r, 5) == value(root, 5));
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclGather(b.send[r.rank], b.recv[r.rank], count, ncclInt, root, r.comm, r.stream);
    });
    for (int s = 0; s < n; ++s)
      EXPECT(b.at(root, s * count + 3) == value(s, 3));
    if (n > 1) EXPECT(b.at(0, 0) == -1);
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclScatter(b.send[r.rank], b.recv[r.rank], count, ncclInt, root, r.comm, r.stream);
    });
    for (int r = 0; r < n; ++r)
      EXPECT(b.at(r, 9) == value(root, r * count + 9));
  }
}

void check_reductions(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  const int count = 1000;
  int ranks_sum = 0;
  for (int r = 0; r < n; ++r)
    ranks_sum += r;
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclAllReduce(b.send[r.rank], b.recv[r.rank], count, ncclInt, ncclSum, r.comm,
                           r.stream);
    });
    for (int r = 0; r < n; ++r)
      EXPECT(b.at(r, 11) == ranks_sum * 1000 + n * 11);
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclReduceScatter(b.send[r.rank], b.recv[r.rank], count, ncclInt, ncclMax, r.comm,
                               r.stream);
    });
    for (int r = 0; r < n; ++r)
      EXPECT(b.at(r, 2) == value(n - 1, r * count + 2));
  }
  {
    const Buffers b(ranks, count);
    grouped(ranks, [&](const Rank& r) {
      return ncclReduce(b.send[r.rank], b.send[r.rank], count, ncclInt, ncclMin, 0, r.comm,
                        r.stream);
    });
    EXPECT(download<int>(b.send[0] + 4, 1)[0] == value(0, 4));
  }
  std::vector<float*> data;
  std::vector<ncclRedOp_t> ops(n);
  const float half = 0.5f;
  for (const Rank& r : ranks) {
    data.push_back(upload(r.rank, std::vector<float>(count, float(r.rank + 1))));
    float host = 2.0f;
    if (r.rank == 0) {
      NCCL(ncclRedOpCreatePreMulSum(&ops[0], upload(0, std::vector<float>{half}), ncclFloat,
                                    ncclScalarDevice, r.comm));
    } else {
      NCCL(ncclRedOpCreatePreMulSum(&ops[r.rank], &host, ncclFloat, ncclScalarHostImmediate,
                                    r.comm));
    }
  }
  grouped(ranks, [&](const Rank& r) {
    return ncclAllReduce(data[r.rank], data[r.rank], count, ncclFloat, ops[r.rank], r.comm,
                         r.stream);
  });
  float expected = half;
  for (int r = 1; r < n; ++r)
    expected += 2.0f * float(r + 1);
  for (int r = 0; r < n; ++r)
    EXPECT(download<float>(data[r] + 500, 1)[0] == expected);
  for (const Rank& r : ranks)
    NCCL(ncclRedOpDestroy(ops[r.rank], r.comm));
}

void check_point_to_point(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  const Buffers b(ranks, 64);
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(b.send[r.rank], 64, ncclInt, (r.rank + 1) % n, r.comm, r.stream));
    NCCL(ncclRecv(b.recv[r.rank], 64, ncclInt, (r.rank + n - 1) % n, r.comm, r.stream));
    NCCL(ncclGroupEnd());
  }
  NCCL(ncclGroupEnd());
  synchronise(ranks);
  for (int r = 0; r < n; ++r)
    EXPECT(b.at(r, 63) == value((r + n - 1) % n, 63));
}

void check_split(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  std::vector<ncclComm_t> halves(n);
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    NCCL(ncclCommSplit(r.comm, r.rank % 2, -r.rank, &halves[r.rank], nullptr));
  }
  NCCL(ncclGroupEnd());
  for (const Rank& r : ranks) {
    int size = 0;
    int rank = 0;
    int device = -1;
    NCCL(ncclCommCount(halves[r.rank], &size));
    NCCL(ncclCommUserRank(halves[r.rank], &rank));
    NCCL(ncclCommCuDevice(halves[r.rank], &device));
    EXPECT(size == (r.rank % 2 == 0 ? (n + 1) / 2 : n / 2));
    EXPECT(rank == size - 1 - r.rank / 2);
    EXPECT(device == r.rank);
  }
  const Buffers b(ranks, 10);
  grouped(ranks, [&](const Rank& r) {
    return ncclAllReduce(b.send[r.rank], b.recv[r.rank], 10, ncclInt, ncclSum, halves[r.rank],
                         r.stream);
  });
  int odd = 0;
  for (int r = 1; r < n; r += 2)
    odd += value(r, 1);
  if (n > 1) EXPECT(b.at(1, 1) == odd);
  for (ncclComm_t half : halves)
    NCCL(ncclCommDestroy(half));
}

void check_errors(const std::vector<Rank>& ranks) {
  const Rank& r = ranks[0];
  int* data = upload(0, std::vector<int>(4));
  EXPECT(ncclAllReduce(data, data, 4, ncclNumTypes, ncclSum, r.comm, r.stream) ==
         ncclInvalidArgument);
  EXPECT(ncclBroadcast(data, data, 4, ncclInt, 99, r.comm, r.stream) == ncclInvalidArgument);
  EXPECT(ncclAllReduce(data, data, 4, ncclInt, ncclSum, nullptr, r.stream) == ncclInvalidArgument);
  EXPECT(ncclGroupEnd() == ncclInvalidUsage);
  EXPECT(std::strlen(ncclGetLastError(nullptr)) > 0);
  ncclResult_t state = ncclInternalError;
  NCCL(ncclCommGetAsyncError(r.comm, &state));
  EXPECT(state == ncclSuccess);
}

}  // namespace

int main() {
  int version = 0;
  NCCL(ncclGetVersion(&version));
  EXPECT(version == NCCL_VERSION_CODE);
  const std::vector<Rank> ranks = all_ranks();
  check_data_movement(ranks);
  check_reductions(ranks);
  check_point_to_point(ranks);
  check_split(ranks);
  check_errors(ranks);
  for (const Rank& r : ranks)
    NCCL(ncclCommFinalize(r.comm));
  for (const Rank& r : ranks)
    NCCL(ncclCommDestroy(r.comm));
  free_all();
  std::printf("collectives on %zu ranks: ok\n", ranks.size());
}
