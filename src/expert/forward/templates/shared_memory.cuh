// Of the communicator of the current device: its ranks write into each other's memory.
inline Forwarding* forwarding_here() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
  Communicator* communicator = Communicators::all().on(device);
  return communicator == nullptr ? nullptr : &communicator->forwarding;
}
inline std::set<void*>& shared_memory() {
  static thread_local std::set<void*> memory;
  return memory;
}

// In the place of cudaMalloc(), for memory that peers write. Collective.
template <typename T>
cudaError_t malloc_shared(T** memory, size_t bytes) {
  Forwarding* forwarding = forwarding_here();
  void* made = nullptr;
  if (forwarding == nullptr || forwarding->allocate(&made, bytes) != ncclSuccess)
    return cudaErrorMemoryAllocation;
  shared_memory().insert(made);
  *memory = (T*)made;
  return cudaSuccess;
}
// In the place of cudaFree(). Shared memory goes when its communicator does: then no peer is at it.
inline cudaError_t free_shared(void* memory) {
  return shared_memory().count(memory) > 0 ? cudaSuccess : cudaFree(memory);
}

// Lets peers write a buffer that is symmetric memory already. Collective.
inline ncclResult_t comm_share(ncclComm_t comm, void* memory, size_t bytes) {
  Communicator* communicator = Communicators::all().find(comm);
  return communicator == nullptr ? ncclInvalidArgument
                                 : communicator->forwarding.share(memory, bytes);
}
