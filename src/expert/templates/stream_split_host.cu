// Sends rows to the peers on a stream of its own while the next ones are being computed.
struct Gather {
  ncclDevComm comm;
  ncclWindow_t* outputs;  // one window per buffer set
  cudaStream_t stream;
  cudaEvent_t begun, computed, arrived;
  int sms;

  ncclWindow_t output;  // of the set that is being worked on
  size_t offset;        // of this rank's slice in it
  size_t row_bytes;
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
  requirements.lsaBarrierCount = 1;
  if (ncclDevCommCreate(context.comm, &requirements, &gather->comm) != ncclSuccess) return 11;
  if (cudaStreamCreateWithFlags(&gather->stream, cudaStreamNonBlocking) != cudaSuccess) return 12;
  for (cudaEvent_t* event : {&gather->begun, &gather->computed, &gather->arrived}) {
    if (cudaEventCreateWithFlags(event, cudaEventDisableTiming) != cudaSuccess) return 13;
  }
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 14;
  return cudaDeviceGetAttribute(&gather->sms, cudaDevAttrMultiProcessorCount, device) == cudaSuccess
             ? 0
             : 14;
}

void free_gather(const cuco_context& context, Gather& gather) {
  for (cudaEvent_t event : {gather.begun, gather.computed, gather.arrived})
    cudaEventDestroy(event);
  cudaStreamDestroy(gather.stream);
  ncclDevCommDestroy(context.comm, &gather.comm);
  for (int set = 0; set < context.sets; ++set) {
    ncclCommWindowDeregister(context.comm, gather.outputs[set]);
  }
  delete[] gather.outputs;
}

// The peers' copies may be overwritten once all ranks have entered this step.
void begin_gather(Gather& gather, int set, size_t offset, size_t row_bytes, cudaStream_t stream) {
  gather.output = gather.outputs[set];
  gather.offset = offset;
  gather.row_bytes = row_bytes;
  cudaEventRecord(gather.begun, stream);
  cudaStreamWaitEvent(gather.stream, gather.begun, 0);
  meet<<<1, 32, 0, gather.stream>>>(gather.comm);
}

// Rows [first, last) are computed as far as `stream` goes.
void send_when_computed(Gather& gather, int first, int last, cudaStream_t stream) {
  cudaEventRecord(gather.computed, stream);
  cudaStreamWaitEvent(gather.stream, gather.computed, 0);
  send_rows<<<kSendBlocks, kSendThreads, 0, gather.stream>>>(
      gather.comm, gather.output, gather.offset + first * gather.row_bytes,
      (last - first) * gather.row_bytes);
}

// Whatever follows on `stream` sees all ranks' rows.
ncclResult_t end_gather(Gather& gather, cudaStream_t stream) {
  meet<<<1, 32, 0, gather.stream>>>(gather.comm);
  cudaEventRecord(gather.arrived, gather.stream);
  cudaStreamWaitEvent(stream, gather.arrived, 0);
  return cudaGetLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
