// Collectives that move bytes are messages where they are planned.
inline bool is_forwarded(ncclComm_t comm) {
  if (is_planning()) return true;
  const Communicator* communicator = Communicators::all().find(comm);
  return communicator != nullptr && communicator->forwarding.is_planned();
}

inline ncclResult_t all_gather_as_messages(const void* from, void* to, size_t bytes,
                                           ncclComm_t comm, cudaStream_t stream) {
  return exchange_bytes([=](int, int) { return from; },
                        [=](int p, int) { return (char*)to + p * bytes; }, bytes, comm, stream);
}
inline ncclResult_t all_to_all_as_messages(const void* from, void* to, size_t bytes,
                                           ncclComm_t comm, cudaStream_t stream) {
  return exchange_bytes([=](int p, int) { return (const char*)from + p * bytes; },
                        [=](int p, int) { return (char*)to + p * bytes; }, bytes, comm, stream);
}
inline ncclResult_t broadcast_as_messages(const void* from, void* to, size_t bytes, int root,
                                          ncclComm_t comm, cudaStream_t stream) {
  return exchange_bytes([=](int, int rank) { return rank == root ? from : nullptr; },
                        [=](int p, int) { return p == root ? to : nullptr; }, bytes, comm, stream);
}
