// SPDX-License-Identifier: Apache-2.0
// What the other programs of this folder leave out of nccl.h and of the device API: teams and their
// arithmetic, all cooperative groups, own resources and barriers, split barriers, LLA2A's other
// calls, GIN's counters and shadows.
#include "device.h"

extern "C" void ncclResetDebugInitInternal();

namespace {

/// A thing that must hold in a kernel; the first line that does not is kept.
__device__ void expect(bool fine, int line, int* wrong) {
  if (!fine) atomicCAS(wrong, 0, line);
}
#define HOLDS(condition) expect(condition, __LINE__, wrong)

__global__ void teams(ncclDevComm comm, int* wrong) {
  const ncclTeam world = ncclTeamWorld(comm);
  const ncclTeam lsa = ncclTeamLsa(comm);
  const ncclTeam rail = ncclTeamRail(comm);
  const int start = world.rank - lsa.rank;
  HOLDS(world.nRanks == comm.nRanks && lsa.nRanks == comm.lsaSize);
  HOLDS(rail.nRanks == comm.nRanks / comm.lsaSize && rail.rank == comm.rank / comm.lsaSize);
  for (int i = 0; i < lsa.nRanks; ++i) {
    HOLDS(ncclTeamRankToWorld(comm, lsa, i) == start + i);
    HOLDS(ncclTeamRankToLsa(comm, world, start + i) == i);
    HOLDS(ncclTeamRankToTeam(lsa, world, start + i) == i);
  }
  for (int i = 0; i < rail.nRanks; ++i)
    HOLDS(ncclTeamRankToWorld(comm, rail, i) == i * comm.lsaSize + lsa.rank);
  for (int i = 0; i < world.nRanks; ++i)
    HOLDS(ncclTeamRankIsMember(lsa, world, i) == (i >= start && i < start + lsa.nRanks));
  for (int i = 0; i < world.nRanks - lsa.nRanks; ++i) {
    HOLDS(ncclTeamRankInDifference(world, lsa, i) == (i < start ? i : i + lsa.nRanks));
  }
  const ncclTeam inner = ncclTeamInnerFactor(world, comm.lsaSize);
  const ncclTeam outer = ncclTeamOuterFactor(world, comm.lsaSize);
  HOLDS(inner.nRanks == lsa.nRanks && inner.rank == lsa.rank && inner.stride == lsa.stride);
  HOLDS(outer.nRanks == rail.nRanks && outer.rank == rail.rank && outer.stride == rail.stride);
}

__global__ void groups(int* wrong) {  // 128 threads
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  HOLDS(ncclCoopIsThread(ncclCoopThread()) && !ncclCoopIsThread(ncclCoopWarp()));
  HOLDS(ncclCoopWithinWarp(ncclCoopTile<8>()) && !ncclCoopWithinWarp(ncclCoopCta()));
  ncclCoopTile<8> tile;
  HOLDS(tile.thread_rank() == lane % 8 && tile.size() == 8);
  HOLDS(ncclCoopGetLaneMask(tile) == 0xFFu << (lane & ~7));
  HOLDS(ncclCoopBcast(tile, thread, 3) == (thread & ~7) + 3);
  HOLDS(ncclCoopBcast(ncclCoopWarp(), uint64_t(thread) << 32, 31) == uint64_t(thread | 31) << 32);
  if (lane % 2 == 1) {
    ncclCoopLanes odd(0xAAAAAAAAu);
    HOLDS(odd.thread_rank() == lane / 2 && odd.size() == 16);
    HOLDS(ncclCoopBcast(odd, thread, 2) == (thread & ~31) + 5);
    HOLDS(ncclCoopCoalesced().size() == 16);
    odd.sync();
  }
  __syncwarp();
  HOLDS(ncclCoopCoalesced(ncclCoopCta()).size() == 32);
  ncclCoopWarpSpan half(thread / 64 * 2, 2, thread / 64);
  HOLDS(half.thread_rank() == thread % 64 && half.num_threads() == 64);
  HOLDS(ncclCoopBcast(half, thread, 40) == thread / 64 * 64 + 40);
  HOLDS(ncclCoopBcast(ncclCoopCta(), make_int2(thread, -thread), 100).y == -100);
}

struct Resources {
  ncclLsaBarrierHandle lsa_barrier;
  ncclGinBarrierHandle gin_barrier;
  ncclLLA2AHandle exchange;
  ncclDevResourceHandle buffer;
  ncclMultimemHandle multimem;
  bool has_multimem;
};

/// Own barriers, in halves, around an own buffer reached in all ways that there are.
__global__ void resources(ncclDevComm comm, Resources own, int* wrong) {
  const ncclTeam lsa = ncclTeamLsa(comm);
  int* mine = static_cast<int*>(ncclGetResourceBufferLocalPointer(comm, own.buffer));
  {
    ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, lsa, own.lsa_barrier, 1};
    for (int peer = threadIdx.x; peer < lsa.nRanks; peer += blockDim.x) {
      int* theirs = static_cast<int*>(ncclGetResourceBufferLsaPointer(comm, own.buffer, peer));
      int* again = static_cast<int*>(ncclGetResourceBufferPeerPointer(comm, own.buffer, lsa, peer));
      HOLDS(theirs == again);
      HOLDS((theirs == mine) == (peer == lsa.rank));
      theirs[lsa.rank] = 100 + lsa.rank;
    }
    barrier.arrive(ncclCoopCta(), cuda::memory_order_release);
    barrier.wait(ncclCoopCta(), cuda::memory_order_acquire);
    for (int peer = 0; peer < lsa.nRanks; ++peer)
      HOLDS(mine[peer] == 100 + peer);
    const ncclSymPtr<int> pointer = ncclGetResourceBuffer(comm, own.buffer);
    HOLDS(pointer.localPtr() == mine);
    HOLDS(pointer.offset == ncclGetResourceBufferOffset(own.buffer));
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  }
#if __CUDA_ARCH__ >= 900
  if (own.has_multimem) {
    ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm,        lsa, own.lsa_barrier, 0,
                                               true,          own.multimem};
    int* all = static_cast<int*>(ncclGetResourceBufferLsaMultimemPointer(comm, own.buffer));
    HOLDS(all == ncclGetResourceBufferMultimemPointer(comm, own.buffer, own.multimem));
    HOLDS((void*)all == ncclGetResourceBuffer(comm, own.buffer).lsaMultimemPtr(comm));
    if (threadIdx.x == 0 && lsa.rank == 0) {
      asm volatile("multimem.st.global.s32 [%0], %1;" ::"l"(all + 40), "r"(77) : "memory");
    }
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    HOLDS(mine[40] == 77);
  }
#endif
}

__global__ void exchange(ncclDevComm comm, Resources own, int* wrong) {
  const ncclTeam lsa = ncclTeamLsa(comm);
  ncclLLA2ASession<ncclCoopCta> session{ncclCoopCta(), comm, lsa, own.exchange, 0, 8};
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) session.bcast(lsa.rank, float(10 * round + lsa.rank));
    if (threadIdx.x == 1) {
      float values[8];
      session.recvUnrolled<1, 8>(0, lsa.nRanks, 1, values);
      for (int peer = 0; peer < lsa.nRanks; ++peer)
        HOLDS(values[peer] == 10 * round + peer);
    }
    session.endEpoch(ncclCoopCta());
    if (threadIdx.x == 0) session.bcast(lsa.rank, float(lsa.rank + 1));
    if (threadIdx.x == 1) {
      const double sum = session.recvReduce<2, float>(
          0, lsa.nRanks, 1, [] __device__(float x) { return double(x); },
          [] __device__(double a, double b) { return a + b; });
      HOLDS(sum == lsa.nRanks * (lsa.nRanks + 1) / 2);
    }
    session.endEpoch(ncclCoopCta());
  }
}

__global__ void gin(
    ncclDevComm comm, Resources own, ncclWindow_t window, const char* memory, int* wrong) {
  ncclGin gin{comm, 1};
  const ncclTeam world = ncclTeamWorld(comm);
  const int next = (comm.rank + 1) % comm.nRanks;
  ncclGinBarrierSession<ncclCoopCta> everybody{ncclCoopCta(), gin, world, own.gin_barrier, 1};
  everybody.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
  HOLDS(ncclFindWindow(ncclCoopCta(), comm, memory + 100) == window);
  HOLDS(gin.readCounter(0) == 0);
  HOLDS(*gin.getSignalShadowPtr(0) == 0);
  for (int round = 1; round <= 2; ++round) {
    gin.put(world, next, window, 512, window, 0, 256, ncclGin_SignalAdd{0, 3},
            ncclGin_CounterInc{0}, ncclCoopCta());
    gin.waitCounter(ncclCoopCta(), 0, round);
    HOLDS(gin.readCounter(0) == uint64_t(round));
    uint64_t before = 0;
    uint64_t delta = 0;
    gin.waitSignalFollowShadow(ncclCoopWarp(), 0, uint64_t(3), &before, &delta);
    HOLDS(before == uint64_t(3 * (round - 1)) && delta == 3);
    __syncthreads();
    if (threadIdx.x == 0) gin.increaseSignalShadow(0, delta);  // 2.28.9 does not.
    everybody.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
    HOLDS(*gin.getSignalShadowPtr(0) == uint64_t(3 * round));
  }
  ncclGinBarrierSession<ncclCoopCta> on_rail{ncclCoopCta(), gin, ncclTeamTagRail(), 0};
  on_rail.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
}

/// Host calls that need no kernel.
void check_host(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  for (const Rank& r : ranks) {
    const ncclTeam_t lsa = ncclTeamLsa(r.comm);
    const ncclTeam_t rail = ncclTeamRail(r.comm);
    EXPECT(ncclTeamWorld(r.comm).nRanks == n && rail.nRanks == n / lsa.nRanks);
    EXPECT(ncclTeamRankToWorld(r.comm, lsa, lsa.rank) == r.rank);
    EXPECT(ncclTeamRankToLsa(r.comm, ncclTeamWorld(r.comm), r.rank) == lsa.rank);
    EXPECT(ncclTeamRankToWorld(r.comm, rail, rail.rank) == r.rank);
    CUDA(cudaSetDevice(r.rank));
    void* memory = nullptr;
    void* handle = nullptr;
    CUDA(cudaMalloc(&memory, 4096));
    NCCL(ncclCommRegister(r.comm, memory, 4096, &handle));
    EXPECT(handle != nullptr);
    NCCL(ncclCommDeregister(r.comm, handle));
    CUDA(cudaFree(memory));
    NCCL(ncclMemAlloc(&memory, 1000));
    NCCL(ncclMemFree(memory));
  }
  ncclUniqueId ids[2];
  NCCL(ncclGetUniqueId(&ids[0]));
  NCCL(ncclGetUniqueId(&ids[1]));
  std::vector<ncclComm_t> comms(n);
  NCCL(ncclGroupStart());
  for (int rank = 0; rank < n; ++rank) {
    CUDA(cudaSetDevice(rank));
    NCCL(ncclCommInitRankScalable(&comms[rank], n, rank, 2, ids, nullptr));
  }
  NCCL(ncclGroupEnd());
  int count = 0;
  NCCL(ncclCommCount(comms[n - 1], &count));
  EXPECT(count == n);
  for (ncclComm_t comm : comms)
    NCCL(ncclCommDestroy(comm));
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  ncclResetDebugInit();
  ncclResetDebugInitInternal();
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  const int n = static_cast<int>(ranks.size());
  check_host(ranks);
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  Resources own{};
  own.has_multimem = properties.major >= 9;
  ncclDevResourceRequirements nodes[4];
  std::memset(nodes, 0, sizeof nodes);
  const ncclTeam_t lsa = ncclTeamLsa(ranks[0].comm);
  NCCL(ncclLsaBarrierCreateRequirement(lsa, 2, &own.lsa_barrier, &nodes[0]));
  NCCL(ncclGinBarrierCreateRequirement(ranks[0].comm, ncclTeamWorld(ranks[0].comm), 2,
                                       &own.gin_barrier, &nodes[1]));
  NCCL(ncclLLA2ACreateRequirement(1, ncclLLA2ACalcSlots(8, sizeof(float)), &own.exchange,
                                  &nodes[2]));
  nodes[3].bufferSize = 256;
  nodes[3].bufferAlign = 128;
  nodes[3].outBufferHandle = &own.buffer;
  for (int i = 0; i < 3; ++i)
    nodes[i].next = &nodes[i + 1];
  ncclTeamRequirements team{};
  team.team = lsa;
  team.multimem = own.has_multimem;
  team.outMultimemHandle = &own.multimem;
  ncclDevCommRequirements wanted = no_requirements();
  wanted.resourceRequirementsList = nodes;
  if (own.has_multimem) wanted.teamRequirementsList = &team;
  wanted.lsaMultimem = own.has_multimem;
  wanted.railGinBarrierCount = 1;
  wanted.ginSignalCount = 1;
  wanted.ginCounterCount = 1;
  const std::vector<ncclDevComm> comms = make_dev_comms(ranks, wanted);
  const Windows windows = make_windows(ranks, 4096);
  std::vector<int*> wrong;
  for (const Rank& r : ranks)
    wrong.push_back(upload(r.rank, std::vector<int>(1, 0)));
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    const ncclDevComm& comm = comms[r.rank];
    teams<<<1, 1, 0, r.stream>>>(comm, wrong[r.rank]);
    groups<<<1, 128, 0, r.stream>>>(wrong[r.rank]);
    resources<<<1, 64, 0, r.stream>>>(comm, own, wrong[r.rank]);
    exchange<<<1, 64, 0, r.stream>>>(comm, own, wrong[r.rank]);
    gin<<<1, 64, 0, r.stream>>>(comm, own, windows.windows[r.rank],
                                static_cast<const char*>(windows.memory[r.rank]), wrong[r.rank]);
  }
  synchronise(ranks);
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    const int line = download<int>(wrong[r.rank], 1)[0];
    if (line != 0) std::printf("rank %d: not true: line %d\n", r.rank, line);
    EXPECT(line == 0);
    NCCL(ncclDevCommDestroy(r.comm, &comms[r.rank]));
    NCCL(ncclCommWindowDeregister(r.comm, windows.windows[r.rank]));
    NCCL(ncclMemFree(windows.memory[r.rank]));
  }
  std::printf("primitives on %d ranks: ok\n", n);
}
