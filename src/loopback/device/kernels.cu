// SPDX-License-Identifier: Apache-2.0
// Loopback's own kernels: copies of the modelled NIC, fills, and host-driven collectives. A
// collective runs on the multiprocessors of its rank, as NCCL's does: block b of a rank meets block
// b of the others, so that blocks which are not resident yet keep nobody waiting.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "loopback/device/kernel_args.h"
#include "loopback/device/parcel.h"

namespace cuco::loopback {
namespace {

template <typename T>
__device__ T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

__device__ std::uint32_t load_flag(const std::uint32_t* flag) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__device__ std::uint64_t load_word(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ void store_word(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ void store_flag(std::uint32_t* flag, std::uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// Spins until `ready`, or until the communicator is aborted; false then.
template <typename Ready>
__device__ bool wait(const CommView& view, Ready ready) {
  for (std::uint32_t spins = 1; !ready(); ++spins) {
    if (spins % 4096 == 0 && *at<volatile std::uint32_t>(view.abort) != 0) return false;
  }
  return true;
}

/// Copies with all threads of `blocks` blocks; sixteen bytes at a time where both ends allow it.
__device__ void copy_bytes(
    Address to, Address from, std::uint64_t bytes, unsigned block, unsigned blocks) {
  const std::uint64_t stride = std::uint64_t{blocks} * blockDim.x;
  const std::uint64_t first = std::uint64_t{block} * blockDim.x + threadIdx.x;
  if (((to ^ from) & 15U) != 0) {
    if (((to | from | bytes) & 3U) == 0) {
      for (std::uint64_t i = first; i < bytes / 4; i += stride)
        at<std::uint32_t>(to)[i] = __ldcg(at<std::uint32_t>(from) + i);
      return;
    }
    for (std::uint64_t i = first; i < bytes; i += stride)
      at<std::uint8_t>(to)[i] = __ldcg(at<std::uint8_t>(from) + i);
    return;
  }
  std::uint64_t head = (16 - (to & 15U)) & 15U;
  if (head > bytes) head = bytes;
  const std::uint64_t lines = (bytes - head) / 16;
  const std::uint64_t tail = head + lines * 16;
  if (first < head) at<std::uint8_t>(to)[first] = __ldcg(at<std::uint8_t>(from) + first);
  if (first < bytes - tail)
    at<std::uint8_t>(to + tail)[first] = __ldcg(at<std::uint8_t>(from + tail) + first);
  const uint4* source = at<const uint4>(from + head);
  uint4* target = at<uint4>(to + head);
  constexpr int kUnroll = 8;
  std::uint64_t i = first;
  for (; i + (kUnroll - 1) * stride < lines; i += kUnroll * stride) {
    uint4 held[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
      held[k] = __ldcg(source + i + k * stride);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
      target[i + k * stride] = held[k];
  }
  for (; i < lines; i += stride)
    target[i] = __ldcg(source + i);
}

/// Whether this block is the last of its kernel, by a counter that is zero again afterwards.
__device__ bool is_last(Address ticket, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    last = blocks == 1;
    if (!last) {
      __threadfence();
      last = atomicAdd(at<std::uint32_t>(ticket), 1) == blocks - 1;
      if (last) *at<volatile std::uint32_t>(ticket) = 0;
      __threadfence();
    }
  }
  __syncthreads();
  return last;
}

// ---- the courier ----

constexpr std::uint64_t kMostAhead = 100'000;
constexpr std::uint64_t kIdle = 100'000;
constexpr unsigned kNap = 2'000;

__device__ std::uint64_t device_time() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// What has been copied is seen before what announces it; nobody outside this GPU reads either.
__device__ void announce(const CopyJob& job) {
  if (job.signal != 0) atomicAdd_system(at<unsigned long long>(job.signal), job.signal_add);
  if (job.counter != 0) atomicAdd_system(at<unsigned long long>(job.counter), 1ULL);
  if (job.piece != 0) atomicAdd(at<std::uint32_t>(job.piece), 1U);
  if (job.credit != 0) *at<volatile std::uint32_t>(job.credit) = job.credit_value;
}

/// The parcels from `first` on that have come, up to kParcelsAtOnce, read by one warp.
__device__ unsigned read_parcels(const Parcel* ring, std::uint64_t first, Parcel* into) {
  constexpr unsigned kPieces = sizeof(Parcel) / 16;
  const unsigned which = threadIdx.x / kPieces;
  const unsigned piece = threadIdx.x % kPieces;
  const std::uint64_t number = first + which;
  const std::uint64_t* from = &ring[number % kParcels].word[2 * piece];
  std::uint64_t low, high;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"(from)
               : "memory");
  into[which].word[2 * piece] = low;
  into[which].word[2 * piece + 1] = high;
  const unsigned whole = __ballot_sync(~0U, piece % 2 == 0 || high == number);
  unsigned count = 0;
  while (count < kParcelsAtOnce && (whole >> (count * kPieces) & 0xFFU) == 0xFFU)
    ++count;
  return count;
}

/// Whether other blocks have copied all of a parcel's payload. The same answer for all threads.
__device__ bool has_pieces(const CourierArgs& args, unsigned wanted, std::uint64_t number) {
  std::uint32_t* count =
      at<std::uint32_t>(args.pieces) + std::size_t{blockIdx.x} * kParcels + number % kParcels;
  const bool mine = threadIdx.x != 0 || load_flag(count) >= wanted;
  if (!__syncthreads_and(mine)) return false;
  if (threadIdx.x == 0) atomicExch(count, 0U);
  return true;
}

/// Copies the bytes of `count` parcels after number `before`, then announces them in order, each when
/// it is due. How many it did: a parcel that wants to be alone waits for those before it.
__device__ unsigned deliver(const CourierArgs& args,
                            const Parcel* parcels,
                            unsigned count,
                            std::uint64_t before) {
  unsigned done = 0;
  for (bool goes_on = true; goes_on && done < count; ++done) {
    const DecodedParcel parcel = decode(parcels[done]);
    if (done != 0 && parcel.is_alone) break;
    if (parcel.pieces != 0 && !has_pieces(args, parcel.pieces, before + 1 + done)) break;
    const CopyJob& job = parcel.job;
    if (job.source != 0) {
      copy_bytes(job.destination, job.source, job.bytes, 0, 1);
    } else if (threadIdx.x < job.bytes) {
      at<volatile std::uint8_t>(job.destination)[threadIdx.x] =
          static_cast<std::uint8_t>(job.value >> (8 * threadIdx.x));
    }
    goes_on = !parcel.is_alone;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const Receipt* receipts = at<const Receipt>(args.receipts) + std::size_t{blockIdx.x} * kParcels;
    for (unsigned i = 0; i < done; ++i) {
      const DecodedParcel parcel = decode(parcels[i]);
      std::uint64_t now = device_time();
      // Further ahead it would be the host that errs about the clock.
      const bool waits = parcel.due < now + kMostAhead;
      while (waits && now < parcel.due)
        now = device_time();
      announce(parcel.job);
      const std::uint64_t number = before + 1 + i;
      asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(&receipts[number % kParcels]),
                   "l"(number), "l"(now)
                   : "memory");
    }
  }
  __syncthreads();
  return done;
}

// ---- arithmetic ----

template <typename T>
struct Number {
  using Sum = T;
  static __device__ Sum load(T value) { return value; }
  static __device__ T store(Sum value) { return value; }
  static constexpr bool kIsFloat = false;
};
// Unsigned arithmetic wraps; the result's bits are the same.
template <>
struct Number<float> {
  using Sum = float;
  static __device__ float load(float value) { return value; }
  static __device__ float store(float value) { return value; }
  static constexpr bool kIsFloat = true;
};
template <>
struct Number<double> {
  using Sum = double;
  static __device__ double load(double value) { return value; }
  static __device__ double store(double value) { return value; }
  static constexpr bool kIsFloat = true;
};
template <>
struct Number<__half> {
  using Sum = float;
  static __device__ float load(__half value) { return __half2float(value); }
  static __device__ __half store(float value) { return __float2half_rn(value); }
  static constexpr bool kIsFloat = true;
};
template <>
struct Number<__nv_bfloat16> {
  using Sum = float;
  static __device__ float load(__nv_bfloat16 value) { return __bfloat162float(value); }
  static __device__ __nv_bfloat16 store(float value) { return __float2bfloat16_rn(value); }
  static constexpr bool kIsFloat = true;
};
template <>
struct Number<__nv_fp8_e4m3> {
  using Sum = float;
  static __device__ float load(__nv_fp8_e4m3 value) { return static_cast<float>(value); }
  static __device__ __nv_fp8_e4m3 store(float value) { return __nv_fp8_e4m3(value); }
  static constexpr bool kIsFloat = true;
};
template <>
struct Number<__nv_fp8_e5m2> {
  using Sum = float;
  static __device__ float load(__nv_fp8_e5m2 value) { return static_cast<float>(value); }
  static __device__ __nv_fp8_e5m2 store(float value) { return __nv_fp8_e5m2(value); }
  static constexpr bool kIsFloat = true;
};

enum Op : std::uint32_t { kSum, kProd, kMax, kMin, kAvg, kPreMulSum };
enum Kind : std::uint32_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kRecv,
};

template <typename Sum>
__device__ Sum larger(Sum a, Sum b) {
  return a > b ? a : b;
}
template <typename Sum>
__device__ Sum smaller(Sum a, Sum b) {
  return a < b ? a : b;
}
// A NaN loses against a number.
__device__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ float smaller(float a, float b) { return fminf(a, b); }
__device__ double larger(double a, double b) { return fmax(a, b); }
__device__ double smaller(double a, double b) { return fmin(a, b); }

template <typename Sum>
__device__ Sum fold(std::uint32_t op, Sum a, Sum b) {
  switch (op) {
    case kProd:
      return a * b;
    case kMax:
      return larger(a, b);
    case kMin:
      return smaller(a, b);
    default:
      return a + b;
  }
}

/// What the blocks of a rank know of each other rank, in shared memory.
struct Peers {
  CallSlot slot[kMaxRanks];
};

template <typename T>
__device__ T reduce_one(const Peers& peers,
                        const CollectiveArgs& args,
                        std::uint64_t element,
                        typename Number<T>::Sum inverse) {
  using Sum = typename Number<T>::Sum;
  Sum total{};
  for (int rank = 0; rank < args.view.ranks; ++rank) {
    Sum value = Number<T>::load(at<const T>(peers.slot[rank].send)[element]);
    if (args.op == kPreMulSum) {
      value = value * Number<T>::load(*reinterpret_cast<const T*>(&peers.slot[rank].scalar));
    } else if (args.op == kAvg && Number<T>::kIsFloat) {
      value = value * inverse;
    }
    total = rank == 0 ? value : fold<Sum>(args.op, total, value);
  }
  if (args.op == kAvg && !Number<T>::kIsFloat) total = total / static_cast<Sum>(args.view.ranks);
  return Number<T>::store(total);
}

/// Reduces elements [first, last) of every rank's input.
template <typename T, typename Write>
__device__ void reduce_range(const Peers& peers,
                             const CollectiveArgs& args,
                             std::uint64_t first,
                             std::uint64_t last,
                             Write write) {
  using Sum = typename Number<T>::Sum;
  Sum inverse{};
  if constexpr (Number<T>::kIsFloat) {
    inverse = Number<T>::load(Number<T>::store(static_cast<Sum>(1.0 / args.view.ranks)));
  }
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = first + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < last;
       i += stride) {
    write(i, reduce_one<T>(peers, args, i, inverse));
  }
}

/// The part of `rank` when `count` elements are divided among the ranks.
__device__ std::uint64_t part(std::uint64_t count, int rank, int ranks) {
  return count / ranks * rank + (count % ranks * rank) / ranks;
}

/// Bytes of this rank and of a peer change places; the lower rank does both.
__device__ void exchange(const CallSlot& mine,
                         const CallSlot& theirs,
                         std::uint64_t my_block,
                         std::uint64_t their_block,
                         std::uint64_t bytes) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < bytes;
       i += stride) {
    const std::uint8_t to_them = *at<volatile std::uint8_t>(mine.send + their_block * bytes + i);
    const std::uint8_t to_me = *at<volatile std::uint8_t>(theirs.send + my_block * bytes + i);
    *at<volatile std::uint8_t>(mine.recv + their_block * bytes + i) = to_me;
    *at<volatile std::uint8_t>(theirs.recv + my_block * bytes + i) = to_them;
  }
}

__device__ void all_to_all(const Peers& peers, const CollectiveArgs& args, std::uint64_t bytes) {
  const int me = args.view.rank;
  const CallSlot& mine = peers.slot[me];
  for (int step = 0; step < args.view.ranks; ++step) {
    const int peer = (me + step) % args.view.ranks;
    const CallSlot& theirs = peers.slot[peer];
    const bool in_place = mine.send == mine.recv || theirs.send == theirs.recv;
    if (!in_place || peer == me) {
      const Address from = theirs.send + me * bytes;
      const Address to = mine.recv + peer * bytes;
      if (from != to) copy_bytes(to, from, bytes, blockIdx.x, gridDim.x);
    } else if (me < peer) {
      exchange(mine, theirs, me, peer, bytes);
    }
  }
}

/// Every kind moves what this rank is responsible for; nobody reads what another rank writes.
template <typename T>
__device__ void move(const Peers& peers, const CollectiveArgs& args) {
  const int me = args.view.rank;
  const int ranks = args.view.ranks;
  const std::uint64_t bytes = args.count * args.element;
  const auto copy = [&](Address to, Address from) {
    if (to != from) copy_bytes(to, from, bytes, blockIdx.x, gridDim.x);
  };
  switch (args.kind) {
    case kAllReduce:
    case kReduce:
      reduce_range<T>(peers, args, part(args.count, me, ranks), part(args.count, me + 1, ranks),
                      [&](std::uint64_t i, T value) {
                        if (args.kind == kReduce) {
                          at<T>(peers.slot[args.root].recv)[i] = value;
                          return;
                        }
                        for (int rank = 0; rank < ranks; ++rank)
                          at<T>(peers.slot[rank].recv)[i] = value;
                      });
      break;
    case kReduceScatter: {
      const std::uint64_t first = args.count * me;
      reduce_range<T>(peers, args, first, first + args.count, [&](std::uint64_t i, T value) {
        at<T>(peers.slot[me].recv)[i - first] = value;
      });
      break;
    }
    case kBroadcast:
      copy(peers.slot[me].recv, peers.slot[args.root].send);
      break;
    case kAllGather:
      for (int rank = 0; rank < ranks; ++rank)
        copy(peers.slot[(me + rank) % ranks].recv + me * bytes, peers.slot[me].send);
      break;
    case kAllToAll:
      all_to_all(peers, args, bytes);
      break;
    case kGather:
      copy(peers.slot[args.root].recv + me * bytes, peers.slot[me].send);
      break;
    case kScatter:
      copy(peers.slot[me].recv, peers.slot[args.root].send + me * bytes);
      break;
    default:
      break;
  }
}

/// Meets the same block of all ranks. `target` grows by one with every meeting.
__device__ bool meet(const CommView& view, std::uint32_t target) {
  __shared__ bool all;
  __syncthreads();
  std::uint32_t* flags = at<std::uint32_t>(view.flags) + blockIdx.x * view.ranks;
  if (threadIdx.x == 0) {
    all = true;
    __threadfence();
    store_flag(flags + view.rank, target);
  }
  __syncthreads();
  if (threadIdx.x < view.ranks) {
    const bool came = wait(view, [&] {
      return static_cast<std::int32_t>(load_flag(flags + threadIdx.x) - target) >= 0;
    });
    if (!came) all = false;
  }
  __syncthreads();
  __threadfence();
  return all;
}

/// Tells the host; the host's answer may take as long as a network would.
__device__ void post_event(const CommView& view, Event event) {
  std::uint64_t* sequence = at<std::uint64_t>(view.sequences) + view.rank;
  const std::uint64_t number = ++*sequence;
  std::uint64_t* consumed = at<std::uint64_t>(view.consumed) + view.rank;
  // The host must not be overrun; it is asked seldom, as that is slow.
  if (number % 256 == 0) {
    wait(view, [&] { return number - load_word(consumed) < kEventRing / 2; });
  }
  Event* slot =
      at<Event>(view.events) + std::uint64_t(view.rank) * kEventRing + number % kEventRing;
  slot->number = event.number;
  slot->bytes = event.bytes;
  slot->kind = event.kind;
  slot->peer = event.peer;
  __threadfence_system();
  store_word(&slot->sequence, number);
}

__device__ void await_release(const CommView& view) {
  const std::uint64_t number = *at<volatile std::uint64_t>(view.sequences + view.rank * 8ULL);
  wait(view, [&] {
    return load_word(at<std::uint64_t>(view.released) + view.rank) >= number;
  });
  store_word(at<std::uint64_t>(view.finished) + view.rank, number);
}

template <typename T>
__device__ void collective(const CollectiveArgs& args) {
  __shared__ Peers peers;
  const CommView& view = args.view;
  if (view.ranks == 0) return;  // A launch that only loads the kernel.
  std::uint32_t* epoch =
      at<std::uint32_t>(view.epochs) + view.rank * kMaxBlocks + blockIdx.x;
  const std::uint32_t base = *at<volatile std::uint32_t>(view.epochs +
                                 (view.rank * kMaxBlocks + blockIdx.x) * sizeof(std::uint32_t));
  CallSlot* slots = at<CallSlot>(view.slots) + blockIdx.x * view.ranks;
  if (threadIdx.x == 0) {
    CallSlot mine{args.send, args.recv, args.scalar};
    if (args.scalar_address != 0) {
      std::uint64_t scalar = 0;
      for (unsigned i = 0; i < args.element; ++i)
        scalar |= std::uint64_t{at<volatile std::uint8_t>(args.scalar_address)[i]} << (8 * i);
      mine.scalar = scalar;
    }
    slots[view.rank] = mine;
  }
  if (!meet(view, base + 1)) return;
  // The network's time begins now, not when our own copying is done.
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const std::uint64_t number = ++at<std::uint64_t>(view.numbers)[view.rank];
    post_event(view, {0, number, args.count * args.element, args.kind, args.root});
  }
  if (threadIdx.x < view.ranks) {
    const volatile CallSlot& theirs = slots[threadIdx.x];
    peers.slot[threadIdx.x] = CallSlot{theirs.send, theirs.recv, theirs.scalar};
  }
  __syncthreads();
  if (args.count != 0) move<T>(peers, args);
  if (!meet(view, base + 2)) return;
  if (threadIdx.x == 0) *epoch = base + 2;
  if (!is_last(view.tickets + view.rank * sizeof(std::uint32_t), gridDim.x)) return;
  if (threadIdx.x == 0 && args.is_paced != 0) await_release(view);
}

/// A group's sends are posted first, so that receives may be waited for in order.
__device__ void post_sends(const PointArgs& args) {
  const CommView& view = args.view;
  for (std::uint32_t i = 0; i < args.ops; ++i) {
    const PointOp& op = args.op[i];
    if (op.is_send == 0) continue;
    const std::uint64_t channel = std::uint64_t(view.rank) * view.ranks + op.peer;
    const std::uint64_t sequence = at<std::uint64_t>(view.sent)[channel] + op.ordinal + 1;
    SendPost* post = at<SendPost>(view.posts) + channel * kPostRing + sequence % kPostRing;
    post->address = op.address;
    post->bytes = op.bytes;
    __threadfence();
    store_word(&post->sequence, sequence);
  }
}

__device__ bool receive(const PointArgs& args, const PointOp& op) {
  __shared__ SendPost found;
  __shared__ bool came;
  const CommView& view = args.view;
  const std::uint64_t channel = std::uint64_t(op.peer) * view.ranks + view.rank;
  const std::uint64_t sequence = at<std::uint64_t>(view.received)[channel] + op.ordinal + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    SendPost* post = at<SendPost>(view.posts) + channel * kPostRing + sequence % kPostRing;
    came = wait(view, [&] { return load_word(&post->sequence) == sequence; });
    found.address = *at<volatile Address>(reinterpret_cast<Address>(&post->address));
    found.bytes = *at<volatile Address>(reinterpret_cast<Address>(&post->bytes));
  }
  __syncthreads();
  if (!came) return false;
  const std::uint64_t bytes = found.bytes < op.bytes ? found.bytes : op.bytes;
  if (found.address != op.address)
    copy_bytes(op.address, found.address, bytes, blockIdx.x, gridDim.x - 1);
  return true;
}

/// One block copies nothing: it tells the host of each receive that has its send, in any order.
__device__ void watch_receives(const PointArgs& args) {
  if (threadIdx.x != 0) return;
  const CommView& view = args.view;
  // Shared, not local: local memory is what a launch may wait for all others for.
  __shared__ bool is_told[kOpsPerGroup];
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < args.ops; ++i) {
    is_told[i] = args.op[i].is_send != 0;
    if (!is_told[i]) ++left;
  }
  for (std::uint32_t spins = 1; left != 0; ++spins) {
    for (std::uint32_t i = 0; i < args.ops; ++i) {
      if (is_told[i]) continue;
      const PointOp& op = args.op[i];
      const std::uint64_t channel = std::uint64_t(op.peer) * view.ranks + view.rank;
      const std::uint64_t sequence = at<std::uint64_t>(view.received)[channel] + op.ordinal + 1;
      SendPost* post = at<SendPost>(view.posts) + channel * kPostRing + sequence % kPostRing;
      if (load_word(&post->sequence) != sequence) continue;
      post_event(view, {0, 0, op.bytes, kRecv, op.peer});
      is_told[i] = true;
      --left;
    }
    if (spins % 4096 == 0 && *at<volatile std::uint32_t>(view.abort) != 0) return;
  }
}

/// What the last block does: the network's time, acknowledgements, the next group's base.
__device__ void finish_points(const PointArgs& args) {
  const CommView& view = args.view;
  __threadfence_system();
  bool received = false;
  for (std::uint32_t i = 0; i < args.ops; ++i) {
    if (args.op[i].is_send == 0) received = true;
  }
  if (received && args.is_paced != 0) await_release(view);
  for (std::uint32_t i = 0; i < args.ops; ++i) {
    const PointOp& op = args.op[i];
    if (op.is_send != 0) continue;
    const std::uint64_t channel = std::uint64_t(op.peer) * view.ranks + view.rank;
    const std::uint64_t sequence = ++at<std::uint64_t>(view.received)[channel];
    store_word(at<std::uint64_t>(view.acknowledged) + channel, sequence);
  }
  for (std::uint32_t i = 0; i < args.ops; ++i) {
    const PointOp& op = args.op[i];
    if (op.is_send == 0) continue;
    const std::uint64_t channel = std::uint64_t(view.rank) * view.ranks + op.peer;
    const std::uint64_t sequence = ++at<std::uint64_t>(view.sent)[channel];
    wait(view, [&] {
      return load_word(at<std::uint64_t>(view.acknowledged) + channel) >= sequence;
    });
  }
}

}  // namespace
}  // namespace cuco::loopback

using namespace cuco::loopback;  // NOLINT(google-build-using-namespace): entry points only.

// Two of them, and blocks of the courier, fit on a multiprocessor: a copy never waits for the courier.
extern "C" __global__ void __launch_bounds__(512, 2) cuco_loopback_copy(CopyArgs args) {
  copy_bytes(args.destination, args.source, args.bytes, blockIdx.x, gridDim.x);
  if (args.ticket == 0) return;
  __threadfence();
  if (!is_last(args.ticket, gridDim.x) || threadIdx.x != 0) return;
  if (args.done != 0) store_word(at<std::uint64_t>(args.done), args.done_value);
}

// A block for each lane. It ends after a while, so that what waits for all kernels is not kept
// waiting; the next one goes on where it stopped.
extern "C" __global__ void __launch_bounds__(256, 4) cuco_loopback_courier(CourierArgs args) {
  __shared__ Parcel parcels[kParcelsAtOnce];
  __shared__ unsigned came[2];
  __shared__ bool ends[2];
  if (args.parcels == 0) return;  // A launch that only loads the kernel.
  const Parcel* ring = at<const Parcel>(args.parcels) + std::size_t{blockIdx.x} * kParcels;
  std::uint64_t* next = at<std::uint64_t>(args.next) + blockIdx.x;
  std::uint64_t done = *next;
  const std::uint64_t begin = device_time();
  std::uint64_t last = begin;
  for (unsigned round = 0;; round ^= 1U) {
    if (threadIdx.x < 32) {
      // Who has nothing to do leaves the bus to others.
      if (device_time() - last > kIdle) __nanosleep(kNap);
      const unsigned count = read_parcels(ring, done + 1, parcels);
      if (threadIdx.x == 0) {
        const std::uint64_t now = device_time();
        came[round] = count;
        ends[round] = now - begin > args.nanoseconds;
        if (blockIdx.x == 0) *at<volatile std::uint64_t>(args.beat) = now;
      }
    }
    __syncthreads();
    const unsigned count = came[round];
    const bool ending = ends[round];
    if (count != 0) {
      done += deliver(args, parcels, count, done);
      last = device_time();
    }
    if (ending) break;
  }
  if (threadIdx.x != 0) return;
  *next = done;
  if (blockIdx.x == 0) store_word(at<std::uint64_t>(args.ended), args.turn);
}

extern "C" __global__ void __launch_bounds__(512) cuco_loopback_fill(FillArgs args) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (((args.destination | args.bytes) & 15U) == 0) {
    const std::uint32_t word = args.value * 0x01010101U;
    for (std::uint64_t i = first; i < args.bytes / 16; i += stride)
      at<uint4>(args.destination)[i] = make_uint4(word, word, word, word);
    return;
  }
  for (std::uint64_t i = first; i < args.bytes; i += stride)
    at<std::uint8_t>(args.destination)[i] = static_cast<std::uint8_t>(args.value);
}

extern "C" __global__ void __launch_bounds__(512)
    cuco_loopback_points(const __grid_constant__ PointArgs args) {
  if (args.view.ranks == 0) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) post_sends(args);
  if (blockIdx.x == gridDim.x - 1) {
    watch_receives(args);
  } else {
    for (std::uint32_t i = 0; i < args.ops; ++i) {
      if (args.op[i].is_send == 0 && !receive(args, args.op[i])) return;
    }
  }
  __threadfence();
  if (is_last(args.view.tickets + args.view.rank * sizeof(std::uint32_t), gridDim.x) &&
      threadIdx.x == 0) {
    finish_points(args);
  }
}

// One kernel per data type, in NCCL's order.
#define CUCO_LOOPBACK_COLLECTIVE(number, type)                                     \
  extern "C" __global__ void __launch_bounds__(512)                                \
      cuco_loopback_collective_##number(const __grid_constant__ CollectiveArgs args) { \
    collective<type>(args);                                                        \
  }
CUCO_LOOPBACK_COLLECTIVE(0, std::int8_t)
CUCO_LOOPBACK_COLLECTIVE(1, std::uint8_t)
CUCO_LOOPBACK_COLLECTIVE(2, std::int32_t)
CUCO_LOOPBACK_COLLECTIVE(3, std::uint32_t)
CUCO_LOOPBACK_COLLECTIVE(4, std::int64_t)
CUCO_LOOPBACK_COLLECTIVE(5, std::uint64_t)
CUCO_LOOPBACK_COLLECTIVE(6, __half)
CUCO_LOOPBACK_COLLECTIVE(7, float)
CUCO_LOOPBACK_COLLECTIVE(8, double)
CUCO_LOOPBACK_COLLECTIVE(9, __nv_bfloat16)
CUCO_LOOPBACK_COLLECTIVE(10, __nv_fp8_e4m3)
CUCO_LOOPBACK_COLLECTIVE(11, __nv_fp8_e5m2)

// The driver gives kernels local memory when one first needs so much, and waits for all others
// then. These ask for it before a rank spins.
#define CUCO_LOOPBACK_LOCAL(bytes)                                                      \
  extern "C" __global__ void cuco_loopback_local_##bytes(std::uint32_t* out, int n) {   \
    volatile std::uint8_t memory[bytes];                                                \
    for (int i = 0; i < n; ++i)                                                         \
      memory[(i * 7) % (bytes)] = static_cast<std::uint8_t>(i);                         \
    std::uint32_t sum = 0;                                                              \
    for (int i = 0; i < n; ++i)                                                         \
      sum += memory[(i * 13) % (bytes)];                                                \
    if (n > 0) *out = sum;                                                              \
  }
CUCO_LOOPBACK_LOCAL(4096)
CUCO_LOOPBACK_LOCAL(16384)
CUCO_LOOPBACK_LOCAL(65536)
