constexpr int kMaxChunks = 1;  // the whole slice has one flag

// The all-gather, from inside the producing kernel: every tile is stored straight into all ranks'
// copies of the output. The last block of the grid tells the peers that this rank's tiles are there
// and waits for theirs. Flags hold the number of the launch, so that nothing has to be reset and no
// flag of an earlier launch can be taken for this one's.
struct Gather {
  ncclDevComm comm;
  ncclWindow_t output;
  ncclWindow_t flags;  // on every rank: entered[rank], then arrived[rank]
  unsigned* counters;  // on this rank: tiles done; zero between launches
  size_t offset;       // of this rank's slice in the output, in bytes
  unsigned launch;     // 1, 2, 3, … the same on every rank
};

{{flags}}

__device__ unsigned* entered(const Gather& g, int at, int from) {
  return (unsigned*)ncclGetLsaPointer(g.flags, from * sizeof(unsigned), at);
}

__device__ unsigned* arrived(const Gather& g, int at, int from) {
  return (unsigned*)ncclGetLsaPointer(g.flags, (g.comm.lsaSize + from) * sizeof(unsigned), at);
}

// This rank's slice in the i-th copy; each rank begins with its own and goes on with its
// neighbour's.
template <typename T>
__device__ T* slice_in_copy(const Gather& g, int i) {
  return (T*)ncclGetLsaPointer(g.output, g.offset, (g.comm.lsaRank + i) % g.comm.lsaSize);
}

// Returns when every rank has entered this launch, so that its copy may be written. Its own earlier
// uses were ended by the stream.
__device__ void enter_launch(const Gather& g) {
  if (threadIdx.x < g.comm.lsaSize) {
    if (blockIdx.x == 0 && blockIdx.y == 0) {
      raise(entered(g, threadIdx.x, g.comm.lsaRank), g.launch);
    }
    await(entered(g, g.comm.lsaRank, threadIdx.x), g.launch);
  }
  __syncthreads();
}

// Called by the whole block when it has stored its tile everywhere.
__device__ void finish_tile(const Gather& g) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    // Each block's stores are on their way out to the peers before it counts itself done.
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system);
    DeviceCounter tiles(*g.counters);
    last = tiles.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x * gridDim.y - 1;
    if (last) tiles.store(0, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (last && threadIdx.x < g.comm.lsaSize) {
    raise(arrived(g, threadIdx.x, g.comm.lsaRank), g.launch);
    await(arrived(g, g.comm.lsaRank, threadIdx.x), g.launch);
  }
}
