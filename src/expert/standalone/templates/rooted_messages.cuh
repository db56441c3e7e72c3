// One rank sends to all or receives from all: messages, as in a group of sends and receives.
inline ncclResult_t gather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  const auto at_root = [=](int p, int rank) {
    return rank == root ? (char*)to + p * bytes : nullptr;
  };
  return exchange_bytes([=](int p, int) { return p == root ? from : nullptr; }, at_root, bytes,
                        comm, stream);
}
inline ncclResult_t scatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  const auto at_root = [=](int p, int rank) {
    return rank == root ? (const char*)from + p * bytes : nullptr;
  };
  return exchange_bytes(at_root, [=](int p, int) { return p == root ? to : nullptr; }, bytes, comm,
                        stream);
}
