constexpr size_t kChunkBytes = (size_t){{chunk_kib}} << 10;
constexpr int kSendBlocks = {{blocks}};
constexpr int kSendThreads = 512;

{{meet}}

// Copies finished rows of this rank's slice to the same place on every peer.
__global__ void __launch_bounds__(kSendThreads) send_rows(ncclDevComm comm,
                                                          ncclWindow_t output,
                                                          size_t offset,
                                                          size_t bytes) {
  const size_t step = (size_t)gridDim.x * blockDim.x * sizeof(uint4);
  for (size_t at = (blockIdx.x * blockDim.x + threadIdx.x) * sizeof(uint4); at < bytes;
       at += step) {
    const uint4 v = *(const uint4*)ncclGetLocalPointer(output, offset + at);
    // Each rank begins with its neighbour, so that no receiver is everybody's first.
    for (int i = 1; i < comm.lsaSize; ++i) {
      const int peer = (comm.lsaRank + i) % comm.lsaSize;
      *(uint4*)ncclGetLsaPointer(output, offset + at, peer) = v;
    }
  }
}
