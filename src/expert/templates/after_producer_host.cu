{{infrastructure}}

// Sends `bytes` bytes at `offset` of this set's output to the same place on every rank.
ncclResult_t all_gather(
    const Gather& gather, int set, size_t offset, size_t bytes, cudaStream_t stream) {
  if (offset % sizeof(uint4) != 0 || bytes % sizeof(uint4) != 0) return ncclInvalidArgument;
  gather_slices<<<kGatherBlocks, kGatherThreads, 0, stream>>>(gather.comm, gather.outputs[set],
                                                              offset, bytes);
  return cudaGetLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
