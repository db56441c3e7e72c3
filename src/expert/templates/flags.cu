using SystemFlag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
using DeviceCounter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

// Everything this block has stored before its last barrier is there for whoever sees the flag.
__device__ void raise(unsigned* flag, unsigned launch) {
  SystemFlag(*flag).store(launch, cuda::memory_order_release);
}

__device__ void await(unsigned* flag, unsigned launch) {
  SystemFlag word(*flag);
  while ((int)(word.load(cuda::memory_order_acquire) - launch) < 0) {
  }
}
