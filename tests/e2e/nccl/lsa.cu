// SPDX-License-Identifier: Apache-2.0
// Load/store access between ranks: pointers, barriers, low-latency all-to-all, multimem.
#include "device.h"

namespace {

constexpr int kBlocks = 4;
constexpr int kThreads = 128;
constexpr int kElements = 4096;

__global__ void all_gather(ncclDevComm comm, ncclWindow_t window, int count) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acquire);
  const size_t offset = size_t(comm.rank) * count * sizeof(float);
  const float* mine = static_cast<const float*>(ncclGetLocalPointer(window, offset));
  for (int peer = 0; peer < comm.lsaSize; ++peer) {
    float* theirs = static_cast<float*>(ncclGetLsaPointer(window, offset, peer));
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
      if (peer != comm.lsaRank) theirs[i] = mine[i];
    }
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);
}

__global__ void all_reduce(ncclDevComm comm, ncclWindow_t input, ncclWindow_t output, int count) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (i % comm.lsaSize != comm.lsaRank) continue;
    float sum = 0;
    for (int peer = 0; peer < comm.lsaSize; ++peer) {
      sum += static_cast<const float*>(ncclGetLsaPointer(input, 0, peer))[i];
    }
    for (int peer = 0; peer < comm.lsaSize; ++peer) {
      static_cast<float*>(ncclGetPeerPointer(output, 0, ncclTeamLsa(comm), peer))[i] = sum;
    }
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void exchange_small(ncclDevComm comm, ncclLLA2AHandle handle, float* out, int rounds) {
  ncclLLA2ASession<ncclCoopCta> session{ncclCoopCta(), comm,       ncclTeamLsa(comm),
                                        handle,        blockIdx.x, comm.lsaSize};
  for (int round = 0; round < rounds; ++round) {
    for (int peer = threadIdx.x; peer < comm.lsaSize; peer += blockDim.x) {
      session.send(peer, comm.lsaRank, float(comm.lsaRank * 100 + peer + round));
    }
    for (int peer = threadIdx.x; peer < comm.lsaSize; peer += blockDim.x) {
      out[round * comm.lsaSize + peer] = session.recv<float>(peer);
    }
    session.endEpoch(ncclCoopCta());
  }
}

__global__ void multimem_reduce(ncclDevComm comm, ncclWindow_t window, int count) {
#if __CUDA_ARCH__ >= 900
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x,
                                             /*multimem=*/true};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  float* all = static_cast<float*>(ncclGetLsaMultimemPointer(window, 0, comm));
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (i % comm.lsaSize != comm.lsaRank) continue;
    float sum;
    asm volatile("multimem.ld_reduce.global.add.f32 %0, [%1];"
                 : "=f"(sum)
                 : "l"(all + i)
                 : "memory");
    asm volatile("multimem.st.global.f32 [%0], %1;" ::"l"(all + i), "f"(sum) : "memory");
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
}

void check_all_gather(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const int n = static_cast<int>(ranks.size());
  const Windows w = make_windows(ranks, size_t(n) * kElements * sizeof(float));
  for (const Rank& r : ranks) {
    std::vector<float> values(kElements);
    for (int i = 0; i < kElements; ++i)
      values[i] = float(r.rank * 10000 + i);
    CUDA(cudaSetDevice(r.rank));
    CUDA(cudaMemcpy(static_cast<float*>(w.memory[r.rank]) + r.rank * kElements, values.data(),
                    kElements * sizeof(float), cudaMemcpyHostToDevice));
  }
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      all_gather<<<kBlocks, kThreads, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], kElements);
      CUDA(cudaGetLastError());
    }
    synchronise(ranks);
  }
  for (const Rank& r : ranks) {
    const auto got = download<float>(w.memory[r.rank], size_t(n) * kElements);
    for (int i = 0; i < n * kElements; ++i) {
      EXPECT(got[i] == float(i / kElements * 10000 + i % kElements));
    }
  }
}

void check_all_reduce(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  const int n = static_cast<int>(ranks.size());
  const Windows in = make_windows(ranks, kElements * sizeof(float));
  const Windows out = make_windows(ranks, kElements * sizeof(float));
  for (const Rank& r : ranks) {
    const std::vector<float> values(kElements, float(r.rank + 1));
    CUDA(cudaMemcpy(in.memory[r.rank], values.data(), kElements * 4, cudaMemcpyHostToDevice));
  }
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    all_reduce<<<kBlocks, kThreads, 0, r.stream>>>(comms[r.rank], in.windows[r.rank],
                                                   out.windows[r.rank], kElements);
  }
  synchronise(ranks);
  for (const Rank& r : ranks) {
    for (float x : download<float>(out.memory[r.rank], kElements))
      EXPECT(x == n * (n + 1) / 2);
  }
}

void check_small_exchange(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  constexpr int kRounds = 5;
  ncclLLA2AHandle handle;
  ncclDevResourceRequirements resources;
  NCCL(ncclLLA2ACreateRequirement(1, ncclLLA2ACalcSlots(n, sizeof(float)), &handle, &resources));
  ncclDevCommRequirements wanted = no_requirements();
  wanted.resourceRequirementsList = &resources;
  const auto comms = make_dev_comms(ranks, wanted);
  std::vector<float*> out;
  for (const Rank& r : ranks)
    out.push_back(upload(r.rank, std::vector<float>(n * kRounds)));
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    exchange_small<<<1, 32, 0, r.stream>>>(comms[r.rank], handle, out[r.rank], kRounds);
  }
  synchronise(ranks);
  for (const Rank& r : ranks) {
    const auto got = download<float>(out[r.rank], n * kRounds);
    for (int i = 0; i < n * kRounds; ++i)
      EXPECT(got[i] == float(i % n * 100 + r.rank + i / n));
  }
  for (const Rank& r : ranks)
    NCCL(ncclDevCommDestroy(r.comm, &comms[r.rank]));
}

void check_multimem(const std::vector<Rank>& ranks) {
  const int n = static_cast<int>(ranks.size());
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = kBlocks;
  wanted.lsaMultimem = true;
  const auto comms = make_dev_comms(ranks, wanted);
  const Windows w = make_windows(ranks, kElements * sizeof(float));
  for (const Rank& r : ranks) {
    const std::vector<float> values(kElements, float(r.rank + 1));
    CUDA(cudaMemcpy(w.memory[r.rank], values.data(), kElements * 4, cudaMemcpyHostToDevice));
  }
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    multimem_reduce<<<kBlocks, kThreads, 0, r.stream>>>(comms[r.rank], w.windows[r.rank],
                                                        kElements);
  }
  synchronise(ranks);
  for (const Rank& r : ranks) {
    for (float x : download<float>(w.memory[r.rank], kElements))
      EXPECT(x == n * (n + 1) / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Rank> ranks = all_ranks();
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = kBlocks;
  const auto comms = make_dev_comms(ranks, wanted);
  const char* only = argc > 1 ? argv[1] : "";
  const auto wants = [&](const char* name) { return *only == 0 || std::strcmp(only, name) == 0; };
  if (wants("gather")) check_all_gather(ranks, comms);
  if (wants("reduce")) check_all_reduce(ranks, comms);
  if (wants("small")) check_small_exchange(ranks);
  if (wants("multimem")) check_multimem(ranks);
  free_all();
  std::printf("load/store access on %zu ranks: ok\n", ranks.size());
}
