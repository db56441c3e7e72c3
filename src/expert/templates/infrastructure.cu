// What the kernels need to reach the peers: a window over each set's output, and the communicator.
struct Gather {
  ncclDevComm comm;
  ncclWindow_t* outputs;
};

int make_gather(const cuco_context& context, Gather* gather) {
  gather->outputs = new ncclWindow_t[context.sets];
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set * context.n_outputs],
                               context.output_bytes[0], &gather->outputs[set],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 10;
    }
  }
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = {{barriers}};
  return ncclDevCommCreate(context.comm, &requirements, &gather->comm) == ncclSuccess ? 0 : 11;
}

void free_gather(const cuco_context& context, Gather& gather) {
  ncclDevCommDestroy(context.comm, &gather.comm);
  for (int set = 0; set < context.sets; ++set) {
    ncclCommWindowDeregister(context.comm, gather.outputs[set]);
  }
  delete[] gather.outputs;
}
