// SPDX-License-Identifier: Apache-2.0
// One mistake for each name that mistakes.py passes; it knows what has to be said about it.
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <string>

#include "device.h"

namespace {

std::vector<Rank> ranks;

__global__ void put_past_the_end(ncclDevComm comm, ncclWindow_t window) {
  ncclGin gin{comm, 0};
  if (threadIdx.x == 0) gin.put(ncclTeamWorld(comm), 1, window, 4090, window, 0, 64);
  gin.flush(ncclCoopCta());
}

__global__ void signal_nobody_has(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  if (threadIdx.x == 0) gin.signal(ncclTeamWorld(comm), 1, ncclGin_SignalInc{9});
  gin.flush(ncclCoopCta());
}

__global__ void wait_for_ever(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 0, 1);
}

__global__ void store_out_of_reach(ncclDevComm comm, ncclWindow_t window) {
  // A world rank where a rank of the load/store team is asked for.
  *static_cast<int*>(ncclGetLsaPointer(window, 0, comm.nRanks - 1)) = 1;
}

__global__ void barrier_too_many(ncclDevComm comm) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void send_a_value(ncclDevComm comm, ncclWindow_t window) {
  ncclGin gin{comm, 0};
  if (comm.rank == 0 && threadIdx.x == 0) {
    gin.putValue(ncclTeamWorld(comm), 1, window, 0, uint32_t(7), ncclGin_SignalInc{0});
  }
  if (comm.rank == 1) gin.waitSignal(ncclCoopCta(), 0, 1);
}

/// Right by the contract; the real library hangs if the node has three ranks.
__global__ void world_barrier_on_rail(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  ncclGinBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), gin, ncclTeamWorld(comm),
                                             comm.railGinBarrier, 0};
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Relaxed);
}

__global__ void wait_for_a_signal_nobody_has(ncclDevComm comm) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 9, 1);
}

__global__ void count_with_nothing(ncclDevComm comm, ncclWindow_t window) {
  ncclGin gin{comm, 0};
  if (threadIdx.x == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, 0, window, 0, 64, ncclGin_None{},
            ncclGin_CounterInc{3});
  }
  gin.flush(ncclCoopCta());
}

/// Without lsaMultimem there is no multicast memory.
__global__ void store_to_nobody(ncclDevComm comm, ncclWindow_t window) {
  *static_cast<int*>(ncclGetLsaMultimemPointer(window, 0, comm)) = 1;
}

std::vector<ncclDevComm> gin_comms() {
  ncclDevCommRequirements wanted = no_requirements();
  wanted.ginSignalCount = 1;
  wanted.lsaBarrierCount = 2;
  return make_dev_comms(ranks, wanted);
}

/// Waits on every rank and says what CUDA says.
void finish() {
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    const cudaError_t error = cudaStreamSynchronize(r.stream);
    if (error != cudaSuccess) std::printf("rank %d: %s\n", r.rank, cudaGetErrorName(error));
  }
}

template <typename Call>
void grouped(Call call) {
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    call(r);
  }
  std::printf("group: %s\n", ncclGetErrorString(ncclGroupEnd()));
}

void windows_differ() {
  ncclWindow_t windows[8];
  grouped([&](const Rank& r) {
    void* memory = nullptr;
    const size_t bytes = r.rank == 1 ? 8192 : 4096;
    NCCL(ncclMemAlloc(&memory, bytes));
    (void)ncclCommWindowRegister(r.comm, memory, bytes, &windows[r.rank], NCCL_WIN_COLL_SYMMETRIC);
  });
}

void window_of_cuda_malloc() {
  ncclWindow_t windows[8];
  grouped([&](const Rank& r) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, 4096));
    (void)ncclCommWindowRegister(r.comm, memory, 4096, &windows[r.rank], NCCL_WIN_COLL_SYMMETRIC);
  });
}

void kinds_differ() {
  grouped([&](const Rank& r) {
    int* data = upload(r.rank, std::vector<int>(64));
    if (r.rank == 1) {
      (void)ncclBroadcast(data, data, 4, ncclInt, 0, r.comm, r.stream);
    } else {
      (void)ncclAllReduce(data, data, 4, ncclInt, ncclSum, r.comm, r.stream);
    }
  });
  finish();
}

void counts_differ() {
  grouped([&](const Rank& r) {
    int* data = upload(r.rank, std::vector<int>(64));
    (void)ncclAllReduce(data, data, 4 + r.rank, ncclInt, ncclSum, r.comm, r.stream);
  });
  finish();
}

void buffer_of_another_device() {
  int* data = upload(1, std::vector<int>(64));
  std::printf("call: %s\n", ncclGetErrorString(ncclAllReduce(data, data, 4, ncclInt, ncclSum,
                                                             ranks[0].comm, ranks[0].stream)));
}

void stream_of_another_device() {
  int* data = upload(0, std::vector<int>(64));
  std::printf("call: %s\n", ncclGetErrorString(ncclAllReduce(data, data, 4, ncclInt, ncclSum,
                                                             ranks[0].comm, ranks[1].stream)));
}

void memory_of_the_host() {
  static int data[64];
  std::printf("call: %s\n", ncclGetErrorString(ncclAllReduce(data, data, 4, ncclInt, ncclSum,
                                                             ranks[0].comm, ranks[0].stream)));
}

void one_rank_does_not_call() {
  for (const Rank& r : ranks) {
    int* data = upload(r.rank, std::vector<int>(64));
    if (r.rank == 0) continue;
    CUDA(cudaSetDevice(r.rank));
    NCCL(ncclAllReduce(data, data, 4, ncclInt, ncclSum, r.comm, r.stream));
  }
  finish();
}

void crossed_sends() {
  // Each waits in its stream for the other's first call.
  for (int r = 0; r < 2; ++r) {
    int* data = upload(r, std::vector<int>(64));
    CUDA(cudaSetDevice(r));
    NCCL(ncclRecv(data, 4, ncclInt, 1 - r, ranks[r].comm, ranks[r].stream));
    NCCL(ncclSend(data, 4, ncclInt, 1 - r, ranks[r].comm, ranks[r].stream));
  }
  finish();
}

template <typename Kernel, typename... Arguments>
void on_rank_0(Kernel kernel, Arguments... arguments) {
  CUDA(cudaSetDevice(0));
  kernel<<<4, 32, 0, ranks[0].stream>>>(arguments...);
  CUDA(cudaGetLastError());
  finish();
}

/// What a send reads a receive of the same group writes; or not, with `between` groups.
void send_what_is_received(bool between) {
  std::vector<int*> data;
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    data.push_back(nullptr);
    CUDA(cudaMalloc(&data.back(), 32));
  }
  NCCL(ncclGroupStart());
  for (const Rank& r : ranks) {
    const int peer = 1 - r.rank;
    NCCL(ncclSend(data[r.rank], 4, ncclInt32, peer, r.comm, r.stream));
    NCCL(ncclRecv(data[r.rank] + 4, 4, ncclInt32, peer, r.comm, r.stream));
  }
  if (between) {
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
  }
  for (const Rank& r : ranks) {
    const int peer = 1 - r.rank;
    NCCL(ncclSend(data[r.rank] + 4, 4, ncclInt32, peer, r.comm, r.stream));
    NCCL(ncclRecv(data[r.rank], 4, ncclInt32, peer, r.comm, r.stream));
  }
  NCCL(ncclGroupEnd());
  finish();
}

__global__ void set(volatile int* flag) {
  *flag = 1;
}

/// The host looks at pinned memory instead of waiting for the stream.
void poll_pinned_memory() {
  int* flag = nullptr;
  CUDA(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
  *flag = 0;
  CUDA(cudaSetDevice(0));
  set<<<1, 1, 0, ranks[0].stream>>>(flag);
  while (*static_cast<volatile int*>(flag) == 0) {
  }
}

/// The host computes for longer than the user wants to wait without a word.
void compute_for_long() {
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);  // Not the virtual clock.
  const long end = now.tv_sec + 4;
  while (now.tv_sec < end)
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
}

}  // namespace

int main(int, char** argv) {
  const std::string name = argv[1];
  ranks = all_ranks();
  if (name == "windows_differ") windows_differ();
  if (name == "window_of_cuda_malloc") window_of_cuda_malloc();
  if (name == "kinds_differ") kinds_differ();
  if (name == "counts_differ") counts_differ();
  if (name == "buffer_of_another_device") buffer_of_another_device();
  if (name == "stream_of_another_device") stream_of_another_device();
  if (name == "memory_of_the_host") memory_of_the_host();
  if (name == "one_rank_does_not_call") one_rank_does_not_call();
  if (name == "crossed_sends") crossed_sends();
  if (name == "put_past_the_end") {
    const auto comms = gin_comms();
    on_rank_0(put_past_the_end, comms[0], make_windows(ranks, 4096).windows[0]);
  }
  if (name == "signal_nobody_has") on_rank_0(signal_nobody_has, gin_comms()[0]);
  if (name == "wait_for_ever") on_rank_0(wait_for_ever, gin_comms()[0]);
  if (name == "barrier_too_many") {
    const auto comms = gin_comms();
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      barrier_too_many<<<4, 32, 0, r.stream>>>(comms[r.rank]);
    }
    finish();
  }
  if (name == "store_out_of_reach") {
    on_rank_0(store_out_of_reach, gin_comms()[0], make_windows(ranks, 4096).windows[0]);
  }
  if (name == "no_nic") {
    ncclDevCommRequirements wanted = no_requirements();
    wanted.ginSignalCount = 1;
    ncclDevComm comms[8];
    grouped([&](const Rank& r) { (void)ncclDevCommCreate(r.comm, &wanted, &comms[r.rank]); });
  }
  if (name == "put_value") {
    const auto comms = gin_comms();
    const Windows windows = make_windows(ranks, 4096);
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      send_a_value<<<1, 32, 0, r.stream>>>(comms[r.rank], windows.windows[r.rank]);
    }
    finish();
  }
  if (name == "world_barrier_on_rail") {
    ncclDevCommRequirements wanted = no_requirements();
    wanted.railGinBarrierCount = 1;
    wanted.ginForceEnable = true;
    const auto comms = make_dev_comms(ranks, wanted);
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      world_barrier_on_rail<<<1, 32, 0, r.stream>>>(comms[r.rank]);
    }
    finish();
  }
  if (name == "requirements_without_effect") {
    ncclDevResourceHandle buffer = 0;
    ncclGinSignal_t signal = 0;
    ncclDevResourceRequirements own;
    std::memset(&own, 0, sizeof own);
    own.bufferSize = 64;
    own.outBufferHandle = &buffer;
    own.ginSignalCount = 2;
    own.outGinSignalStart = &signal;
    ncclDevCommRequirements wanted = no_requirements();
    wanted.ginSignalCount = 3;
    wanted.lsaLLA2ABlockCount = 1;
    wanted.resourceRequirementsList = &own;
    (void)make_dev_comms(ranks, wanted);
    std::printf("own signals start at %u\n", signal);
  }
  if (name == "wait_for_a_signal_nobody_has") {
    on_rank_0(wait_for_a_signal_nobody_has, gin_comms()[0]);
  }
  if (name == "count_with_nothing") {
    const auto comms = gin_comms();
    on_rank_0(count_with_nothing, comms[0], make_windows(ranks, 4096).windows[0]);
  }
  if (name == "no_window") on_rank_0(put_past_the_end, gin_comms()[0], ncclWindow_t{nullptr});
  if (name == "store_to_nobody") {
    const auto comms = gin_comms();
    on_rank_0(store_to_nobody, comms[0], make_windows(ranks, 4096).windows[0]);
  }
  if (name == "send_what_is_received") send_what_is_received(false);
  if (name == "send_what_was_received") send_what_is_received(true);
  if (name == "compute_for_long") compute_for_long();
  if (name == "poll_pinned_memory") poll_pinned_memory();
  if (name == "dies") {
    std::fflush(stdout);
    _exit(3);
  }
  std::printf("end of %s\n", name.c_str());
}
