constexpr int kGatherBlocks = {{blocks}};
constexpr int kGatherThreads = 512;

// Copies this rank's slice of the output to the same place on every peer. The first barrier says
// that every peer has entered this step, so that its copy may be overwritten; the second one, that
// all slices have arrived. Barrier i belongs to block i of every rank.
__global__ void __launch_bounds__(kGatherThreads) gather_slices(ncclDevComm comm,
                                                                ncclWindow_t output,
                                                                size_t offset,
                                                                size_t bytes) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(block, cuda::memory_order_acq_rel);

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

  barrier.sync(block, cuda::memory_order_acq_rel);
}
