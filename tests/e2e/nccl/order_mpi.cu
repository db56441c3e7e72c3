// SPDX-License-Identifier: Apache-2.0
// Who comes first is a matter of virtual time: receives from anybody, waits for any request and
// probes, with senders that sleep for different times. Large messages, too.
#include <unistd.h>

#include <mpi.h>

#include "check.h"

namespace {

constexpr int kSmall = 4;
constexpr int kLarge = 100000;

/// The later ranks are the quicker ones.
int delay(int rank, int ranks) {
  return 1000 * (ranks - rank);
}

void send_late(int rank, int ranks, int tag, int count) {
  const std::vector<int> data(count, rank);
  usleep(delay(rank, ranks));
  MPI_Send(data.data(), count, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

void receive_from_anybody(int ranks, int tag, int count) {
  std::vector<int> data(count);
  for (int expected = ranks - 1; expected > 0; --expected) {
    MPI_Status status;
    MPI_Recv(data.data(), count, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE == expected && data[count - 1] == expected);
  }
}

void wait_for_any(int ranks, int tag) {
  std::vector<std::vector<int>> data(ranks, std::vector<int>(kSmall));
  std::vector<MPI_Request> requests(ranks, MPI_REQUEST_NULL);
  for (int r = 1; r < ranks; ++r) {
    MPI_Irecv(data[r].data(), kSmall, MPI_INT, r, tag, MPI_COMM_WORLD, &requests[r]);
  }
  for (int expected = ranks - 1; expected > 0; --expected) {
    int index = -1;
    MPI_Waitany(ranks, requests.data(), &index, MPI_STATUS_IGNORE);
    EXPECT(index == expected && data[index][0] == expected);
  }
}

void probe(int ranks, int tag) {
  for (int expected = ranks - 1; expected > 0; --expected) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE == expected);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    std::vector<int> data(count);
    MPI_Recv(data.data(), count, MPI_INT, expected, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(count == kSmall && data[0] == expected);
  }
}

void ask_until_it_is_there(int ranks, int tag) {
  for (int r = 1; r < ranks; ++r) {
    int there = 0;
    while (there == 0)
      MPI_Iprobe(r, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    int data[kSmall];
    MPI_Recv(data, kSmall, MPI_INT, r, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(data[3] == r);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(0));
  for (int tag = 0; tag < 5; ++tag) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
      send_late(rank, ranks, tag, tag == 1 ? kLarge : kSmall);
      continue;
    }
    if (tag == 0) receive_from_anybody(ranks, tag, kSmall);
    if (tag == 1) receive_from_anybody(ranks, tag, kLarge);
    if (tag == 2) wait_for_any(ranks, tag);
    if (tag == 3) probe(ranks, tag);
    if (tag == 4) ask_until_it_is_there(ranks, tag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free_all();
  if (rank == 0) std::printf("order on %d ranks: ok\n", ranks);
  MPI_Finalize();
}
