// begin cudaMalloc
template <typename T>
cudaError_t known_malloc(T** pointer, size_t bytes) {
  const cudaError_t result = cudaMalloc(pointer, bytes);
  if (result == cudaSuccess) Allocations::all().add(*pointer, bytes);
  return result;
}
// end
// begin cudaFree
inline cudaError_t known_free(void* pointer) {
  Allocations::all().remove(pointer);
  return cudaFree(pointer);
}
// end
// begin cudaMemcpyAsync
inline cudaError_t lane_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                             cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, kind, lane(stream, reads(from), writes(to)));
}
// end
// begin cudaMemsetAsync
inline cudaError_t lane_fill(void* to, int value, size_t bytes, cudaStream_t stream = nullptr) {
  return cudaMemsetAsync(to, value, bytes, lane(stream, writes(to)));
}
// end
// begin ncclGroupStart
inline ncclResult_t lane_group_start() { return Exchanges::all().start(); }
// end
// begin ncclGroupEnd
inline ncclResult_t lane_group_end() { return Exchanges::all().end(); }
// end
// begin given buffers
// In set-up: the buffers that the program is given are known, and the lanes are there before
// anything is captured.
template <typename Context>
void lanes_open(const Context& context) {
  for (int i = 0; i < context.sets * context.n_inputs; ++i)
    Allocations::all().add(context.inputs[i], context.input_bytes[i % context.n_inputs]);
  for (int i = 0; i < context.sets * context.n_outputs; ++i)
    Allocations::all().add(context.outputs[i], context.output_bytes[i % context.n_outputs]);
  LaneSets::all().give_back(LaneSets::all().take());
}
// In teardown, when all work is done.
inline void lanes_close() { LaneSets::all().destroy(); }
// end
// begin sends
// What a kernel does that sends what it stores, beside what its arguments say. Peers may write what
// is received here as soon as one such kernel runs. Those of one exchange are no hazard to each
// other, but all communication before it is one: a kernel that waits for peers must not keep from the
// GPU what the peers wait for.
inline Touches sends() {
  Touches touches;
  const Forwarding* planned = planned_here();
  if (planned == nullptr) return touches;
  const uintptr_t together = (uintptr_t)planned->comm();
  touches.list.push_back({Exchanges::order(), true, together});
  for (const Message& message : planned->planned().receives) {
    if (message.bytes == 0) continue;
    touches.add(message.data, true);
    touches.list.back().together = together;
  }
  return touches;
}
// Memory that peers write. All ranks are there when it is made, and nothing else is going on.
template <typename T>
cudaError_t known_malloc_shared(T** pointer, size_t bytes) {
  Lanes::join_all();
  const cudaError_t before = cudaDeviceSynchronize();
  if (before != cudaSuccess) return before;
  const cudaError_t result = malloc_shared(pointer, bytes);
  if (result == cudaSuccess) Allocations::all().add(*pointer, bytes);
  return result;
}
inline cudaError_t known_free_shared(void* pointer) {
  Allocations::all().remove(pointer);
  return free_shared(pointer);
}
// end
// begin cudaStreamSynchronize
inline cudaError_t lane_synchronize(cudaStream_t stream) {
  Lanes::of(stream).join();
  return cudaStreamSynchronize(stream);
}
// end
// begin cudaStreamDestroy
inline cudaError_t lane_destroy(cudaStream_t stream) {
  Lanes::of(stream).join();
  return cudaStreamDestroy(stream);
}
// end
// begin cudaEventRecord
inline cudaError_t lane_record(cudaEvent_t event, cudaStream_t stream = nullptr) {
  Lanes::of(stream).join();
  return cudaEventRecord(event, stream);
}
// end
// begin cudaStreamWaitEvent
inline cudaError_t lane_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0) {
  Lanes::of(stream).join();
  return cudaStreamWaitEvent(stream, event, flags);
}
// end
// begin cudaMemcpy
inline cudaError_t lane_copy_now(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Lanes::join_all();
  return cudaMemcpy(to, from, bytes, kind);
}
// end
// begin cudaMemset
inline cudaError_t lane_fill_now(void* to, int value, size_t bytes) {
  Lanes::join_all();
  return cudaMemset(to, value, bytes);
}
// end
