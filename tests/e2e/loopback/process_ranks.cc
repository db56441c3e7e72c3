// SPDX-License-Identifier: Apache-2.0
// One rank of several processes on the stand-in driver: all set-up calls, and memory that the ranks
// read of each other without a kernel. process_ranks.py starts it, and knows what has to be said
// when rank 1 "dies", "leaves", "fails", "hangs" or "differs", and when all end in a "quick" way.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "nccl_core/abi_2_28.h"

namespace abi = cuco::nccl_core::abi_2_28;

// Of nccl_device.h, which only a CUDA compiler reads.
extern "C" {
ncclResult_t ncclDevCommCreate(ncclComm_t comm,
                               const abi::DevCommRequirements* wanted,
                               abi::DevComm* out);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const abi::DevComm* made);
}

#define EXPECT(condition)                                           \
  do {                                                              \
    if (!(condition)) {                                             \
      std::printf("line %d: not true: %s\n", __LINE__, #condition); \
      std::exit(5);                                                 \
    }                                                               \
  } while (0)
#define NCCL(call) EXPECT((call) == ncclSuccess)

namespace {

constexpr std::uint64_t kStrideUnit = std::uint64_t{4} << 30U;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Rank 0's id reaches the others by a file, as with MPI it would by a message.
ncclUniqueId share_id(int rank, const std::string& folder) {
  const std::string path = folder + "/id";
  ncclUniqueId id;
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    std::FILE* file = std::fopen((path + ".new").c_str(), "wb");
    EXPECT(file != nullptr);
    EXPECT(std::fwrite(&id, sizeof id, 1, file) == 1);
    std::fclose(file);
    EXPECT(std::rename((path + ".new").c_str(), path.c_str()) == 0);
    return id;
  }
  std::FILE* file = nullptr;
  while ((file = std::fopen(path.c_str(), "rb")) == nullptr)
    usleep(1000);
  EXPECT(std::fread(&id, sizeof id, 1, file) == 1);
  std::fclose(file);
  return id;
}

/// All ranks are here.
void meet(ncclComm_t comm) {
  ncclComm_t other = nullptr;
  NCCL(ncclCommSplit(comm, 0, 0, &other, nullptr));
  NCCL(ncclCommDestroy(other));
}

std::uint64_t word_of(int round, int rank) {
  return 100 * static_cast<std::uint64_t>(round) + static_cast<std::uint64_t>(rank);
}

/// What the others have written, found as a kernel finds it.
void check_peers(const abi::Window& seen, int rank, int ranks, int round) {
  EXPECT(seen.world_rank == rank && seen.lsa_rank == rank);
  for (int peer = 0; peer < ranks; ++peer) {
    const auto* theirs = reinterpret_cast<const std::uint64_t*>(
        seen.lsa_flat_base + static_cast<std::uint64_t>(peer) * seen.stride_4g * kStrideUnit);
    EXPECT(theirs[0] == word_of(round, peer));
    EXPECT(*reinterpret_cast<const int*>(theirs[1]) == 7 * peer + round);
  }
}

void check_windows(ncclComm_t comm, int rank, int ranks) {
  for (int round = 0; round < 3; ++round) {
    void* memory = nullptr;
    ncclWindow_t window = nullptr;
    NCCL(ncclMemAlloc(&memory, 4096));
    NCCL(ncclCommWindowRegister(comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
    // Memory that is no window, but that collectives of the others read.
    void* plain = nullptr;
    EXPECT(cudaMalloc(&plain, std::size_t{3} << 20U) == cudaSuccess);
    auto* words = static_cast<std::uint64_t*>(memory);
    words[0] = word_of(round, rank);
    words[1] = reinterpret_cast<std::uint64_t>(plain);
    *static_cast<int*>(plain) = 7 * rank + round;
    meet(comm);
    check_peers(*reinterpret_cast<const abi::Window*>(window), rank, ranks, round);
    meet(comm);
    EXPECT(cudaFree(plain) == cudaSuccess);
    NCCL(ncclCommWindowDeregister(comm, window));
    NCCL(ncclMemFree(memory));
  }
}

void check_dev_comm(ncclComm_t comm, int rank, int ranks) {
  abi::DevCommRequirements wanted{};
  wanted.lsa_barrier_count = 4;
  wanted.gin_signal_count = 2;
  std::uint32_t buffer = 0;
  abi::ResourceRequirements need{};
  need.buffer_size = 1000;
  need.buffer_align = 128;
  need.out_buffer_handle = &buffer;
  wanted.resources = &need;
  abi::DevComm made{};
  NCCL(ncclDevCommCreate(comm, &wanted, &made));
  EXPECT(made.rank == rank && made.n_ranks == ranks && made.lsa_size == ranks);
  EXPECT(made.gin_signal_count >= 2 && buffer != 0);
  // The queue of each rank is its own, and can be written.
  const auto& proxy = *reinterpret_cast<const abi::GinProxyContext*>(made.gin_handles[0]);
  EXPECT(proxy.n_ranks == ranks && proxy.queue_size == 128);
  *reinterpret_cast<std::uint64_t*>(proxy.signals) = static_cast<std::uint64_t>(rank) + 1;
  meet(comm);
  EXPECT(*reinterpret_cast<std::uint64_t*>(proxy.signals) == static_cast<std::uint64_t>(rank) + 1);
  NCCL(ncclDevCommDestroy(comm, &made));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int rank = std::atoi(variable("OMPI_COMM_WORLD_RANK").c_str());
  const int ranks = std::atoi(variable("OMPI_COMM_WORLD_SIZE").c_str());
  int devices = 0;
  EXPECT(cudaGetDeviceCount(&devices) == cudaSuccess && devices == ranks);
  EXPECT(cudaSetDevice(rank) == cudaSuccess);
  const ncclUniqueId id = share_id(rank, variable("CUCO_LOOPBACK_DIR"));
  ncclComm_t comm = nullptr;
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  meet(comm);
  if (rank == 0) {
    std::FILE* met = std::fopen((variable("CUCO_LOOPBACK_DIR") + "/met").c_str(), "w");
    EXPECT(met != nullptr);
    std::fclose(met);
  }
  if (rank == 1 && what == "dies") std::_Exit(0);
  if (rank == 1 && what == "leaves") return 0;
  if (rank == 1 && what == "fails") return 7;
  if (rank == 1 && what == "hangs") pause();
  if (rank == 1 && what == "differs") {
    void* memory = nullptr;
    ncclWindow_t window = nullptr;
    NCCL(ncclMemAlloc(&memory, 4096));
    (void)ncclCommWindowRegister(comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC);
    return 0;
  }
  ncclComm_t part = nullptr;
  const ncclResult_t result = ncclCommSplit(comm, rank % 2, -rank, &part, nullptr);
  if (!what.empty() && what != "quick") {
    std::printf("rank %d: %d: %s\n", rank, static_cast<int>(result), ncclGetLastError(nullptr));
    return 0;
  }
  NCCL(result);
  int count = 0;
  int own = 0;
  NCCL(ncclCommCount(part, &count));
  NCCL(ncclCommUserRank(part, &own));
  EXPECT(count == (ranks + 1 - rank % 2) / 2 && own == count - 1 - rank / 2);
  NCCL(ncclCommDestroy(part));
  // Others cannot reach what no process shares.
  static int on_the_stack[4];
  EXPECT(ncclAllReduce(on_the_stack, on_the_stack, 4, ncclInt, ncclSum, comm, nullptr) ==
         ncclInvalidArgument);
  EXPECT(std::strstr(ncclGetLastError(comm), "cudaMalloc") != nullptr);
  check_windows(comm, rank, ranks);
  check_dev_comm(comm, rank, ranks);
  NCCL(ncclCommDestroy(comm));
  std::printf("rank %d: ok\n", rank);
  if (what == "quick") {  // It owes nobody anything any more.
    std::fflush(stdout);
    _exit(0);
  }
}
