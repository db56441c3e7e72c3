// SPDX-License-Identifier: Apache-2.0
// MPI's messages in all their forms: wild cards, probes, waits and tests, persistent requests,
// non-blocking collectives, communicators, one-sided memory. The same program is right under plain
// mpirun; under cuco run its output is the same whenever it is repeated.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <mpi.h>

static int rank, size, failures;

static void expect(bool fine, const char* what, int line) {
  if (fine) return;
  std::printf("rank %d line %d: %s\n", rank, line, what);
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

static int count_of(const MPI_Status& status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}

/// Rank 0 takes whatever comes: every message once, in the order sent by each rank.
static void wild_cards() {
  constexpr int kEach = 3;
  if (rank != 0) {
    for (int i = 0; i < kEach; ++i) {
      const int value = 100 * rank + i;
      MPI_Send(&value, 1, MPI_INT, 0, 7 + i, MPI_COMM_WORLD);
    }
    return;
  }
  std::vector<int> next(size, 0);
  std::vector<int> values((size - 1) * kEach, -1);
  std::vector<MPI_Request> requests(values.size());
  const int blocking = static_cast<int>(values.size()) / 2;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    MPI_Status status;
    if (i < blocking) {
      MPI_Recv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      EXPECT(status.MPI_TAG == 7 + next[status.MPI_SOURCE]);
      EXPECT(values[i] == 100 * status.MPI_SOURCE + next[status.MPI_SOURCE]++);
      EXPECT(count_of(status, MPI_INT) == 1);
    } else {
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    }
  }
  for (int left = static_cast<int>(values.size()) - blocking; left > 0; --left) {
    int index = -1;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(values.size()) - blocking, &requests[blocking], &index, &status);
    EXPECT(requests[blocking + index] == MPI_REQUEST_NULL);
    EXPECT(values[blocking + index] == 100 * status.MPI_SOURCE + status.MPI_TAG - 7);
    ++next[status.MPI_SOURCE];
  }
  for (int peer = 1; peer < size; ++peer)
    EXPECT(next[peer] == kEach);
}

static void probes() {
  const int to = (rank + 1) % size;
  const int from = (rank + size - 1) % size;
  std::vector<double> out(10 + rank, rank + 0.5);
  MPI_Request request;
  MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, to, 3, MPI_COMM_WORLD, &request);
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
  EXPECT(status.MPI_SOURCE == from && count_of(status, MPI_DOUBLE) == 10 + from);
  std::vector<double> in(count_of(status, MPI_DOUBLE));
  MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, from, 3, MPI_COMM_WORLD, &status);
  EXPECT(in.back() == from + 0.5);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Isend(out.data(), 4, MPI_DOUBLE, to, 4, MPI_COMM_WORLD, &request);
  MPI_Message message;
  MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  EXPECT(status.MPI_TAG == 4);
  MPI_Mrecv(in.data(), 4, MPI_DOUBLE, &message, &status);
  EXPECT(in[3] == from + 0.5 && message == MPI_MESSAGE_NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &status);
  EXPECT(flag == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(&rank, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
  flag = 0;
  while (flag == 0)
    MPI_Improbe(from, 5, MPI_COMM_WORLD, &flag, &message, &status);
  int got = -1;
  MPI_Request receive;
  MPI_Imrecv(&got, 1, MPI_INT, &message, &receive);
  MPI_Wait(&receive, &status);
  EXPECT(got == from && status.MPI_SOURCE == from);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void tests_and_some() {
  // Everybody sends to everybody, large messages among them; completion in all its forms.
  constexpr int kLarge = 40000;
  std::vector<std::vector<int>> in(size, std::vector<int>(kLarge)), out(size);
  std::vector<MPI_Request> requests(2 * size);
  for (int peer = 0; peer < size; ++peer) {
    const int count = peer % 2 == 0 ? kLarge : 8;
    out[peer].assign(rank % 2 == 0 ? kLarge : 8, 10 * rank + peer);
    MPI_Irecv(in[peer].data(), count, MPI_INT, peer, 11, MPI_COMM_WORLD, &requests[peer]);
    MPI_Isend(out[peer].data(), static_cast<int>(out[peer].size()), MPI_INT, peer, 11,
              MPI_COMM_WORLD, &requests[size + peer]);
  }
  int done = 0;
  std::vector<int> indices(2 * size);
  std::vector<MPI_Status> statuses(2 * size);
  int total = 0;
  MPI_Waitsome(2 * size, requests.data(), &done, indices.data(), statuses.data());
  EXPECT(done > 0);
  total += done;
  while (total < size) {
    MPI_Testsome(2 * size, requests.data(), &done, indices.data(), statuses.data());
    EXPECT(done >= 0);
    total += done;
  }
  int flag = 0;
  while (flag == 0)
    MPI_Testall(2 * size, requests.data(), &flag, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer) {
    EXPECT(in[peer][0] == 10 * peer + rank && in[peer][7] == 10 * peer + rank);
    if (peer % 2 == 0) EXPECT(in[peer][kLarge - 1] == 10 * peer + rank);
  }
  int index = 0;
  MPI_Testany(2 * size, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  EXPECT(flag == 1 && index == MPI_UNDEFINED);
}

static void exchanges() {
  const int to = (rank + 1) % size;
  const int from = (rank + size - 1) % size;
  int value = rank;
  int got = -1;
  MPI_Status status;
  MPI_Sendrecv(&value, 1, MPI_INT, to, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
               &status);
  EXPECT(got == from && status.MPI_SOURCE == from);
  MPI_Sendrecv_replace(&value, 1, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, &status);
  EXPECT(value == from);
  MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, &got, 1, MPI_INT, MPI_PROC_NULL, 1,
               MPI_COMM_WORLD, &status);
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && got == from);
  // A column of a matrix into a row.
  int matrix[3][4], row[3] = {};
  for (int i = 0; i < 12; ++i)
    matrix[i / 4][i % 4] = 100 * rank + i;
  MPI_Datatype column;
  MPI_Type_vector(3, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Sendrecv(&matrix[0][1], 1, column, to, 6, row, 3, MPI_INT, from, 6, MPI_COMM_WORLD, &status);
  EXPECT(row[0] == 100 * from + 1 && row[1] == 100 * from + 5 && row[2] == 100 * from + 9);
  MPI_Type_free(&column);
}

static void persistent() {
  const int to = (rank + 1) % size;
  const int from = (rank + size - 1) % size;
  int out = 0;
  int in = 0;
  MPI_Request requests[2];
  MPI_Send_init(&out, 1, MPI_INT, to, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, from, 8, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    out = 10 * rank + i;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT(in == 10 * from + i && requests[1] != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  // A receive that nothing comes for is taken back.
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, from, 77, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(cancelled != 0);
}

static void collectives() {
  MPI_Request requests[8];
  int n = 0;
  long sum = -1, prefix = -1;
  const long mine = rank + 1;
  int from_root = rank == 1 % size ? 42 : 0;
  std::vector<int> gathered(size, -1), exchanged(size, -1), out(size);
  for (int peer = 0; peer < size; ++peer)
    out[peer] = 100 * rank + peer;
  MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
  MPI_Ibcast(&from_root, 1, MPI_INT, 1 % size, MPI_COMM_WORLD, &requests[n++]);
  MPI_Iallgather(&rank, 1, MPI_INT, gathered.data(), 1, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
  MPI_Ialltoall(out.data(), 1, MPI_INT, exchanged.data(), 1, MPI_INT, MPI_COMM_WORLD,
                &requests[n++]);
  MPI_Iscan(&mine, &prefix, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[n++]);
  // v-variants: rank r has r + 1 elements.
  std::vector<int> counts(size), places(size), ragged(rank + 1, rank);
  std::iota(counts.begin(), counts.end(), 1);
  for (int i = 1; i < size; ++i)
    places[i] = places[i - 1] + counts[i - 1];
  std::vector<int> all(places[size - 1] + counts[size - 1], -1);
  MPI_Igatherv(ragged.data(), rank + 1, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT,
               0, MPI_COMM_WORLD, &requests[n++]);
  std::vector<int> block(size, rank);
  int reduced = -1;
  MPI_Ireduce_scatter_block(block.data(), &reduced, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                            &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  EXPECT(sum == static_cast<long>(size) * (size + 1) / 2 && from_root == 42);
  EXPECT(prefix == static_cast<long>(rank + 1) * (rank + 2) / 2 && reduced == size - 1);
  for (int peer = 0; peer < size; ++peer) {
    EXPECT(gathered[peer] == peer && exchanged[peer] == 100 * peer + rank);
    if (rank == 0) EXPECT(all[places[peer]] == peer && all[places[peer] + peer] == peer);
  }
  std::vector<int> every(all.size(), -1);
  MPI_Allgatherv(ragged.data(), rank + 1, MPI_INT, every.data(), counts.data(), places.data(),
                 MPI_INT, MPI_COMM_WORLD);
  EXPECT(every.back() == size - 1);
}

static void communicators() {
  MPI_Comm half, copy, grid, column;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(half, &copy);
  int place, members, value = rank;
  MPI_Comm_rank(half, &place);
  MPI_Comm_size(half, &members);
  // The same tag in two communicators does not mix.
  int first = -1, second = -1;
  const int to = (place + 1) % members;
  MPI_Request requests[2];
  const int other = -value;
  MPI_Isend(&value, 1, MPI_INT, to, 1, half, &requests[0]);
  MPI_Isend(&other, 1, MPI_INT, to, 1, copy, &requests[1]);
  MPI_Recv(&second, 1, MPI_INT, MPI_ANY_SOURCE, 1, copy, MPI_STATUS_IGNORE);
  MPI_Recv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 1, half, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT(first == -second && first % 2 == rank % 2);
  const int shape[2] = {2, size / 2}, wraps[2] = {1, 1}, kept[2] = {1, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, shape, wraps, 0, &grid);
  MPI_Cart_sub(grid, kept, &column);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, column);
  EXPECT(sum == 2 * (rank % (size / 2)) + size / 2);
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int pair[2] = {0, 1};
  MPI_Group_incl(all, 2, pair, &some);
  if (rank < 2) {
    MPI_Comm two;
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &two);
    int peer = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &peer, 1, MPI_INT, 1 - rank, 0, two,
                 MPI_STATUS_IGNORE);
    EXPECT(peer == 1 - rank);
    MPI_Comm_free(&two);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  for (MPI_Comm* comm : {&column, &grid, &copy, &half})
    MPI_Comm_free(comm);
}

static void one_sided() {
  std::vector<int> memory(size, -1);
  MPI_Win window;
  MPI_Win_create(memory.data(), size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Win_fence(0, window);
  for (int peer = 0; peer < size; ++peer)
    MPI_Put(&rank, 1, MPI_INT, peer, rank, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int peer = 0; peer < size; ++peer)
    EXPECT(memory[peer] == peer);
  int seen = -1;
  MPI_Get(&seen, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  EXPECT(seen == 0);
  MPI_Win_free(&window);

  int* counter = nullptr;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const int one = 1;
  for (int i = 0; i < 5; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  int total = -1;
  MPI_Get(&total, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  EXPECT(total == 5 * size);
  MPI_Win_free(&window);
}

/// Two groups that talk to each other, and become one.
static void groups() {
  MPI_Comm half, between, merged;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
  int place, peer = -1, sum = 0;
  MPI_Comm_rank(half, &place);
  MPI_Sendrecv(&rank, 1, MPI_INT, place, 1, &peer, 1, MPI_INT, place, 1, between,
               MPI_STATUS_IGNORE);
  EXPECT(peer == (rank ^ 1));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);  // of the other group
  EXPECT(sum == size / 2 * (size / 2 - 1) + (rank % 2 == 0 ? size / 2 : 0));
  MPI_Intercomm_merge(between, rank % 2, &merged);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
  EXPECT(sum == size * (size - 1) / 2);
  for (MPI_Comm* comm : {&merged, &between, &half})
    MPI_Comm_free(comm);
}

/// Every rank's part has a type of its own: whole numbers for even ranks, pairs of them for odd.
static void typed_parts() {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  std::vector<int> sent(2 * size), got(2 * size, -1), counts(size), places(size);
  std::vector<MPI_Datatype> to(size), from(size, rank % 2 == 0 ? MPI_INT : pair);
  for (int peer = 0; peer < size; ++peer) {
    sent[2 * peer] = 100 * rank + peer;
    sent[2 * peer + 1] = -sent[2 * peer];
    counts[peer] = 1;
    places[peer] = static_cast<int>(2 * sizeof(int)) * peer;
    to[peer] = peer % 2 == 0 ? MPI_INT : pair;
  }
  MPI_Request request;
  MPI_Ialltoallw(sent.data(), counts.data(), places.data(), to.data(), got.data(), counts.data(),
                 places.data(), from.data(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int peer = 0; peer < size; ++peer) {
    EXPECT(got[2 * peer] == 100 * peer + rank);
    EXPECT(got[2 * peer + 1] == (rank % 2 == 0 ? -1 : -got[2 * peer]));
  }
  MPI_Type_free(&pair);
}

static void files() {
  char name[64] = "";
  if (rank == 0) std::snprintf(name, sizeof name, "/tmp/cuco-messages-%d", getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  EXPECT(MPI_File_open(MPI_COMM_WORLD, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &file) == MPI_SUCCESS);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  int seen = -1;
  MPI_File_read_at(file, (rank + 1) % size, &seen, 1, MPI_INT, MPI_STATUS_IGNORE);
  EXPECT(seen == (rank + 1) % size);
  MPI_File_close(&file);
}

/// Buffers on the device, as a CUDA-aware MPI takes them.
static void on_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return;  // Plain mpirun.
  int* data = nullptr;
  cudaSetDevice(rank % devices);
  cudaMalloc(&data, 3 * 4096 * sizeof(int));
  std::vector<int> values(4096, rank);
  cudaMemcpy(data, values.data(), 4096 * sizeof(int), cudaMemcpyHostToDevice);
  const int to = (rank + 1) % size;
  const int from = (rank + size - 1) % size;
  MPI_Sendrecv(data, 4096, MPI_INT, to, 1, data + 4096, 4096, MPI_INT, from, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Allreduce(data, data + 8192, 4096, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  cudaMemcpy(values.data(), data + 4096, 4096 * sizeof(int), cudaMemcpyDeviceToHost);
  EXPECT(values[0] == from && values[4095] == from);
  cudaMemcpy(values.data(), data + 8192, 4096 * sizeof(int), cudaMemcpyDeviceToHost);
  EXPECT(values[0] == size * (size - 1) / 2 && values[4095] == values[0]);
  cudaFree(data);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(provided >= MPI_THREAD_FUNNELED && size >= 2 && size % 2 == 0);
  int devices = 0;
  (void)cudaGetDeviceCount(&devices);  // Under plain mpirun there may be none.
  for (void (*part)() : {wild_cards, probes, tests_and_some, exchanges, persistent, collectives,
                         communicators, typed_parts, one_sided, on_device, groups, files}) {
    // Up to the one-sided part everything happens in virtual time.
    if (part == one_sided && rank == 0 && devices > 0) std::printf("%.9f s\n", MPI_Wtime());
    part();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("messages on %d ranks: %s\n", size, all == 0 ? "ok" : "FAILED");
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
