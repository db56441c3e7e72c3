// SPDX-License-Identifier: Apache-2.0
// Sends from inside the kernels that make the data: a store into memory that is sent goes straight
// to the receivers, and what is left of the exchange is a small kernel that ends it.
//
// The idea. What will be sent is known to the host before the data is made: it is PLANNED. A plan
// lists the messages of this rank. A ROUND between a sender and a receiver is
//   the receiver tells where its messages go, and that they may be written now (announced),
//   kernels of the sender store there, each thread when it has seen the announcement,
//   the sender's last kernel says that all is stored (done), and the receiver's waits for that.
// When all receivers have announced, one warp of the sender writes down where each message goes: the
// WAYS. To look one up takes two loads that mostly hit the L1, where announcements take four more,
// each leading to the next. A kernel before those that store announces and finds the ways, if there is
// one; otherwise the first warp that stores does, and all others wait for it.
//
// Why that is safe, over iterations and replays of a graph:
// - The receiver announces from the first of its own kernels that has the plan, or else the last one:
//   what its stream did before has ended by then, so nothing of it is at the memory. Who plans has to
//   know that kernels between the plan and those that store do not touch it.
// - Ways are of one round: a count says of which. Kernels behind the one that found them need not ask.
// - Its list of places is written again in the next round, when it has seen that this one is done.
// - Announcements and ends are counts in device memory that only go up, for each pair and direction.
// - All that was stored is there for who sees the end: the kernels that stored ended before.
// Why it does not stop: who has to wait for peers announces first, unless another has, and who waits
// for the ways waits for a warp that runs. So a rank's announcement needs only that its own earlier
// rounds end, which needs only announcements of those: grids may be of any size, and blocks begin in
// any order.
// What the program owes: messages meet as NCCL's do, and all kernels with the plan run on the stream
// of the exchange. Whether the kernels really stored each byte once is counted: if not, the last
// kernel copies the messages from the memory that is sent, which is written too; or it ends the
// program, if the plan says that what is sent need not stay here because nobody reads it.
#pragma once

#include "cuco_device.cuh"

namespace cuco {

constexpr int kMostMessages = 1024;  // between two ranks in one plan
constexpr int kMostWindows = 512;

// Bytes that go to the same receivers. None: they are received, so nobody here may store there.
struct alignas(16) Segment {
  size_t begin, bytes;
  ptrdiff_t way;       // how much further its first target is: found in each round
  int first, count;    // of its targets
  size_t first_piece;  // when a grid copies it
};

// What a warp copies at a time, in flight all at once.
constexpr int kPiece = 4 * 32 * 16;

// Where a segment goes: `skipped` bytes behind the begin of message `number` to a peer. For this
// rank itself, `skipped` is the address.
struct Target {
  int peer, number;
  size_t skipped;
  size_t from;    // the begin of the segment
  ptrdiff_t way;  // as of a segment
  int begins;     // the segment that it is the first target of; -1: none
};

// Where message `number` from a peer goes: the window in the upper bits.
struct Landing {
  int peer, number;
  size_t place;
};
constexpr int kWindowShift = 48;

// Many warps add to sums at once: they are spread over sectors of memory.
constexpr int kSums = 32, kSumStride = 4;

// What all plans of a communicator share. Counts and sums are on this rank.
struct ForwardTables {
  int rank, ranks;
  char** bases;                // [window][rank]: where this rank sees the window of a rank
  unsigned *sent, *received;   // [rank]: rounds
  unsigned *begun, *ended;     // rounds that were announced and ended
  unsigned *sought, *found;    // rounds whose ways somebody looks for and has found
  unsigned* blocks;            // of the last kernel that are done
  unsigned long long* stored;  // bytes and their addresses, summed up in several places

  // Window 0: flags by which others announce and end, and what they announce.
  __device__ unsigned* announced(int at, int by) const { return (unsigned*)bases[at] + by; }
  __device__ unsigned* done(int at, int by) const { return announced(at, ranks + by); }
  __device__ size_t* place(int at, int by, int number) const {
    return (size_t*)(bases[at] + divide_up(2 * ranks * sizeof(unsigned), 128) * 128) +
           (size_t)by * kMostMessages + number;
  }
  static size_t bytes(int ranks) {
    return divide_up(2 * ranks * sizeof(unsigned), 128) * 128 +
           (size_t)ranks * kMostMessages * sizeof(size_t);
  }

  __host__ __device__ unsigned long long* sums(int place) const { return stored + kSumStride * place; }

  __device__ void await_announced(int peer) const { await(announced(rank, peer), sent[peer] + 1); }

  __device__ cuda::atomic_ref<unsigned, cuda::thread_scope_device> found_rounds() const {
    return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*found);
  }
  __device__ bool has_ways() const {
    return found_rounds().load(cuda::memory_order_acquire) == *ended + 1;
  }
};

// A plan, for kernels. The empty one is nobody's.
struct Forward {
  ForwardTables tables;
  Segment* segments;
  Target* targets;
  const Landing* landings;
  // As many addresses each, a power of two: the one segment that they are in, or ~s, where s segments
  // begin before the bucket or with it.
  const int* buckets;
  size_t first_begin;
  size_t first_bucket, n_buckets;
  int bucket_shift;
  int n_segments, n_targets, n_landings;
  bool sends;    // the kernel stores what is sent; else all of it stays here
  bool opens;    // its first block announces and finds the ways, unless another has
  bool is_open;  // a kernel that ended before has found them
  bool stays;    // what is sent stays here, too
  size_t n_pieces, first_piece;  // which one the grid copies first
  unsigned long long receivers, senders;   // a bit for each rank but this one
  unsigned long long bytes, address_sum;   // what must have been stored
};

__device__ inline bool has(unsigned long long ranks, int rank) { return ranks >> rank & 1; }

// Tells where messages go and that they may come, unless that has been done in this round: by
// `lanes` threads of one warp.
__device__ inline void announce_landings(const Forward& forward, unsigned lane, unsigned lanes) {
  const ForwardTables& tables = forward.tables;
  const unsigned warp = ~0u >> (32 - lanes);
  unsigned before = 0;
  const cuda::atomic_ref<unsigned, cuda::thread_scope_device> begun(*tables.begun);
  const unsigned round = *tables.ended;
  if (lane == 0 && begun.load(cuda::memory_order_relaxed) == round)
    before = atomicCAS(tables.begun, round, round + 1) == round;
  if (lanes > 1) before = __shfl_sync(warp, before, 0);
  if (before == 0) return;
#pragma unroll 1
  for (int i = lane; i < forward.n_landings; i += lanes) {
    const Landing& landing = forward.landings[i];
    *tables.place(landing.peer, tables.rank, landing.number) = landing.place;
  }
  if (lanes > 1) __syncwarp(warp);
  for (int p = lane; p < tables.ranks; p += lanes) {
    if (has(forward.senders, p)) raise(tables.announced(p, tables.rank), tables.received[p] + 1);
  }
}
__device__ inline void announce_landings_by_warp(const Forward& forward) {
  if (thread() < 32) announce_landings(forward, thread(), min(threads(), 32u));
}

// Where the byte at `from` of a segment's target goes. The peer must have announced.
__device__ inline char* destination(const ForwardTables& tables, const Target& target,
                                    size_t from) {
  if (target.peer == tables.rank) return (char*)(target.skipped + from);
  const size_t place = *tables.place(tables.rank, target.peer, target.number);
  char* window = tables.bases[(place >> kWindowShift) * tables.ranks + target.peer];
  return window + (place & ((size_t)1 << kWindowShift) - 1) + target.skipped + from;
}

// Finds the ways, unless that has been done in this round or is being done: by the threads of a warp
// that are `here`. This rank has announced.
__device__ inline void find_ways(const Forward& forward, unsigned here) {
  const ForwardTables& tables = forward.tables;
  const unsigned lane = __popc(here & ((1u << thread() % 32) - 1)), lanes = __popc(here);
  const unsigned round = *tables.ended;
  unsigned before = 0;
  if (lane == 0) before = atomicCAS(tables.sought, round, round + 1) == round;
  before = __shfl_sync(here, before, __ffs(here) - 1);
  if (before == 0) return;
  for (int p = lane; p < tables.ranks; p += lanes) {
    if (has(forward.receivers, p)) tables.await_announced(p);
  }
  __syncwarp(here);
#pragma unroll 1
  for (int i = lane; i < forward.n_targets; i += lanes) {
    Target& target = forward.targets[i];
    target.way = destination(tables, target, 0) - (char*)target.from;
    if (target.begins >= 0) forward.segments[target.begins].way = target.way;
  }
  __syncwarp(here);
  if (lane == 0) tables.found_rounds().store(round + 1, cuda::memory_order_release);
}

// Loads the first words of what a kernel will look up when it first stores, by all threads of the block
// and without waiting: one lookup leads to the next, and what is not in a cache by then would be
// waited for each time. Nobody writes these words.
template <typename T>
__device__ void fetch_ahead(const T* items, size_t count) {
  constexpr size_t kStep = 128 / sizeof(T);  // a line of the cache
  for (size_t i = kStep * thread(); i < count; i += kStep * threads()) {
    unsigned word;
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(word) : "l"(items + i));
  }
}

// Opens a round in the first block: announces when it begins, and finds the ways when it ends. One
// for each thread of a kernel, made by all of them when it begins.
class Opener {
 public:
  __device__ explicit Opener(const Forward& forward) : forward_(forward) {
    if (is_asked() && forward.senders != 0) announce_landings_by_warp(forward);
  }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;
  __device__ ~Opener() {
    if (is_asked() && forward_.n_segments > 0 && thread() < 32) find_ways(forward_, __activemask());
  }

 private:
  __device__ bool is_asked() const {
    return forward_.opens && blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
  }

  const Forward& forward_;
};

// Who waits has announced: block 0 may not have begun, and a peer may wait for it. A call, since what is
// done once would otherwise take registers from what is done for each store.
static __device__ __noinline__ void await_ways(const Forward& forward) {
  if (forward.tables.has_ways()) return;
  if (forward.senders != 0) announce_landings(forward, 0, 1);
  find_ways(forward, __activemask());
  while (!forward.tables.has_ways()) {
  }
}

// One for each thread of a kernel, made by all of them when it begins.
class Forwarder {
 public:
  __device__ explicit Forwarder(const Forward& forward)
      : opener_(forward),
        forward_(forward),
        has_ways_(forward.is_open),
        end_(forward.sends ? 0 : ~(size_t)0) {
    if (!forward.sends) return;
    fetch_ahead(forward.segments, forward.n_segments);
    fetch_ahead(forward.buckets, forward.n_buckets);
    if (forward.is_open) return;
    fetch_ahead(forward.targets, forward.n_targets);
    fetch_ahead(forward.landings, forward.n_landings);
  }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Counts what the threads of the warp that are here have stored.
  __device__ ~Forwarder() {
    if (!forward_.sends) return;
    const unsigned here = __activemask();
    const unsigned bytes = __reduce_add_sync(here, bytes_);
    const unsigned address_sum = __reduce_add_sync(here, address_sum_);
    if (bytes == 0 || thread() % 32 != __ffs(here) - 1) return;
    unsigned long long* sums = forward_.tables.sums((blockIdx.x + blockIdx.y + blockIdx.z) % kSums);
    atomicAdd(&sums[0], (unsigned long long)bytes);
    atomicAdd(&sums[1], (unsigned long long)address_sum);
  }

  template <typename T>
  struct Same {
    using type = T;
  };

  // *at = value, here and wherever *at is sent.
  template <typename T>
  __device__ void store(T* at, typename Same<T>::type value) {
    const size_t address = (size_t)at;
    if (is_simple_ && holds(address, sizeof(T))) {
      if (forward_.stays) *at = value;
      count(address, sizeof(T), 1);
      *(T*)((char*)at + way_) = value;
      return;
    }
    // Once, unless it lies across a border: then byte by byte. What is seldom done stands in one place
    // of the loop, or else it would need more registers than the kernel has to spare.
#pragma unroll 1
    for (size_t k = 0; k < sizeof(T); ++k) {
      if (!holds(address + k, k == 0 ? sizeof(T) : 1)) find(address + k);
      if (k == 0 && holds(address, sizeof(T))) return store_inside(at, value);
      const T whole = value;  // only here in memory
      store_inside((char*)at + k, ((const char*)&whole)[k]);
    }
  }

 private:
  // Whether what was found is true of all these bytes.
  __device__ bool holds(size_t address, size_t bytes) const {
    return address >= begin_ && address + bytes <= end_;
  }

  // What lies within what was found. It does not come back here for what does not: then the forwarder
  // would be in memory instead of registers.
  template <typename T>
  __device__ void store_inside(T* at, const T& value) {
    const size_t address = (size_t)at;
    if (count_ < 0 || (count_ > 0 && forward_.stays)) *at = value;
    if (count_ <= 0) return;
    count(address, sizeof(T), count_);
    put((char*)at + way_, value);
#pragma unroll 1
    for (int i = 1; i < count_; ++i)
      put((char*)at + forward_.targets[forward_.segments[segment_].first + i].way, value);
  }

  template <typename T>
  static __device__ void put(char* to, const T& value) {
    if ((size_t)to % alignof(T) == 0) {
      *(T*)to = value;
    } else {
      const T whole = value;
#pragma unroll 1
      for (size_t k = 0; k < sizeof(T); ++k) to[k] = ((const char*)&whole)[k];
    }
  }

  __device__ void count(size_t address, unsigned bytes, unsigned targets) {
    bytes_ += bytes * targets;
    address_sum_ += (bytes * (unsigned)address + bytes * (bytes - 1) / 2) * targets;
  }

  // The segment of the address, or what is between two of them.
  __device__ void find(size_t address) {
    if (!has_ways_) await_ways(forward_);
    has_ways_ = true;
    segment_ = last_up_to(address);
    is_simple_ = false;
    count_ = -1;
    begin_ = 0;
    end_ = ~(size_t)0;
    if (segment_ >= 0) {
      const Segment& segment = forward_.segments[segment_];
      begin_ = segment.begin;
      end_ = segment.begin + segment.bytes;
      count_ = segment.count;
      way_ = segment.way;
      is_simple_ = address < end_ && count_ == 1 && way_ % 16 == 0;
      if (address < end_) return;
      begin_ = end_;
      end_ = ~(size_t)0;
      count_ = -1;
    }
    if (segment_ + 1 < forward_.n_segments) end_ = forward_.segments[segment_ + 1].begin;
  }

  // The last segment that begins at the address or before.
  __device__ int last_up_to(size_t address) const {
    const size_t bucket = (address >> forward_.bucket_shift) - forward_.first_bucket;
    if (bucket >= forward_.n_buckets)
      return address < forward_.first_begin ? -1 : forward_.n_segments - 1;
    const int in = forward_.buckets[bucket];
    if (in >= 0) return in;
    int low = ~in, high = forward_.n_segments;
#pragma unroll 1
    while (low < high) {
      const int middle = (low + high) / 2;
      if (forward_.segments[middle].begin <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  const Opener opener_;
  const Forward& forward_;
  bool has_ways_;
  size_t begin_ = 0, end_;  // what is known is true of the bytes between
  bool is_simple_ = false;  // sent to one, and aligned there as it is here
  int segment_ = 0;
  int count_ = -1;     // of targets; -1: not sent
  ptrdiff_t way_ = 0;  // to the first
  unsigned bytes_ = 0, address_sum_ = 0;
};

// The segment of a piece, by a whole warp: its loads do not wait for each other.
__device__ inline int segment_of(const Forward& forward, size_t piece) {
  int before = 0;
  for (int s = thread() % 32; s < forward.n_segments; s += 32)
    before += forward.segments[s].first_piece <= piece;
  return __reduce_add_sync(~0u, before) - 1;
}

// Copies pieces [piece, end), by one warp.
__device__ inline void copy_pieces(const Forward& forward, size_t piece, size_t end) {
  if (piece >= end) return;
  for (int s = segment_of(forward, piece); piece < end; ++s) {
    const Segment segment = forward.segments[s];
    if (segment.count == 0) continue;
    const size_t begin = (piece - segment.first_piece) * kPiece;
    const size_t bytes = min(segment.bytes - begin, (end - piece) * kPiece);
    for (int i = 0; i < segment.count; ++i) {
      char* to = destination(forward.tables, forward.targets[segment.first + i], begin);
      copy((unsigned char*)to, (const unsigned char*)segment.begin + begin, bytes, thread() % 32, 32);
    }
    piece += divide_up(bytes, kPiece);
  }
}

// Copies all messages, by the whole grid: every warp as much as any other, whatever the sizes of the
// messages, and one part of them, so that it seldom has to look up where it goes. Every rank begins
// with another peer.
__device__ inline void copy_segments(const Forward& forward) {
  for (int p = thread(); p < forward.tables.ranks; p += threads()) {
    if (has(forward.receivers, p)) forward.tables.await_announced(p);
  }
  __syncthreads();
  const size_t warps = gridDim.x * (threads() / 32), all = forward.n_pieces;
  const size_t warp = blockIdx.x * (threads() / 32) + thread() / 32;
  const size_t begin = forward.first_piece + all * warp / warps;
  const size_t end = forward.first_piece + all * (warp + 1) / warps;
  copy_pieces(forward, begin, min(end, all));
  copy_pieces(forward, max(begin, all) - all, max(end, all) - all);
}

// Whether all bytes were stored once, as far as their sums tell. By whole warps.
__device__ inline bool is_counted(const Forward& forward) {
  const unsigned long long* sums = forward.tables.sums(thread() % kSums);
  unsigned long long bytes = sums[0], address_sum = sums[1];
  for (int lanes = kSums / 2; lanes > 0; lanes /= 2) {
    bytes += __shfl_xor_sync(~0u, bytes, lanes);
    address_sum += __shfl_xor_sync(~0u, address_sum, lanes);
  }
  return bytes == forward.bytes && (unsigned)address_sum == (unsigned)forward.address_sum;
}

// In the place of the exchange. `forwarded`: kernels had the plan.
__global__ void end_forwarding(const __grid_constant__ Forward forward, bool forwarded) {
  const ForwardTables& tables = forward.tables;
  if (forward.senders != 0) announce_landings_by_warp(forward);
  const bool stored = forwarded ? is_counted(forward) : forward.bytes == 0;
  // What kernels have not stored is nowhere if it did not stay: better no result than a wrong one.
  if (!stored && forwarded && !forward.stays) __trap();
  if (!stored) copy_segments(forward);
  __syncthreads();
  if (gridDim.x > 1 && !last_of(tables.blocks, gridDim.x)) return;
  for (int i = thread(); i < kSums * kSumStride; i += threads()) tables.stored[i] = 0;
  if (thread() == 0) *tables.begun = *tables.sought = ++*tables.ended;
  for (int p = thread(); p < tables.ranks; p += threads()) {
    if (has(forward.receivers, p)) raise(tables.done(p, tables.rank), ++tables.sent[p]);
  }
  for (int p = thread(); p < tables.ranks; p += threads()) {
    if (has(forward.senders, p)) await(tables.done(tables.rank, p), ++tables.received[p]);
  }
}

// Where this rank sees a window of each rank.
__global__ void find_bases(ncclWindow_t window, char** bases, int ranks) {
  for (int p = thread(); p < ranks; p += threads()) {
    bases[p] = (char*)ncclGetLsaPointer(window, 0, p);
  }
}

// The largest value of all ranks.
template <Path path>
__global__ void find_largest(Site site, unsigned long long* value) {
  Channel<path> channel(site);
  channel.ready();
  channel.put_all(value, 1);
  channel.send();
  channel.receive();
  if (thread() == 0) {
    for (int p = 0; p < channel.ranks(); ++p) {
      if (p != channel.rank()) *value = max(*value, *channel.template box<unsigned long long>(p));
    }
  }
  channel.done();
}

}  // namespace cuco
