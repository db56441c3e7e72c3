// SPDX-License-Identifier: Apache-2.0
// Bulk copies are on their way until somebody has waited for them: for the phase of their mbarrier, or
// for their group. They go to memory another way than stores, so that a fence.proxy.async belongs
// between the two. What changes while a kernel runs is not for the read-only cache, and a flag for
// the cluster is one for the block where clusters have one block.
//
// CASE in none
// CASE in_not_waited shared-race
// CASE in_expects_half shared-race
// CASE in_second_not_waited shared-race
// CASE in_told_free none
// CASE in_told_free_early global-race
// CASE through none
// CASE through_not_waited shared-race
// CASE out none
// CASE out_reused shared-race
// CASE out_reused_after_read none
// CASE out_announced_after_read global-race
// CASE out_announced_at_once global-race
// CASE out_waited_by_another global-race
// CASE stored_fenced none
// CASE stored_unfenced shared-race
// CASE stored_fenced_before shared-race
// CASE stored_fenced_elsewhere shared-race
// CASE stored_fenced_by_copier none
// CASE overwrites none
// CASE overwrites_unfenced shared-race
// CASE in_stored_fenced none
// CASE in_stored_unfenced global-race
// CASE reduced none
// CASE reduced_not_waited global-race
// CASE reduced_beside_store global-race
// CASE reduced_stored_fenced none
// CASE reduced_stored_unfenced global-race
// CASE out_stored_fenced none
// CASE out_stored_unfenced global-race
// CASE plain_read none
// CASE read_only_read global-race
// CASE device_scope none
// CASE cluster_scope global-race
#include <cuda/atomic>

#include "case.h"

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr unsigned kWords = 256;
constexpr unsigned kBytes = 4 * kWords;

__device__ unsigned shared_address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

struct Barrier {
  unsigned long long bits;

  __device__ void init() {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(this)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __device__ void expect(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(this)), "r"(bytes)
                 : "memory");
  }
  __device__ void wait(unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(shared_address(this)), "r"(parity)
                   : "memory");
    }
  }
};

__device__ void copy_in(void* to, const void* from, unsigned bytes, Barrier& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}

__device__ void copy_out(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

enum In { Waits, Never, ExpectsHalf, Once };

// Two tiles through one place in shared memory.
__global__ void fetch(const unsigned* from, unsigned* out, In way) {
  __shared__ __align__(16) unsigned tile[kWords];
  __shared__ Barrier barrier;
  const unsigned thread = threadIdx.x;
  if (thread == 0) barrier.init();
  __syncthreads();
  for (unsigned round = 0; round < 2; ++round) {
    if (thread == 0) {
      const unsigned part = way == ExpectsHalf ? kBytes / 2 : kBytes;
      barrier.expect(part);
      for (unsigned at = 0; at < kBytes; at += part)
        copy_in(tile + at / 4, from + round * kWords + at / 4, part, barrier);
    }
    if (way == Waits || way == ExpectsHalf || (way == Once && round == 0)) barrier.wait(round);
    out[round * kWords + thread] = tile[thread];
    __syncthreads();
  }
  if (way == Never || way == Once) barrier.wait(1);
}

// One block copies, and tells the other one that the source may be overwritten.
__global__ void tell_free(unsigned* from, unsigned* flag, unsigned* out, bool waits) {
  __shared__ __align__(16) unsigned tile[kWords];
  __shared__ Barrier barrier;
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 1) {
    if (thread == 0) {
      while (Flag(*flag).load(cuda::memory_order_acquire) != 1) {}
    }
    __syncthreads();
    from[thread] = thread;
    return;
  }
  if (thread == 0) {
    barrier.init();
    barrier.expect(kBytes);
    copy_in(tile, from, kBytes, barrier);
    if (waits) barrier.wait(0);
    Flag(*flag).store(1, cuda::memory_order_release);
  }
  __syncthreads();
  barrier.wait(0);
  out[thread] = tile[thread];
}

// From memory to memory, through shared memory.
__global__ void through(const unsigned* from, unsigned* to, bool waits) {
  __shared__ __align__(16) unsigned tile[kWords];
  __shared__ Barrier barrier;
  if (threadIdx.x != 0) return;
  barrier.init();
  barrier.expect(kBytes);
  copy_in(tile, from, kBytes, barrier);
  if (waits) barrier.wait(0);
  copy_out(to, tile, kBytes);
  if (!waits) barrier.wait(0);
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

enum Out { WaitsForAll, Reuses, ReusesAfterRead, AnnouncesAfterRead, AnnouncesAtOnce, WaitsElsewhere };

__global__ void send(unsigned* to, unsigned* flag, unsigned* out, Out way) {
  __shared__ __align__(16) unsigned tile[kWords];
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 1) {
    if (thread == 0) {
      while (Flag(*flag).load(cuda::memory_order_acquire) != 1) {}
    }
    __syncthreads();
    out[thread] = to[thread];
    return;
  }
  tile[thread] = thread;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (thread == 0) {
    copy_out(to, tile, kBytes);
    if (way == ReusesAfterRead || way == AnnouncesAfterRead) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    if (way == WaitsForAll) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  if (way == WaitsElsewhere && thread == 1) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  __syncthreads();
  if (way == Reuses || way == ReusesAfterRead) tile[thread] = 0;
  if (thread != 0) return;
  if (way == Reuses || way == ReusesAfterRead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  Flag(*flag).store(1, cuda::memory_order_release);
}

enum Fence { Behind, Nowhere, Before, Elsewhere, OfCopier };

// What threads store to shared memory goes on as a bulk copy.
__global__ void stored(unsigned* to, Fence way) {
  __shared__ __align__(16) unsigned tile[kWords];
  const unsigned thread = threadIdx.x;
  if (way == Before) asm volatile("fence.proxy.async;" ::: "memory");
  tile[thread] = thread;
  if (way == Behind) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (way == Elsewhere) asm volatile("fence.proxy.async.global;" ::: "memory");
  __syncthreads();
  if (thread != 0) return;
  if (way == OfCopier) asm volatile("fence.proxy.async;" ::: "memory");
  copy_out(to, tile, kBytes);
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// A bulk copy to shared memory that threads have stored to, and from memory that they have.
__global__ void refill(unsigned* data, unsigned* out, bool in_shared, bool fences) {
  __shared__ __align__(16) unsigned tile[kWords];
  __shared__ Barrier barrier;
  const unsigned thread = threadIdx.x;
  if (thread == 0) barrier.init();
  if (in_shared) {
    tile[thread] = 1;
    __syncthreads();
    out[thread] = tile[kWords - 1 - thread];
  } else {
    data[thread] = thread;
  }
  if (fences) asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (thread == 0) {
    barrier.expect(kBytes);
    copy_in(tile, data, kBytes, barrier);
  }
  barrier.wait(0);
  out[kWords + thread] = tile[thread];
}

__device__ void reduce_out(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

enum Sum { Waited, NotWaited, BesideStore };

// Two blocks add to the same words; the one that ends last reads the sums.
__global__ void sums(unsigned* to, unsigned* ended, unsigned* out, Sum way) {
  __shared__ __align__(16) unsigned tile[kWords];
  __shared__ bool last;
  const unsigned thread = threadIdx.x;
  tile[thread] = thread;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (way == BesideStore && blockIdx.x == 1) {
    to[thread] = 0;
  } else if (thread == 0) {
    reduce_out(to, tile, kBytes);
    if (way != NotWaited) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  if (thread == 0) last = Flag(*ended).fetch_add(1, cuda::memory_order_acq_rel) == 1;
  __syncthreads();
  if (last) out[thread] = to[thread];
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// What threads have stored to global memory is added to, or overwritten, by a bulk copy.
__global__ void stored_target(unsigned* to, bool reduces, bool fences) {
  __shared__ __align__(16) unsigned tile[kWords];
  const unsigned thread = threadIdx.x;
  tile[thread] = thread;
  to[thread] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (fences) asm volatile("fence.proxy.async.global;" ::: "memory");
  __syncthreads();
  if (thread != 0) return;
  if (reduces) {
    reduce_out(to, tile, kBytes);
  } else {
    copy_out(to, tile, kBytes);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void pass(unsigned* data, const unsigned* same, unsigned* flag, unsigned* out, bool constant, bool cluster) {
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 0) {
    data[thread] = thread;
    __syncthreads();
    if (thread != 0) return;
    if (cluster) {
      asm volatile("st.release.cluster.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
      Flag(*flag).store(1, cuda::memory_order_release);
    }
    return;
  }
  if (thread == 0) {
    while (Flag(*flag).load(cuda::memory_order_acquire) != 1) {}
  }
  __syncthreads();
  out[thread] = constant ? __ldg(same + thread) : data[thread];
}

int main(int argc, char** argv) {
  Case which(argc, argv);
  unsigned *data, *flag, *out;
  cudaMalloc(&data, 2 * kBytes);
  cudaMalloc(&out, 2 * kBytes);
  cudaMalloc(&flag, sizeof(unsigned));
  cudaMemset(data, 1, 2 * kBytes);
  cudaMemset(flag, 0, sizeof(unsigned));
  if (which.is("in")) fetch<<<1, kWords>>>(data, out, Waits);
  if (which.is("in_not_waited")) fetch<<<1, kWords>>>(data, out, Never);
  if (which.is("in_expects_half")) fetch<<<1, kWords>>>(data, out, ExpectsHalf);
  if (which.is("in_second_not_waited")) fetch<<<1, kWords>>>(data, out, Once);
  if (which.is("in_told_free")) tell_free<<<2, kWords>>>(data, flag, out, true);
  if (which.is("in_told_free_early")) tell_free<<<2, kWords>>>(data, flag, out, false);
  if (which.is("through")) through<<<1, 32>>>(data, out, true);
  if (which.is("through_not_waited")) through<<<1, 32>>>(data, out, false);
  if (which.is("out")) send<<<2, kWords>>>(data, flag, out, WaitsForAll);
  if (which.is("out_reused")) send<<<2, kWords>>>(data, flag, out, Reuses);
  if (which.is("out_reused_after_read")) send<<<2, kWords>>>(data, flag, out, ReusesAfterRead);
  if (which.is("out_announced_after_read")) send<<<2, kWords>>>(data, flag, out, AnnouncesAfterRead);
  if (which.is("out_announced_at_once")) send<<<2, kWords>>>(data, flag, out, AnnouncesAtOnce);
  if (which.is("out_waited_by_another")) send<<<2, kWords>>>(data, flag, out, WaitsElsewhere);
  if (which.is("stored_fenced")) stored<<<1, kWords>>>(data, Behind);
  if (which.is("stored_unfenced")) stored<<<1, kWords>>>(data, Nowhere);
  if (which.is("stored_fenced_before")) stored<<<1, kWords>>>(data, Before);
  if (which.is("stored_fenced_elsewhere")) stored<<<1, kWords>>>(data, Elsewhere);
  if (which.is("stored_fenced_by_copier")) stored<<<1, kWords>>>(data, OfCopier);
  if (which.is("overwrites")) refill<<<1, kWords>>>(data, out, true, true);
  if (which.is("overwrites_unfenced")) refill<<<1, kWords>>>(data, out, true, false);
  if (which.is("in_stored_fenced")) refill<<<1, kWords>>>(data, out, false, true);
  if (which.is("in_stored_unfenced")) refill<<<1, kWords>>>(data, out, false, false);
  if (which.is("reduced")) sums<<<2, kWords>>>(data, flag, out, Waited);
  if (which.is("reduced_not_waited")) sums<<<2, kWords>>>(data, flag, out, NotWaited);
  if (which.is("reduced_beside_store")) sums<<<2, kWords>>>(data, flag, out, BesideStore);
  if (which.is("reduced_stored_fenced")) stored_target<<<1, kWords>>>(data, true, true);
  if (which.is("reduced_stored_unfenced")) stored_target<<<1, kWords>>>(data, true, false);
  if (which.is("out_stored_fenced")) stored_target<<<1, kWords>>>(data, false, true);
  if (which.is("out_stored_unfenced")) stored_target<<<1, kWords>>>(data, false, false);
  if (which.is("plain_read")) pass<<<2, kWords>>>(data, data, flag, out, false, false);
  if (which.is("read_only_read")) pass<<<2, kWords>>>(data, data, flag, out, true, false);
  if (which.is("device_scope")) pass<<<2, kWords>>>(data, data, flag, out, false, false);
  if (which.is("cluster_scope")) pass<<<2, kWords>>>(data, data, flag, out, false, true);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaFree(data);
  cudaFree(out);
  cudaFree(flag);
  return which.end();
}
