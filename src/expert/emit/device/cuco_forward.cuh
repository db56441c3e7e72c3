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
// - The receiver announces when the first of its own kernels that has the plan begins, or else its
//   last one: what its stream did before has ended by then, so nothing of it is at the memory.
// - Its list of places is written again in the next round, when it has seen that this one is done.
// - Announcements and ends are counts in device memory that only go up, for each pair and direction.
// - All that was stored is there for who sees the end: the kernels that stored ended before.
// Why it does not stop: no thread waits before the first block to begin, of the first kernel that
// has the plan, has announced. So each rank's announcement needs only that its own earlier rounds
// end, which needs only announcements of those: grids may be of any size.
// What the program owes: messages meet as NCCL's do, and all kernels with the plan run on the stream
// of the exchange. Whether the kernels really stored each byte once is counted: if not, the last
// kernel copies the messages from the memory that is sent, which is always written too.
#pragma once

#include "cuco_device.cuh"

namespace cuco {

constexpr int kMostMessages = 1024;  // between two ranks in one plan
constexpr int kMostWindows = 512;

// Bytes that go to the same receivers. None: they are received, so nobody here may store there.
struct Segment {
  size_t begin, bytes;
  int first, count;  // of its targets
};

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

// What all plans of a communicator share. Counts and sums are on this rank.
struct ForwardTables {
  int rank, ranks;
  char** bases;                // [window][rank]: where this rank sees the window of a rank
  unsigned *sent, *received;   // [rank]: rounds
  unsigned *begun, *ended;     // blocks of a kernel
  unsigned long long* stored;  // bytes and their addresses, summed up

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

  __device__ void await_announced(int peer) const { await(announced(rank, peer), sent[peer] + 1); }
};

// A plan, for kernels. Without segments it is nobody's: what is stored stays here.
struct Forward {
  ForwardTables tables;
  const Segment* segments;
  const Target* targets;
  const Landing* landings;
  int n_segments, n_landings;
  unsigned long long receivers, senders;   // a bit for each rank but this one
  unsigned long long bytes, address_sum;   // what must have been stored
  bool announces;
};

__device__ inline bool has(unsigned long long ranks, int rank) { return ranks >> rank & 1; }

// By the whole block, at its begin. The first block of the grid to come here does it.
__device__ inline void announce_landings(const Forward& forward) {
  __shared__ bool first;
  const ForwardTables& tables = forward.tables;
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  if (thread() == 0) first = atomicInc(tables.begun, blocks - 1) == 0;
  __syncthreads();
  if (!first) return;
  for (int i = thread(); i < forward.n_landings; i += threads()) {
    const Landing& landing = forward.landings[i];
    *tables.place(landing.peer, tables.rank, landing.number) = landing.place;
  }
  __syncthreads();
  for (int p = thread(); p < tables.ranks; p += threads()) {
    if (has(forward.senders, p)) raise(tables.announced(p, tables.rank), tables.received[p] + 1);
  }
}

// Where the byte at `from` of a segment's target goes. The peer must have announced.
__device__ inline char* destination(const ForwardTables& tables, const Target& target,
                                    size_t from) {
  if (target.peer == tables.rank) return (char*)(target.skipped + from);
  const size_t place = *tables.place(tables.rank, target.peer, target.number);
  char* window = tables.bases[(place >> kWindowShift) * tables.ranks + target.peer];
  return window + (place & ((size_t)1 << kWindowShift) - 1) + target.skipped + from;
}

// One for each thread of a kernel, made by all of them when it begins.
class Forwarder {
 public:
  __device__ explicit Forwarder(const Forward& forward)
      : forward_(forward),
        seen_(1ull << forward.tables.rank),
        size_(forward.n_segments > 0 ? 0 : ~(size_t)0) {
    if (forward.announces) announce_landings(forward);
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
    atomicAdd(&forward_.tables.stored[0], (unsigned long long)bytes);
    atomicAdd(&forward_.tables.stored[1], (unsigned long long)address_sum);
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
    if (address - begin_ + sizeof(T) > size_) return store_bytes(at, value);
    if (count_ != 0) *at = value;
    if (count_ > 0) count(address, sizeof(T));
    for (int i = 0; i < count_; ++i) {
      char* to = i == 0 ? first_ + (address - begin_) : destination_of(i, address);
      if ((size_t)to % alignof(T) == 0) {
        *(T*)to = value;
      } else {
        for (size_t k = 0; k < sizeof(T); ++k) to[k] = ((const char*)&value)[k];
      }
    }
  }

 private:
  // What lies across the borders of segments.
  template <typename T>
  __device__ void store_bytes(T* at, const T& value) {
    for (size_t k = 0; k < sizeof(T); ++k) store((char*)at + k, ((const char*)&value)[k]);
  }

  __device__ void count(size_t address, size_t bytes) {
    bytes_ += bytes * count_;
    address_sum_ += (unsigned)(bytes * address + bytes * (bytes - 1) / 2) * count_;
  }

  // The segment of the address, or what is between two of them.
  __device__ void find(size_t address) {
    int low = 0, high = forward_.n_segments;  // the first that begins behind it
    while (low < high) {
      const int middle = (low + high) / 2;
      if (forward_.segments[middle].begin <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    begin_ = 0;
    size_ = low < forward_.n_segments ? forward_.segments[low].begin : ~(size_t)0;
    count_ = -1;
    if (low == 0) return;
    const Segment segment = forward_.segments[low - 1];
    begin_ = segment.begin + segment.bytes;
    size_ -= begin_;
    if (address >= begin_) return;
    begin_ = segment.begin;
    size_ = segment.bytes;
    count_ = segment.count;
    targets_ = forward_.targets + segment.first;
    for (int i = 0; i < count_; ++i) await_receiver(targets_[i].peer);
    if (count_ > 0) first_ = destination_of(0, begin_);
  }

  __device__ char* destination_of(int i, size_t address) const {
    return destination(forward_.tables, targets_[i], address - begin_);
  }

  __device__ void await_receiver(int peer) {
    if (has(seen_, peer)) return;
    forward_.tables.await_announced(peer);
    seen_ |= 1ull << peer;
  }

  const Forward& forward_;
  unsigned long long seen_;  // ranks that have announced
  size_t begin_ = 0, size_;  // what `count_` holds for
  int count_ = -1;               // of targets; -1: not sent
  const Target* targets_ = nullptr;
  char* first_ = nullptr;  // where the begin goes for the first target
  unsigned bytes_ = 0, address_sum_ = 0;
};

// Copies all messages, by the whole grid.
__device__ inline void copy_segments(const Forward& forward) {
  for (int p = thread(); p < forward.tables.ranks; p += threads()) {
    if (has(forward.receivers, p)) forward.tables.await_announced(p);
  }
  __syncthreads();
  for (int s = 0; s < forward.n_segments; ++s) {
    const Segment& segment = forward.segments[s];
    const size_t part = slice_of<unsigned char>(segment.bytes, gridDim.x);
    const size_t begin = min(blockIdx.x * part, segment.bytes);
    const size_t count = min(part, segment.bytes - begin);
    for (int i = 0; i < segment.count; ++i) {
      char* to = destination(forward.tables, forward.targets[segment.first + i], begin);
      copy((unsigned char*)to, (const unsigned char*)segment.begin + begin, count);
    }
  }
}

// In the place of the exchange. `forwarded`: kernels had the plan.
__global__ void end_forwarding(const __grid_constant__ Forward forward, bool forwarded) {
  const ForwardTables& tables = forward.tables;
  if (forward.announces) announce_landings(forward);
  const bool stored = forwarded && tables.stored[0] == forward.bytes &&
                      (unsigned)tables.stored[1] == (unsigned)forward.address_sum;
  if (!stored) copy_segments(forward);
  if (!last_of(tables.ended, gridDim.x)) return;
  if (thread() < 2) tables.stored[thread()] = 0;
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
