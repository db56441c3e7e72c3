// SPDX-License-Identifier: Apache-2.0
// Puts between nodes: a world barrier says that everybody has entered, a signal per source that its
// rows have arrived, a flush that ours have left.
// common: multiply

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t windows[16];  // of the outputs, one per buffer set
  unsigned long long epoch;  // calls so far
};

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set], context.output_bytes[0],
                               &(*state)->windows[set], NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  ncclDevCommRequirements requirements{};
  requirements.barrierCount = 1;
  requirements.ginSignalCount = 16;
  return ncclDevCommCreate(context.comm, &requirements, &(*state)->comm) == ncclSuccess ? 0 : 2;
}

__global__ void gather(ncclDevComm comm,
                       ncclWindow_t out,
                       size_t bytes,
                       unsigned long long epoch) {
  ncclGin gin{comm, 0};
  ncclCoopCta block;
  ncclBarrierSession<ncclCoopCta> barrier(block, ncclTeamTagWorld(), gin, 0);
  barrier.sync(block, cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    if (peer == comm.rank) continue;
    gin.put(ncclTeamWorld(comm), peer, out, comm.rank * bytes, out, comm.rank * bytes, bytes,
            ncclGin_SignalInc{(ncclGinSignal_t)comm.rank});
  }
  for (int source = 0; source < comm.nRanks; ++source) {
    if (source != comm.rank) gin.waitSignal(block, (ncclGinSignal_t)source, epoch);
  }
  gin.flush(block);
}

// common: run
  ++state.epoch;
  gather<<<1, 32, 0, stream>>>(state.comm, state.windows[set], bytes, state.epoch);
  return cudaGetLastError();
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  for (int set = 0; set < state->context.sets; ++set) {
    ncclCommWindowDeregister(state->context.comm, state->windows[set]);
  }
  delete state;
}

// cuco: evolve end
