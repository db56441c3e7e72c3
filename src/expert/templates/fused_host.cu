// What the kernels need to reach the peers, made once.
struct GatherResources {
  ncclDevComm comm;
  ncclWindow_t* outputs;  // one window per buffer set
  void* flags;
  ncclWindow_t flags_window;
  unsigned* counters;
  unsigned launches;
};

int make_gather(const cuco_context& context, GatherResources* gather) {
  gather->outputs = new ncclWindow_t[context.sets];
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set * context.n_outputs],
                               context.output_bytes[0], &gather->outputs[set],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 10;
    }
  }
  const size_t flag_bytes = (1 + kMaxChunks) * context.ranks * sizeof(unsigned);
  const size_t counter_bytes = (kMaxChunks + 1) * sizeof(unsigned);
  if (ncclMemAlloc(&gather->flags, flag_bytes) != ncclSuccess) return 11;
  if (cudaMalloc(&gather->counters, counter_bytes) != cudaSuccess) return 12;
  cudaMemset(gather->flags, 0, flag_bytes);
  cudaMemset(gather->counters, 0, counter_bytes);
  // The flags are zero on every rank before any rank can launch: the calls below are collective.
  if (cudaDeviceSynchronize() != cudaSuccess) return 13;
  if (ncclCommWindowRegister(context.comm, gather->flags, flag_bytes, &gather->flags_window,
                             NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
    return 14;
  }
  const ncclDevCommRequirements requirements{};
  return ncclDevCommCreate(context.comm, &requirements, &gather->comm) == ncclSuccess ? 0 : 15;
}

void free_gather(const cuco_context& context, GatherResources& gather) {
  ncclDevCommDestroy(context.comm, &gather.comm);
  ncclCommWindowDeregister(context.comm, gather.flags_window);
  ncclMemFree(gather.flags);
  cudaFree(gather.counters);
  for (int set = 0; set < context.sets; ++set) {
    ncclCommWindowDeregister(context.comm, gather.outputs[set]);
  }
  delete[] gather.outputs;
}

{{begin_gather}}
