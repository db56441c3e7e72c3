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
