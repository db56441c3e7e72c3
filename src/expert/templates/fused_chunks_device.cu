constexpr size_t kChunkBytes = (size_t){{chunk_kib}} << 10;
constexpr int kMaxChunks = 256;

// The all-gather, from inside the producing kernel. This rank's rows are cut into chunks of whole
// block rows. The block that completes a chunk copies it to every peer and raises the chunk's flag
// there; the block that has sent the last chunk waits for the peers' flags. Flags hold the number
// of the launch, so that nothing has to be reset and no flag of an earlier launch can be taken for
// this one's.
struct Gather {
  ncclDevComm comm;
  ncclWindow_t output;
  ncclWindow_t flags;  // on every rank: entered[rank], then arrived[rank][chunk]
  unsigned*
      counters;       // on this rank: tiles done per chunk, then chunks sent; zero between launches
  const char* slice;  // this rank's rows, where the kernel stores them
  size_t offset;      // of the slice in the output, in bytes
  size_t row_bytes;
  int rows;
  unsigned launch;  // 1, 2, 3, … the same on every rank
};

{{flags}}

__device__ unsigned* entered(const Gather& g, int at, int from) {
  return (unsigned*)ncclGetLsaPointer(g.flags, from * sizeof(unsigned), at);
}

__device__ unsigned* arrived(const Gather& g, int at, int from, int chunk, int chunks) {
  const size_t word = g.comm.lsaSize + (size_t)from * chunks + chunk;
  return (unsigned*)ncclGetLsaPointer(g.flags, word * sizeof(unsigned), at);
}

// Tells the peers that this rank's output may be written: the stream has ended all its earlier
// uses.
__device__ void announce_launch(const Gather& g) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < g.comm.lsaSize) {
    raise(entered(g, threadIdx.x, g.comm.lsaRank), g.launch);
  }
}

// Copies bytes [begin, end) of the slice to every peer. Called by the whole block.
__device__ void send(const Gather& g, size_t begin, size_t end) {
  if (threadIdx.x < g.comm.lsaSize) await(entered(g, g.comm.lsaRank, threadIdx.x), g.launch);
  __syncthreads();
  for (size_t at = begin + threadIdx.x * sizeof(uint4); at < end;
       at += blockDim.x * sizeof(uint4)) {
    const uint4 v = *(const uint4*)(g.slice + at);
    for (int i = 1; i < g.comm.lsaSize; ++i) {
      const int peer = (g.comm.lsaRank + i) % g.comm.lsaSize;
      *(uint4*)ncclGetLsaPointer(g.output, g.offset + at, peer) = v;
    }
  }
  __syncthreads();
}

// A chunk is so many block rows: at least one, and no more chunks than there are flags.
__device__ int block_rows_per_chunk(const Gather& g, int tile_rows) {
  const int wanted = (int)(kChunkBytes / (tile_rows * g.row_bytes));
  const int least = (gridDim.y + kMaxChunks - 1) / kMaxChunks;
  return max(max(wanted, least), 1);
}

// Called by the whole block when it has stored its tile: rows [blockIdx.y * tile_rows, …) of the
// slice.
__device__ void finish_tile(const Gather& g, int tile_rows) {
  __shared__ bool last;
  const int block_rows = block_rows_per_chunk(g, tile_rows);
  const int chunk = blockIdx.y / block_rows;
  const int chunks = (gridDim.y + block_rows - 1) / block_rows;
  const int first = chunk * block_rows;
  const int count = min(block_rows, (int)gridDim.y - first);

  __syncthreads();
  if (threadIdx.x == 0) {
    DeviceCounter tiles(g.counters[chunk]);
    last = tiles.fetch_add(1, cuda::memory_order_acq_rel) == count * gridDim.x - 1;
    if (last) tiles.store(0, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (!last) return;

  const size_t end = min((first + count) * tile_rows, g.rows);
  send(g, (size_t)first * tile_rows * g.row_bytes, end * g.row_bytes);
  const int rank = g.comm.lsaRank;
  if (threadIdx.x < g.comm.lsaSize) {
    raise(arrived(g, threadIdx.x, rank, chunk, chunks), g.launch);
  }
  if (threadIdx.x == 0) {
    DeviceCounter sent(g.counters[chunks]);
    last = sent.fetch_add(1, cuda::memory_order_acq_rel) == chunks - 1;
    if (last) sent.store(0, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (!last) return;
  for (int i = threadIdx.x; i < g.comm.lsaSize * chunks; i += blockDim.x) {
    await(arrived(g, rank, i / chunks, i % chunks, chunks), g.launch);
  }
}
