// Collectives that move bytes are messages where they are planned.
inline bool is_forwarded(ncclComm_t comm) {
  if (is_planning()) return true;
  const Communicator* communicator = Communicators::all().find(comm);
  return communicator != nullptr && communicator->forwarding.is_planned();
}

// to(p) and from(p): where the message for and the one of a rank begins; nothing: there is none.
template <typename To, typename From>
ncclResult_t exchange_bytes(To to, From from, size_t bytes, ncclComm_t comm, cudaStream_t stream) {
  Communicator* communicator = Communicators::all().find(comm);
  if (communicator == nullptr) return ncclInvalidArgument;
  const ncclResult_t started = group_start();
  if (started != ncclSuccess) return started;
  for (int p = 0; p < communicator->site.comm.nRanks; ++p) {
    const void* leaves = to(p, communicator->site.comm.rank);
    void* arrives = from(p, communicator->site.comm.rank);
    if (leaves != nullptr) (void)send(leaves, bytes, ncclUint8, p, comm, stream);
    if (arrives != nullptr) (void)recv(arrives, bytes, ncclUint8, p, comm, stream);
  }
  return group_end();
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
