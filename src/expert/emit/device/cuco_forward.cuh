// SPDX-License-Identifier: Apache-2.0
// Sends from inside the kernels that make the data: a store into memory that is sent goes straight
// to the receivers, and what is left of the exchange is a small kernel that ends it.
//
// The idea. What will be sent is known to the host before the data is made: it is PLANNED. A plan
// lists the messages of this rank. A ROUND between a sender and a receiver is
//   the receiver tells where its messages go, and that they may be written now (announced),
//   kernels of the sender store there, each thread when it has seen the announcement,
//   the sender's last kernel says that all is stored (done), and the receiver's waits for that.
//
// Why that is safe, over iterations and replays of a graph:
// - The receiver announces from the first of its own kernels that has the plan, or else the last one:
//   what its stream did before has ended by then, so nothing of it is at the memory.
// - Its list of places is written again in the next round, when it has seen that this one is done.
// - Announcements and ends are counts in device memory that only go up, for each pair and direction.
// - All that was stored is there for who sees the end: the kernels that stored ended before.
// Why it does not stop: a thread that has to wait announces first, unless another has. So a rank's
// announcement needs only that its own earlier rounds end, which needs only announcements of those:
// grids may be of any size, and blocks begin in any order.
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
struct Segment {
  size_t begin, bytes;
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

  __device__ bool has_announced(int peer, cuda::memory_order order) const {
    return (int)(Flag(*announced(rank, peer)).load(order) - (sent[peer] + 1)) >= 0;
  }
  __device__ void await_announced(int peer, cuda::memory_order order) const {
    while (!has_announced(peer, order)) {
    }
  }
};

// A plan, for kernels. Without segments it is nobody's: what is stored stays here.
struct Forward {
  ForwardTables tables;
  const Segment* segments;
  const Target* targets;
  const Landing* landings;
  const int* buckets;  // segments that begin before the bucket does; one more at the end
  size_t first_begin;
  int bucket_shift, n_buckets;
  int n_segments, n_landings, n_windows;
  bool stays;  // what is sent stays here, too
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

// Loads what a kernel will look up when it first stores, by all threads of the block and without
// waiting: one lookup leads to the next, and what is not in a cache by then would be waited for each
// time.
__device__ inline void fetch_ahead(const void* begin, const void* end) {
  constexpr int kLine = 128;
  for (const char* at = (const char*)begin + kLine * thread(); at < end; at += kLine * threads()) {
    unsigned word;
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(word) : "l"(at));
  }
}
__device__ inline void fetch_tables_ahead(const Forward& forward) {
  // Segments, targets, landings and buckets lie one behind the other.
  fetch_ahead(forward.segments, forward.buckets + forward.n_buckets + 1);
  char** bases = forward.tables.bases;
  fetch_ahead(bases, bases + forward.n_windows * forward.tables.ranks);
}

// Segments with one target, for all threads of a block: where each begins and goes. Those that a
// store has to look up in memory, one load leading to the next, take longer than the store.
struct NearSegments {
  static constexpr int kMost = 128;
  size_t begin[kMost];
  char* to[kMost];  // nothing: it has several targets, or none
  unsigned bytes[kMost];

  // By all threads of the block, when all receivers have announced.
  __device__ void fill(const Forward& forward) {
    for (int s = thread(); s < kMost; s += threads()) {
      begin[s] = ~(size_t)0;
      if (s >= forward.n_segments) continue;
      const Segment& segment = forward.segments[s];
      const bool simple = segment.count == 1 && segment.bytes >> 32 == 0;
      begin[s] = segment.begin;
      bytes[s] = (unsigned)segment.bytes;
      to[s] = simple ? destination(forward.tables, forward.targets[segment.first], 0) : nullptr;
    }
  }
  // The last one that begins at the address or before, or the first.
  __device__ int last_before(size_t address) const {
    int low = 0;
#pragma unroll
    for (int step = kMost / 2; step > 0; step /= 2) {
      if (begin[low + step] <= address) low += step;
    }
    return low;
  }
};
__device__ inline NearSegments& near_segments() {
  __shared__ NearSegments segments;
  return segments;
}

// One for each thread of a kernel, made by all of them when it begins.
class Forwarder {
 public:
  __device__ explicit Forwarder(const Forward& forward)
      : forward_(forward), size_(forward.n_segments > 0 ? 0 : ~(size_t)0) {
    const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
    if (first && forward.senders != 0) announce_landings_by_warp(forward);
    if (forward.n_segments == 0) return;
    fetch_tables_ahead(forward);
    // Most blocks begin when all receivers have announced: then no thread has to ask again.
    bool announced = true;
    for (int p = thread(); p < forward.tables.ranks; p += threads()) {
      if (has(forward.receivers, p))
        announced = announced && forward.tables.has_announced(p, cuda::memory_order_acquire);
    }
    have_announced_ = __syncthreads_and(announced);
    if (!have_announced_ || forward.n_segments > NearSegments::kMost) return;
    near_segments().fill(forward);
    __syncthreads();
    are_near_ = true;
  }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Counts what the threads of the warp that are here have stored.
  __device__ ~Forwarder() {
    if (forward_.n_segments == 0) return;
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
    if (address - begin_ >= size_) find(address);
    if (address - begin_ + sizeof(T) <= size_) return store_inside(at, value);
    for (size_t k = 0; k < sizeof(T); ++k) {
      if (address + k - begin_ >= size_) find(address + k);
      store_inside((char*)at + k, ((const char*)&value)[k]);
    }
  }

 private:
  static constexpr int kKept = 7;  // targets whose place is kept in registers

  // What lies within the segment that was found. It does not come back here for what does not: then
  // the forwarder would be in memory instead of registers.
  template <typename T>
  __device__ void store_inside(T* at, const T& value) {
    const size_t address = (size_t)at;
    if (count_ < 0 || (count_ > 0 && forward_.stays)) *at = value;
    if (count_ <= 0) return;
    count(address, sizeof(T));
    // Most go to one receiver: the others are behind one branch.
    put(kept_[0] + (address - begin_), value);
    if (count_ == 1) return;
#pragma unroll
    for (int i = 1; i < kKept; ++i) {
      if (i < count_) put(kept_[i] + (address - begin_), value);
    }
    for (int i = kKept; i < count_; ++i) put(destination_of(i, address), value);
  }

  template <typename T>
  static __device__ void put(char* to, const T& value) {
    if ((size_t)to % alignof(T) == 0) {
      *(T*)to = value;
    } else {
      for (size_t k = 0; k < sizeof(T); ++k) to[k] = ((const char*)&value)[k];
    }
  }

  __device__ void count(size_t address, size_t bytes) {
    bytes_ += bytes * count_;
    address_sum_ += (unsigned)(bytes * address + bytes * (bytes - 1) / 2) * count_;
  }

  // The number of segments that begin at the address or before.
  __device__ int segments_up_to(size_t address) const {
    if (address < forward_.first_begin) return 0;
    const size_t bucket = (address - forward_.first_begin) >> forward_.bucket_shift;
    if (bucket >= forward_.n_buckets) return forward_.n_segments;
    int low = forward_.buckets[bucket], high = forward_.buckets[bucket + 1];
    while (low < high) {
      const int middle = (low + high) / 2;
      if (forward_.segments[middle].begin <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // The segment of the address, or what is between two of them.
  __device__ void find(size_t address) {
    if (are_near_ && find_near(address)) return;
    const int before = segments_up_to(address);
    begin_ = 0;
    size_ = before < forward_.n_segments ? forward_.segments[before].begin : ~(size_t)0;
    count_ = -1;
    if (before == 0) return;
    const Segment segment = forward_.segments[before - 1];
    begin_ = segment.begin + segment.bytes;
    size_ -= begin_;
    if (address >= begin_) return;
    begin_ = segment.begin;
    size_ = segment.bytes;
    count_ = segment.count;
    targets_ = forward_.targets + segment.first;
    if (count_ == 0) return;
    await_receivers();
    kept_[0] = destination_of(0, begin_);
    if (count_ == 1) return;
#pragma unroll
    for (int i = 1; i < kKept; ++i) {
      if (i < count_) kept_[i] = destination_of(i, begin_);
    }
  }

  __device__ bool find_near(size_t address) {
    const NearSegments& near = near_segments();
    const int s = near.last_before(address);
    if (near.to[s] == nullptr || address - near.begin[s] >= near.bytes[s]) return false;
    begin_ = near.begin[s];
    size_ = near.bytes[s];
    count_ = 1;
    kept_[0] = near.to[s];
    return true;
  }

  __device__ char* destination_of(int i, size_t address) const {
    return destination(forward_.tables, targets_[i], address - begin_);
  }

  // All receivers, once. A fence would wait for what the block has stored, too.
  __device__ void await_receivers() {
    if (have_announced_) return;
    const ForwardTables& tables = forward_.tables;
    bool leaves = false;
    for (int i = 0; i < count_; ++i) leaves = leaves || targets_[i].peer != tables.rank;
    if (!leaves) return;
    have_announced_ = true;
    for (unsigned long long left = forward_.receivers; left != 0; left &= left - 1) {
      const int peer = __ffsll(left) - 1;
      if (tables.has_announced(peer, cuda::memory_order_acquire)) continue;
      // Who waits has announced: block 0 may not have begun, and the peer may wait for it.
      if (forward_.senders != 0) announce_landings(forward_, 0, 1);
      tables.await_announced(peer, cuda::memory_order_acquire);
    }
  }

  const Forward& forward_;
  bool have_announced_ = false;  // all receivers
  bool are_near_ = false;        // segments: in near_segments()
  size_t begin_ = 0, size_;      // what `count_` holds for
  int count_ = -1;               // of targets; -1: not sent
  const Target* targets_ = nullptr;
  char* kept_[kKept];  // where the begin goes
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
    if (has(forward.receivers, p))
      forward.tables.await_announced(p, cuda::memory_order_acquire);
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
  if (thread() == 0) *tables.begun = ++*tables.ended;
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
