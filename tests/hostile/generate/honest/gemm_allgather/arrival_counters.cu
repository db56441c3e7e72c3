// SPDX-License-Identifier: Apache-2.0
// Every block counts its copy on the peer that it wrote to; a rank waits for all blocks of all peers
// of all calls so far. An LSA barrier before the copies says that everybody has entered the call.
// common: multiply

// common: flags

constexpr int kBlocks = 4;

__global__ void enter(ncclDevComm comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}

__global__ void gather(ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks) {
  for (int i = 1; i < ranks; ++i) {
    const int peer = (rank + i) % ranks;
    copy_to(out, rank * bytes, bytes, rank, peer);
    __syncthreads();
    if (threadIdx.x == 0) {
      Flag(*flag_of(flags, rank, peer)).fetch_add(1, cuda::memory_order_release);
    }
  }
}

__global__ void all_arrived(ncclWindow_t flags, int rank, int ranks, unsigned epoch) {
  const int source = threadIdx.x;
  if (source >= ranks || source == rank) return;
  Flag count(*flag_of(flags, source, rank));
  while ((int)(count.load(cuda::memory_order_acquire) - epoch * kBlocks) < 0) {
  }
}

// common: run
  ++state.epoch;
  enter<<<1, 32, 0, stream>>>(state.comm);
  gather<<<kBlocks, 128, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                      context.ranks);
  all_arrived<<<1, 32, 0, stream>>>(state.flag_window, context.rank, context.ranks, state.epoch);
  return cudaGetLastError();
}

// cuco: evolve end
