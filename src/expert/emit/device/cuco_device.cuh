// SPDX-License-Identifier: Apache-2.0
// Exchanges between GPUs that the GPUs start themselves, over NCCL's device API (2.28 or newer).
// It needs nvcc and NCCL's headers, nothing else. All uses of NCCL's device API are in this file.
//
// The idea. Block b of a kernel and the blocks b of the same kernel on the other ranks are a
// CHANNEL. On every rank a channel owns, for each peer,
//   a count of the rounds that it has done with that peer,
//   a flag that says which round the peer has announced; the peer alone writes it,
//   two boxes for what the peer sends, used in turn.
// A round is: put() into peers' boxes, send() announces it, receive() waits for their announcement,
// then the boxes are read, and done() ends it. A round without data is a barrier: meet().
//
// Why that is safe, over calls of any size, iterations and replays of a graph:
// - Box r % 2 is written in round r, when the peer has announced round r - 1. It does so after it
//   has read what came in round r - 2. Who has waited in round r - 1 knows that. Who has not waited
//   for all (data went one way) says so, and the next one to put calls catch_up() or ready() first.
// - Announcements count up and are never reset; "not before round r" is a signed difference, so
//   old ones never stand in for new ones and counts may wrap around.
// - Counts are in device memory, not in arguments: the replay of a graph goes on where it was.
// - Channels do not depend on each other, so calls may use different numbers of blocks.
// What the program owes: all ranks make the same calls of a site in the same order with the same
// counts, one at a time, and the grid's blocks are resident at once (at most Site::channels).
#pragma once

#include <vector>

#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>

namespace cuco {

constexpr int kMaxRanks = 64;  // what a channel keeps in shared memory is that long

enum class Path {
  Lsa,       // loads and stores into peers' memory: all ranks in one node
  Gin,       // puts and signals through the network card: any ranks
  Hybrid,    // Lsa inside a node, Gin between nodes
  Multimem,  // Lsa, with stores to all ranks and sums over all ranks done by the switch
};

// What one call site owns. Kernels get it by value; nothing in it changes between launches.
struct Site {
  ncclDevComm comm;
  ncclWindow_t window;  // symmetric memory: flags[channel][source], in-boxes, out-boxes
  unsigned* rounds;     // [channel][peer], on this rank
  unsigned* counters;   // [channel + 1], on this rank: for last_of(); then behind[channel]
  int channels;         // blocks that may take part
  size_t box;           // bytes of a box, a multiple of 16
  ncclComm_t host_comm;
  void* memory;  // behind the window
};

__host__ __device__ inline size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }

// Blocks for a call that moves so many bytes to each peer. The same on all ranks, as `bytes` is.
__host__ __device__ inline int blocks_for(const Site& site, size_t bytes) {
  const size_t most = site.channels, wanted = divide_up(bytes, 8 << 10);
  if (wanted >= most) return site.channels;
  return wanted == 0 ? 1 : (int)wanted;
}

// ---- vectors of 16 bytes -----------------------------------------------------------------------

template <typename T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T at[kSize];
};

__device__ inline unsigned thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }

__device__ inline bool aligned(const void* p) { return (size_t)p % 16 == 0; }

// Pack i of `count` elements. Any alignment; what is behind the end is zero.
template <typename T>
__device__ Pack<T> load(const T* from, size_t i, size_t count) {
  constexpr int kSize = Pack<T>::kSize;
  if (aligned(from) && (i + 1) * kSize <= count) return ((const Pack<T>*)from)[i];
  Pack<T> pack;
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    pack.at[k] = i * kSize + k < count ? from[i * kSize + k] : T(0);
  }
  return pack;
}

template <typename T>
__device__ void store(T* to, size_t i, size_t count, const Pack<T>& pack) {
  constexpr int kSize = Pack<T>::kSize;
  if (aligned(to) && (i + 1) * kSize <= count) {
    ((Pack<T>*)to)[i] = pack;
    return;
  }
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    if (i * kSize + k < count) to[i * kSize + k] = pack.at[k];
  }
}

template <typename T>
__device__ size_t packs(size_t count) {
  return divide_up(count, Pack<T>::kSize);
}

// The longest of `ranks` slices of `count` elements that begin at multiples of 16 bytes.
template <typename T>
__device__ size_t slice_of(size_t count, int ranks) {
  return divide_up(packs<T>(count), ranks) * Pack<T>::kSize;
}

// By `step` threads, the whole block if nothing else is said, four loads in flight per thread. The
// buffers are apart or the same.
template <typename T>
__device__ void copy(T* to, const T* from, size_t count, unsigned first = thread(),
                     unsigned step = threads()) {
  if (to == from) return;
  constexpr int kUnroll = 4;
  size_t i = first;
  if (aligned(to) && aligned(from)) {
    // Nothing is asked of a pack that is known of all of them.
    const size_t whole = count / Pack<T>::kSize;
    Pack<T>* to_packs = (Pack<T>*)to;
    const Pack<T>* from_packs = (const Pack<T>*)from;
    for (; i + (kUnroll - 1) * step < whole; i += kUnroll * step) {
      Pack<T> pack[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) pack[u] = from_packs[i + u * step];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) to_packs[i + u * step] = pack[u];
    }
  }
  for (; i < packs<T>(count); i += step) store(to, i, count, load(from, i, count));
}

// ---- reductions --------------------------------------------------------------------------------

// Halves are added up as floats and rounded once.
template <typename T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<__half> {
  using type = float;
};
template <>
struct Accumulator<__nv_bfloat16> {
  using type = float;
};

struct Sum {
  template <typename A>
  static __device__ A combine(A a, A b) {
    return a + b;
  }
  template <typename A>
  static __device__ A finish(A a, int) {
    return a;
  }
};
struct Avg : Sum {
  template <typename A>
  static __device__ A finish(A a, int ranks) {
    return a / (A)ranks;
  }
};
struct Prod : Sum {
  template <typename A>
  static __device__ A combine(A a, A b) {
    return a * b;
  }
};
struct Min : Sum {
  template <typename A>
  static __device__ A combine(A a, A b) {
    return b < a ? b : a;
  }
};
struct Max : Sum {
  template <typename A>
  static __device__ A combine(A a, A b) {
    return a < b ? b : a;
  }
};

template <typename Op, typename T>
__device__ T finished(T value, int ranks) {
  using A = typename Accumulator<T>::type;
  return (T)Op::finish((A)value, ranks);
}

// ---- the switch reduces and copies -------------------------------------------------------------

// Stores 16 bytes at the same place on all ranks.
template <typename T>
__device__ void multimem_store(Pack<T>* to, const Pack<T>& pack) {
  const uint4 v = *(const uint4*)&pack;
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(to),
               "f"(__uint_as_float(v.x)), "f"(__uint_as_float(v.y)), "f"(__uint_as_float(v.z)),
               "f"(__uint_as_float(v.w))
               : "memory");
}

// The reduction of 16 bytes over all ranks, in the switch's order. Only the types and operations
// that are defined below; halves are added up as floats.
template <typename Op, typename T>
struct Switch;

#define CUCO_SWITCH_HALVES(OP, T, INSTRUCTION)                                                  \
  template <>                                                                                   \
  struct Switch<OP, T> {                                                                        \
    static __device__ Pack<T> load(const Pack<T>* from) {                                       \
      uint4 v;                                                                                  \
      asm volatile("multimem.ld_reduce.relaxed.sys.global." INSTRUCTION " {%0,%1,%2,%3}, [%4];" \
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                 \
                   : "l"(from)                                                                  \
                   : "memory");                                                                 \
      return *(Pack<T>*)&v;                                                                     \
    }                                                                                           \
  };
#define CUCO_SWITCH_EACH(OP, T, INSTRUCTION, REGISTER)                                 \
  template <>                                                                          \
  struct Switch<OP, T> {                                                               \
    static __device__ Pack<T> load(const Pack<T>* from) {                              \
      Pack<T> v;                                                                       \
      for (int k = 0; k < Pack<T>::kSize; ++k) {                                       \
        asm volatile("multimem.ld_reduce.relaxed.sys.global." INSTRUCTION " %0, [%1];" \
                     : "=" REGISTER(v.at[k])                                           \
                     : "l"(&from->at[k])                                               \
                     : "memory");                                                      \
      }                                                                                \
      return v;                                                                        \
    }                                                                                  \
  };
CUCO_SWITCH_HALVES(Sum, __half, "add.acc::f32.v4.f16x2")
CUCO_SWITCH_HALVES(Min, __half, "min.v4.f16x2")
CUCO_SWITCH_HALVES(Max, __half, "max.v4.f16x2")
CUCO_SWITCH_HALVES(Sum, __nv_bfloat16, "add.acc::f32.v4.bf16x2")
CUCO_SWITCH_HALVES(Min, __nv_bfloat16, "min.v4.bf16x2")
CUCO_SWITCH_HALVES(Max, __nv_bfloat16, "max.v4.bf16x2")
CUCO_SWITCH_EACH(Sum, double, "add.f64", "d")
CUCO_SWITCH_EACH(Sum, int, "add.s32", "r")
CUCO_SWITCH_EACH(Min, int, "min.s32", "r")
CUCO_SWITCH_EACH(Max, int, "max.s32", "r")
CUCO_SWITCH_EACH(Sum, unsigned, "add.u32", "r")
CUCO_SWITCH_EACH(Min, unsigned, "min.u32", "r")
CUCO_SWITCH_EACH(Max, unsigned, "max.u32", "r")
#undef CUCO_SWITCH_HALVES
#undef CUCO_SWITCH_EACH

template <>
struct Switch<Sum, float> {
  static __device__ Pack<float> load(const Pack<float>* from) {
    Pack<float> v;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
                 : "l"(from)
                 : "memory");
    return v;
  }
};
// The switch adds up; this rank divides.
template <typename T>
struct Switch<Avg, T> : Switch<Sum, T> {};

// ---- flags and counters ------------------------------------------------------------------------

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

// What the block stored before its last __syncthreads() is there for whoever sees the flag.
__device__ inline void raise(unsigned* flag, unsigned round) {
  Flag(*flag).store(round, cuda::memory_order_release);
}

// Let a __syncthreads() follow before other threads of the block read.
__device__ inline void await(unsigned* flag, unsigned round) {
  while ((int)(Flag(*flag).load(cuda::memory_order_acquire) - round) < 0) {
  }
}

// True in the last of `blocks` blocks to come here, for all its threads: it sees what the others
// stored, and so does whoever sees a flag that it raises. The counter goes back to 0 by itself.
__device__ inline bool last_of(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (thread() == 0) {
    __threadfence_system();
    last = atomicInc(counter, blocks - 1) == blocks - 1;
    __threadfence_system();
  }
  __syncthreads();
  return last;
}

// Where a buffer of the program lies in symmetric memory; the same on all ranks.
template <typename T>
struct Place {
  ncclWindow_t window;
  size_t offset;  // in bytes

  __device__ Place operator+(size_t elements) const {
    return {window, offset + elements * sizeof(T)};
  }
  __device__ T* here() const { return (T*)ncclGetLocalPointer(window, offset); }
};

// ---- channels ----------------------------------------------------------------------------------

struct Everyone {
  __device__ bool operator()(int) const { return true; }
};
struct Nothing {
  __device__ size_t operator()(int) const { return 0; }
};

// Ranks of one node reach each other's memory.
template <Path path>
__device__ bool reaches(const Site& site, int peer) {
  if constexpr (path == Path::Gin) return false;
  if constexpr (path == Path::Hybrid) {
    return peer / site.comm.lsaSize == site.comm.rank / site.comm.lsaSize;
  }
  return true;
}

// Where a peer of this node has byte `offset` of a window.
__device__ inline void* peer_pointer(const Site& site, ncclWindow_t window, size_t offset,
                                     int peer) {
  return ncclGetLsaPointer(window, offset, peer - (site.comm.rank - site.comm.lsaRank));
}

// Flag and signal `index` of a rank: one for each source.
__device__ inline int flag_number(const Site& site, int index, int source) {
  return index * site.comm.nRanks + source;
}

// Tells a peer, by one thread, that this rank is in the given round of `index`. Rounds go up by 1.
// What the block stored before its last __syncthreads() is there for whoever waits for it.
template <Path path>
__device__ void announce(const Site& site, int index, int peer, unsigned round) {
  const int number = flag_number(site, index, site.comm.rank);
  if (reaches<path>(site, peer)) {
    raise((unsigned*)peer_pointer(site, site.window, number * sizeof(unsigned), peer), round);
  } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
    const ncclGin gin(site.comm, index);
    gin.signal(ncclTeamWorld(site.comm), peer, ncclGin_SignalInc{(ncclGinSignal_t)number});
  }
}

// Waits, by one thread, for a peer's announcement of the round.
template <Path path>
__device__ void await_announced(const Site& site, int index, int peer, unsigned round) {
  const int number = flag_number(site, index, peer);
  if (reaches<path>(site, peer)) {
    await((unsigned*)ncclGetLocalPointer(site.window, number * sizeof(unsigned)), round);
  } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
    const ncclGin gin(site.comm, index);
    gin.waitSignal(ncclCoopThread(), number, round, 32);
  }
}

// The switch takes aligned packs only: what is left at the end goes by loads and stores.
template <typename T>
__device__ bool takes_pack(Place<T> place, size_t i, size_t count) {
  return place.offset % 16 == 0 && (i + 1) * Pack<T>::kSize <= count;
}
template <typename T>
__device__ Pack<T>* multimem_pointer(const Site& site, Place<T> place) {
  return (Pack<T>*)ncclGetLsaMultimemPointer(place.window, place.offset, site.comm);
}

// Pack i of `count` elements goes to the same place on all ranks of the node, this one included.
// Each rank begins with itself, so that no receiver is everybody's first.
template <Path path, typename T>
__device__ void store_everywhere(const Site& site, Place<T> to, size_t i, size_t count,
                                 const Pack<T>& pack) {
  if constexpr (path == Path::Multimem) {
    if (takes_pack(to, i, count)) {
      multimem_store(multimem_pointer(site, to) + i, pack);
      return;
    }
  }
  for (int k = 0; k < site.comm.nRanks; ++k) {
    const int p = (site.comm.rank + k) % site.comm.nRanks;
    if (p == site.comm.rank) {
      store(to.here(), i, count, pack);
    } else if (reaches<path>(site, p)) {
      store((T*)peer_pointer(site, to.window, to.offset, p), i, count, pack);
    }
  }
}

// Elements [begin, begin + count) of a buffer; `end` is that of the channel's part.
struct Range {
  size_t begin, count, end;
};

// All methods are called by the whole block. Peers are world ranks; this rank itself is never put
// to and never waited for.
template <Path path>
class Channel {
 public:
  __device__ explicit Channel(const Site& site, int index = blockIdx.x)
      : site_(site), index_(index) {
    for (int p = thread(); p < ranks(); p += threads()) rounds()[p] = *count_of(p);
    if (thread() == 0) is_behind() = *behind();
    __syncthreads();
  }

  __device__ int rank() const { return site_.comm.rank; }
  __device__ int ranks() const { return site_.comm.nRanks; }
  // Each rank begins with its neighbour, so that no receiver is everybody's first.
  __device__ int neighbour(int i) const { return (rank() + i) % ranks(); }

  // The part of `count` elements that this channel works on is cut into pieces of a box's size:
  //   for (auto piece = c.first<T>(n, blocks); piece.count > 0; piece = c.next<T>(piece)) …
  // Parts begin at multiples of 16 bytes.
  template <typename T>
  __device__ Range first(size_t count, int blocks) const {
    const size_t part = slice_of<T>(count, blocks);
    const size_t begin = min(index_ * part, count), end = min(begin + part, count);
    return {begin, min(end - begin, box_size<T>()), end};
  }
  template <typename T>
  __device__ Range next(const Range& piece) const {
    const size_t begin = piece.begin + piece.count;
    return {begin, min(piece.end - begin, box_size<T>()), piece.end};
  }
  template <typename T>
  __device__ size_t box_size() const {
    return site_.box / sizeof(T);
  }

  // Waits until the boxes at the peers are free. Needed where the round before did not receive()
  // from them.
  template <typename With = Everyone>
  __device__ void ready(With with = {}) {
    each_peer(with, [&](int p) { await_peer(p, rounds()[p]); });
    __syncthreads();
  }

  // The same for all peers, if a round before did not wait for all of them.
  __device__ void catch_up() {
    if (is_behind() == 0) return;
    ready();
    if (thread() == 0) is_behind() = *behind() = 0;
    __syncthreads();
  }
  // This round does not wait for all peers. To be called before done().
  __device__ void fall_behind() {
    if (thread() == 0) is_behind() = *behind() = 1;
  }

  // Copies elements into the box at one peer.
  template <typename T>
  __device__ void put(int peer, const T* from, size_t count) {
    same_for_all_ = false;
    copy(reachable(peer) ? (T*)peer_pointer(site_, site_.window, box_at(peer, rank()), peer)
                         : (T*)local(out_box(peer, peer)),
         from, count);
  }

  // Copies the same elements into the boxes at all peers; they are read once.
  template <typename T>
  __device__ void put_all(const T* from, size_t count) {
    put_all_packs<T>(count, [&](size_t i) { return load(from, i, count); });
  }

  // The same for values that are computed: value(i) is pack i.
  template <typename T, typename Value>
  __device__ void put_all_packs(size_t count, Value value) {
    same_for_all_ = true;
    for (size_t i = thread(); i < packs<T>(count); i += threads()) {
      const Pack<T> pack = value(i);
      if constexpr (path == Path::Multimem) {
        multimem_store(multimem<T>(rank()) + i, pack);
        continue;
      }
      bool far = false;
      for (int k = 1; k < ranks(); ++k) {
        const int p = neighbour(k);
        if (reachable(p)) {
          ((Pack<T>*)peer_pointer(site_, site_.window, box_at(p, rank()), p))[i] = pack;
        } else {
          far = true;
        }
      }
      if (far) ((Pack<T>*)local(out_box(neighbour(1), rank())))[i] = pack;
    }
  }

  // Announces the round to the peers; bytes(p) is what was put for peer p, which may be nothing.
  template <typename Bytes = Nothing, typename With = Everyone>
  __device__ void send(Bytes bytes = {}, With with = {}) {
    __syncthreads();  // all threads have stored
    each_peer(with, [&](int p) {
      if (reachable(p) || bytes(p) == 0) {
        announce<path>(site_, index_, p, rounds()[p] + 1);
      } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
        const ncclGin gin(site_.comm, index_);
        gin.put(ncclTeamWorld(site_.comm), p, site_.window, box_at(p, rank()), site_.window,
                out_box(p, same_for_all_ ? rank() : p), bytes(p),
                ncclGin_SignalInc{(ncclGinSignal_t)flag_number(site_, index_, rank())});
      }
    });
  }

  // Waits for the peers' announcement of the round: what they put is there.
  template <typename From = Everyone>
  __device__ void receive(From from = {}) {
    each_peer(from, [&](int p) { await_peer(p, rounds()[p] + 1); });
    __syncthreads();
  }

  // What the peer has put, until done().
  template <typename T>
  __device__ const T* box(int source) const {
    return (const T*)local(box_at(source, source));
  }

  template <typename With = Everyone>
  __device__ void done(With with = {}) {
    __syncthreads();  // all threads have read
    each_peer(with, [&](int p) { *count_of(p) = ++rounds()[p]; });
    __syncthreads();
  }

  // Everything that the blocks of this channel did before it, on any rank, comes before what they
  // do after it.
  __device__ void meet() {
    send();
    receive();
    done();
  }

  // The reduction of own pack i and the peers' packs i, in the order of ranks: the same bits on all
  // ranks and in every run. All loads are under way before the first is used.
  template <typename Op, typename T>
  __device__ Pack<T> reduce(const T* own, size_t i, size_t count) const {
    return reduce_packs<Op, T>(
        [&](int p) { return p == rank() ? load(own, i, count) : ((const Pack<T>*)box<T>(p))[i]; });
  }

  template <typename Op, typename T>
  __device__ void reduce_into(T* to, const T* own, size_t count) const {
    for (size_t i = thread(); i < packs<T>(count); i += threads()) {
      store(to, i, count, reduce<Op>(own, i, count));
    }
  }

  // The reduction of the boxes of `source` on all ranks, by the switch.
  template <typename Op, typename T>
  __device__ void reduce_by_switch(T* to, int source, size_t count) const {
    for (size_t i = thread(); i < packs<T>(count); i += threads()) {
      store(to, i, count, switched_pack<Op, T>(multimem<T>(source) + i));
    }
  }

  // The same with value(p) for rank p's pack.
  template <typename Op, typename T, typename Value>
  __device__ Pack<T> reduce_packs(Value value) const {
    using A = typename Accumulator<T>::type;
    constexpr int kAtOnce = 8;
    A sum[Pack<T>::kSize];
    for (int first = 0; first < ranks(); first += kAtOnce) {
      Pack<T> pack[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k < ranks()) pack[k] = value(first + k);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k >= ranks()) break;
#pragma unroll
        for (int e = 0; e < Pack<T>::kSize; ++e) {
          sum[e] = first + k == 0 ? (A)pack[k].at[e] : Op::combine(sum[e], (A)pack[k].at[e]);
        }
      }
    }
    Pack<T> result;
#pragma unroll
    for (int e = 0; e < Pack<T>::kSize; ++e) result.at[e] = (T)Op::finish(sum[e], ranks());
    return result;
  }

  // The box of `source` on all ranks at once, for the switch.
  template <typename T>
  __device__ Pack<T>* multimem(int source) const {
    return (Pack<T>*)ncclGetLsaMultimemPointer(site_.window, box_at(neighbour(1), source),
                                               site_.comm);
  }
  // The box of `source` on this rank, to be written by this rank: the switch reads it.
  template <typename T>
  __device__ T* own_box(int source) const {
    return (T*)local(box_at(neighbour(1), source));
  }

  // ---- buffers of the program that are symmetric memory

  // The part of `count` elements that this channel works on.
  template <typename T>
  __device__ Range part(size_t count, int blocks) const {
    const Range piece = first<T>(count, blocks);
    return {piece.begin, piece.end - piece.begin, piece.end};
  }

  template <typename T>
  __device__ T* at(Place<T> place, int peer) const {
    return (T*)peer_pointer(site_, place.window, place.offset, peer);
  }

  // Stores `count` elements, pack i of which is value(i), at the same place on all ranks.
  template <typename T, typename Value>
  __device__ void store_to_all(Place<T> to, size_t count, Value value) const {
    for (size_t i = thread(); i < packs<T>(count); i += threads()) {
      store_everywhere<path>(site_, to, i, count, value(i));
    }
  }

  // The reduction of all ranks' packs i of `count` elements.
  template <typename Op, typename T>
  __device__ Pack<T> reduced_pack(Place<T> from, size_t i, size_t count) const {
    if constexpr (path == Path::Multimem) {
      if (takes_pack(from, i, count))
        return switched_pack<Op, T>(multimem_pointer(site_, from) + i);
    }
    return reduce_packs<Op, T>([&](int p) { return load(at(from, p), i, count); });
  }
  template <typename Op, typename T>
  __device__ void reduce_from_all(T* to, Place<T> from, size_t count) const {
    for (size_t i = thread(); i < packs<T>(count); i += threads()) {
      store(to, i, count, reduced_pack<Op>(from, i, count));
    }
  }

  // Through the network, by one thread: elements to a peer; the thread's send() announces them.
  template <typename T>
  __device__ void put_directly(int peer, Place<T> to, Place<T> from, size_t count) const {
    if (count == 0) return;
    const ncclGin gin(site_.comm, index_);
    gin.put(ncclTeamWorld(site_.comm), peer, to.window, to.offset, from.window, from.offset,
            count * sizeof(T));
  }
  // The sources of all puts may be written again. By the threads that have put.
  __device__ void flush() {
    const ncclGin gin(site_.comm, index_);
    gin.flush(ncclCoopCta());
  }

  __device__ const Site& site() const { return site_; }

  __device__ bool reachable(int peer) const { return reaches<path>(site_, peer); }

  template <typename With, typename Action>
  __device__ void each_peer(With with, Action action) const {
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p != rank() && with(p)) action(p);
    }
  }

 private:
  static __device__ unsigned* rounds() {
    __shared__ unsigned words[kMaxRanks];
    return words;
  }
  static __device__ unsigned& is_behind() {
    __shared__ unsigned word;
    return word;
  }
  __device__ unsigned* count_of(int peer) const { return site_.rounds + index_ * ranks() + peer; }
  __device__ unsigned* behind() const { return site_.counters + site_.channels + 1 + index_; }

  // Offsets in the window. Box `of` that is in use with `peer`: this round's parity chooses it.
  __device__ size_t box_at(int peer, int of) const {
    const size_t half = (rounds()[peer] + 1) & 1;
    const size_t flags = divide_up((size_t)site_.channels * ranks() * sizeof(unsigned), 128) * 128;
    return flags + ((index_ * 2 + half) * ranks() + of) * site_.box;
  }
  __device__ size_t out_box(int peer, int of) const {
    return box_at(peer, of) + (size_t)site_.channels * 2 * ranks() * site_.box;
  }
  __device__ char* local(size_t offset) const {
    return (char*)ncclGetLocalPointer(site_.window, offset);
  }

  __device__ void await_peer(int p, unsigned round) const {
    await_announced<path>(site_, index_, p, round);
  }

  template <typename Op, typename T>
  __device__ Pack<T> switched_pack(const Pack<T>* from) const {
    Pack<T> pack = Switch<Op, T>::load(from);
#pragma unroll
    for (T& element : pack.at) element = finished<Op>(element, ranks());
    return pack;
  }

  const Site& site_;
  const int index_;
  bool same_for_all_ = false;  // send() takes the one out-box that put_all() has filled
};

// ---- messages between pairs ---------------------------------------------------------------------

// At most one message to each rank and one from each. The two ranks of a pair know both counts, so
// they agree on blocks, pieces and rounds.
template <typename T>
struct Messages {
  const T* to[kMaxRanks];
  T* from[kMaxRanks];
  size_t to_count[kMaxRanks], from_count[kMaxRanks];
  bool sends[kMaxRanks], receives[kMaxRanks];  // also where the count is 0

  __host__ __device__ size_t longest_with(int peer) const {
    return to_count[peer] < from_count[peer] ? from_count[peer] : to_count[peer];
  }
  __host__ size_t longest() const {
    size_t most = 0;
    for (int p = 0; p < kMaxRanks; ++p) most = most < longest_with(p) ? longest_with(p) : most;
    return most;
  }

  // The message of a rank to itself.
  __device__ void copy_own(int rank) const {
    const size_t part = slice_of<T>(to_count[rank], gridDim.x);
    const size_t begin = min(blockIdx.x * part, to_count[rank]);
    copy(from[rank] + begin, to[rank] + begin, min(part, to_count[rank] - begin));
  }

  template <typename C>
  __device__ int rounds_with(const C& channel, int peer) const {
    if (peer == channel.rank()) return 0;
    const Range longest = part_of(channel, longest_with(peer), peer);
    return (int)divide_up(longest.end - longest.begin, channel.template box_size<T>());
  }
  template <typename C>
  __device__ int rounds(const C& channel) const {
    int most = 0;
    for (int p = 0; p < channel.ranks(); ++p) most = max(most, rounds_with(channel, p));
    return most;
  }
  template <typename C>
  __device__ Range piece_to(const C& channel, int peer, int round) const {
    return piece(channel, part_of(channel, to_count[peer], peer), round);
  }
  template <typename C>
  __device__ Range piece_from(const C& channel, int peer, int round) const {
    return piece(channel, part_of(channel, from_count[peer], peer), round);
  }

 private:
  template <typename C>
  __device__ Range part_of(const C& channel, size_t count, int peer) const {
    const int blocks = blocks_for(channel.site(), longest_with(peer) * sizeof(T));
    return channel.template first<T>(count, blocks);
  }
  template <typename C>
  __device__ Range piece(const C& channel, const Range& part, int round) const {
    const size_t box = channel.template box_size<T>();
    const size_t begin = min(part.begin + round * box, part.end);
    return {begin, min(box, part.end - begin), part.end};
  }
};

// The host's list of a group's messages. The k-th message to a peer meets its k-th one from here.
template <typename T>
struct Group {
  std::vector<Messages<T>> messages;

  ncclResult_t send(const T* data, size_t count, int peer) {
    auto& m = next([&](const Messages<T>& m) { return m.sends[peer]; });
    m.sends[peer] = true;
    m.to[peer] = data;
    m.to_count[peer] = count;
    return ncclSuccess;
  }
  ncclResult_t receive(T* data, size_t count, int peer) {
    auto& m = next([&](const Messages<T>& m) { return m.receives[peer]; });
    m.receives[peer] = true;
    m.from[peer] = data;
    m.from_count[peer] = count;
    return ncclSuccess;
  }

 private:
  template <typename Taken>
  Messages<T>& next(Taken taken) {
    size_t k = 0;
    while (k < messages.size() && taken(messages[k])) ++k;
    if (k == messages.size()) messages.push_back({});
    return messages[k];
  }
};

// ---- the host's half ---------------------------------------------------------------------------

#define CUCO_CHECK(call)                                                          \
  do {                                                                            \
    if (const ncclResult_t bad = as_result(call); bad != ncclSuccess) return bad; \
  } while (false)
inline ncclResult_t as_result(ncclResult_t code) { return code; }
inline ncclResult_t as_result(cudaError_t code) {
  return code == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

struct Size {
  int channels;  // the most blocks of a call; each is one flag and four boxes a peer
  size_t box;    // bytes that a block sends to a peer in one round
};

inline ncclResult_t launched() { return as_result(cudaGetLastError()); }

// Back to the device that was current before.
class DeviceGuard {
 public:
  DeviceGuard() { cudaGetDevice(&device_); }
  ~DeviceGuard() { cudaSetDevice(device_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_ = 0;
};

inline ncclResult_t use_device_of(ncclComm_t comm) {
  int device = 0;
  CUCO_CHECK(ncclCommCuDevice(comm, &device));
  return as_result(cudaSetDevice(device));
}

// Memory that peers can reach, and its window. All ranks call it with the same size; a thread with
// several GPUs passes all their communicators at once.
inline ncclResult_t share(const ncclComm_t* comms, int n, size_t bytes, void** memory,
                          ncclWindow_t* windows) {
  const DeviceGuard guard;
  for (int i = 0; i < n; ++i) {
    CUCO_CHECK(use_device_of(comms[i]));
    CUCO_CHECK(ncclMemAlloc(&memory[i], bytes));
    CUCO_CHECK(cudaMemset(memory[i], 0, bytes));
    CUCO_CHECK(cudaDeviceSynchronize());  // zero on every rank before any rank can go on
  }
  CUCO_CHECK(ncclGroupStart());
  for (int i = 0; i < n; ++i) {
    CUCO_CHECK(
        ncclCommWindowRegister(comms[i], memory[i], bytes, &windows[i], NCCL_WIN_COLL_SYMMETRIC));
  }
  return ncclGroupEnd();
}

// A buffer of the program that share() has made, for the launching functions.
struct Window {
  ncclWindow_t handle;
  char* base;
};
template <typename T>
Place<T> place_of(const Window& window, const T* pointer) {
  return {window.handle, (size_t)((const char*)pointer - window.base)};
}

// In the place of cudaMalloc() and cudaFree(), for one communicator. Collective. Free it when all
// sites that use it are closed: then no peer is at it any more.
template <typename T>
ncclResult_t allocate(ncclComm_t comm, T** pointer, size_t bytes, Window* window) {
  void* memory = nullptr;
  CUCO_CHECK(share(&comm, 1, bytes, &memory, &window->handle));
  window->base = (char*)memory;
  *pointer = (T*)memory;
  return ncclSuccess;
}
inline ncclResult_t release(ncclComm_t comm, Window& window) {
  CUCO_CHECK(ncclCommWindowDeregister(comm, window.handle));
  return ncclMemFree(window.base);
}

// Makes what a call site needs on each communicator. Collective. Not while a stream is captured.
template <Path path>
ncclResult_t open(const ncclComm_t* comms, int n, Size size, Site* sites) {
  constexpr bool kGin = path == Path::Gin || path == Path::Hybrid;
  const DeviceGuard guard;
  int ranks = 0;
  CUCO_CHECK(ncclCommCount(comms[0], &ranks));
  if (ranks > kMaxRanks) return ncclInvalidUsage;
  const size_t flags = divide_up((size_t)size.channels * ranks * sizeof(unsigned), 128) * 128;
  const size_t boxes = (size_t)size.channels * 2 * ranks * size.box;
  void* memory[kMaxRanks];
  ncclWindow_t windows[kMaxRanks];
  CUCO_CHECK(share(comms, n, flags + (kGin ? 2 : 1) * boxes, memory, windows));
  for (int i = 0; i < n; ++i) {
    Site& site = sites[i];
    site.window = windows[i];
    site.memory = memory[i];
    site.host_comm = comms[i];
    site.channels = size.channels;
    site.box = size.box;
    const size_t counts = (size_t)size.channels * ranks, words = counts + 2 * size.channels + 1;
    CUCO_CHECK(use_device_of(comms[i]));
    CUCO_CHECK(cudaMalloc(&site.rounds, words * sizeof(unsigned)));
    CUCO_CHECK(cudaMemset(site.rounds, 0, words * sizeof(unsigned)));
    CUCO_CHECK(cudaDeviceSynchronize());
    site.counters = site.rounds + counts;
  }
  CUCO_CHECK(ncclGroupStart());
  for (int i = 0; i < n; ++i) {
    ncclDevCommRequirements needs{};
    needs.lsaMultimem = path == Path::Multimem;
    needs.ginForceEnable = kGin;
    needs.ginSignalCount = kGin ? size.channels * ranks : 0;
    needs.ginCounterCount = kGin ? size.channels : 0;
    CUCO_CHECK(ncclDevCommCreate(comms[i], &needs, &sites[i].comm));
  }
  CUCO_CHECK(ncclGroupEnd());
  (void)cudaGetLastError();  // NCCL 2.28 leaves an error of its own behind
  // Stores reach only the ranks of this node.
  const bool near = sites[0].comm.lsaSize == ranks;
  return near || kGin ? ncclSuccess : ncclInvalidUsage;
}

template <Path path>
__global__ void last_meeting(Site site) {
  Channel<path>(site).meet();
}

// Ends a call site on each communicator. Collective: nothing is freed before all ranks have met
// here on every channel, for then nothing of theirs is on its way any more.
template <Path path>
ncclResult_t close(Site* sites, int n) {
  const DeviceGuard guard;
  for (int i = 0; i < n; ++i) {
    CUCO_CHECK(use_device_of(sites[i].host_comm));
    CUCO_CHECK(cudaDeviceSynchronize());
    last_meeting<path><<<sites[i].channels, 64>>>(sites[i]);
    CUCO_CHECK(launched());
  }
  for (int i = 0; i < n; ++i) {
    CUCO_CHECK(use_device_of(sites[i].host_comm));
    CUCO_CHECK(cudaDeviceSynchronize());
    CUCO_CHECK(ncclDevCommDestroy(sites[i].host_comm, &sites[i].comm));
    CUCO_CHECK(ncclCommWindowDeregister(sites[i].host_comm, sites[i].window));
    CUCO_CHECK(ncclMemFree(sites[i].memory));
    CUCO_CHECK(cudaFree(sites[i].rounds));
  }
  return ncclSuccess;
}

#undef CUCO_CHECK

}  // namespace cuco
