// SPDX-License-Identifier: Apache-2.0
// An all-gather from inside the kernel that makes the data: a chunk of it leaves as soon as the last
// of the blocks that write it is done, while other blocks still compute.
//
// The idea. What this rank sends is cut into CHUNKS of so many bytes, the same on all ranks. Every
// block says which part it has written (Tiles), and counts itself done in each chunk that the part
// reaches into. Who completes a chunk sends it to all ranks and announces it; who has sent the last
// one waits for the chunks of the others.
//
// Why that is safe, over iterations and replays of a graph:
// - A rank announces that it has entered when its kernel begins. All that its stream did before has
//   ended by then, whatever it read: nobody stores into its result earlier.
// - Flags hold the number of the round, which is kept in device memory and goes up by itself:
//   nothing is reset between launches, and no flag of an earlier one can be taken for this one's.
// - Counters go back to 0 by themselves.
// - A chunk is announced after everything in it was stored: the counter orders the stores of the
//   blocks before the announcement.
// - Where the grid does not cover the data as it says, the last block of all sends everything.
// Between nodes a chunk crosses the network once: to the rank of the same number in each other node,
// its RAIL. Blocks there that have nothing else to do pass it on inside their node.
// Why it does not stop: the first block to begin announces, before any block waits, and who waits
// for a peer needs only that the peer's kernel begins. Blocks wait for chunks only when all blocks
// of the grid have begun, so that nobody needs their place. The grid may be of any size.
// What the program owes: all ranks launch it with the same number of bytes, in the same order.
#pragma once

#include "cuco_device.cuh"

namespace cuco {

// What the host gives to a kernel. Without bytes there is nothing to send: the launch makes
// something else.
struct Forward {
  Site site;             // one flag for entering, and one for each chunk
  ncclWindow_t window;   // of the result
  size_t offset;         // of this rank's part in it
  const char* from;      // what this rank sends; it may be that part
  size_t bytes;          // of one rank
  size_t chunk_bytes;
  int chunks;
  bool waits;               // the kernel itself, for what comes; else a kernel behind it does
  struct TileQueue* queue;  // Issuer::OneOfSm only
};

// Tiles that are written and wait to be stored. Words have the round in their upper half, so that
// nothing is reset.
struct TileQueue {
  using Word = unsigned long long;
  static constexpr unsigned kMost = 1 << 16;
  Word pushed, popped;
  unsigned storing[256];  // by SM: a block of it stores
  Word tiles[kMost];

  using Atomic = cuda::atomic_ref<Word, cuda::thread_scope_device>;
  static __device__ Word tagged(unsigned round, unsigned value) {
    return (Word)(round + 1) << 32 | value;
  }
  // What the word says in this round.
  static __device__ unsigned value_of(Word word, unsigned round) {
    return word >> 32 == (unsigned)(round + 1) ? (unsigned)word : 0;
  }
  // By one thread. What its block wrote before its last __syncthreads() is there for who pops it.
  __device__ void push(unsigned round, unsigned tile) {
    Word before = Atomic(pushed).load(cuda::memory_order_relaxed);
    while (!Atomic(pushed).compare_exchange_weak(
        before, tagged(round, value_of(before, round) + 1), cuda::memory_order_relaxed)) {
    }
    Atomic(tiles[value_of(before, round)])
        .store(tagged(round, tile), cuda::memory_order_release);
  }
  // By one thread; -1: there is none now.
  __device__ int pop(unsigned round) {
    Word before = Atomic(popped).load(cuda::memory_order_relaxed);
    for (;;) {
      const unsigned at = value_of(before, round);
      if (at >= value_of(Atomic(pushed).load(cuda::memory_order_relaxed), round)) return -1;
      if (!Atomic(popped).compare_exchange_weak(before, tagged(round, at + 1),
                                                cuda::memory_order_relaxed))
        continue;
      for (;;) {  // who pushed it is about to store it
        const Word tile = Atomic(tiles[at]).load(cuda::memory_order_acquire);
        if (tile >> 32 == (unsigned)(round + 1)) return (int)(unsigned)tile;
      }
    }
  }
  // By one thread: whether it is the one of its SM.
  __device__ bool enter() { return atomicCAS(&storing[sm()], 0, 1) == 0; }
  __device__ void leave() { atomicExch(&storing[sm()], 0); }
  static __device__ unsigned sm() {
    unsigned number;
    asm("mov.u32 %0, %%smid;" : "=r"(number));
    return number % 256;
  }
};

// What a kernel's blocks write: rows of `columns` elements, one behind the other. Block (row,
// column) of row_blocks x column_blocks writes `tile_rows` rows and `tile_columns` columns. What has
// no rows is one column.
struct Tiles {
  size_t columns, tile_rows, tile_columns;
  unsigned row, column, row_blocks, column_blocks;
};

// Who stores a chunk into the memory of ranks of the same node.
enum class Issuer {
  LastBlock,  // the block that completes it
  EachBlock,  // every block its own tile
  OneOfSm,    // one block of an SM at a time, tiles that are ready: the others compute meanwhile
};

__device__ inline unsigned blocks_of_grid() { return gridDim.x * gridDim.y * gridDim.z; }

template <Path path, Issuer issuer>
class ChunkSender {
 public:
  // By all blocks, when they begin.
  __device__ explicit ChunkSender(const Forward& forward) : gather_(forward) {
    if (forward.bytes == 0) return;
    if (thread() != 0) return;
    const bool first = atomicInc(begun(), blocks_of_grid() - 1) == 0;
    // Who left tiles to others did so before the last block began: that one finds them.
    if constexpr (issuer == Issuer::OneOfSm) __threadfence();
    for (int p = 0; first && p < ranks(); ++p) {
      if (p != rank()) announce<path>(site(), 0, p, round_of(0) + 1);
    }
  }

  // By one block, behind the kernel that has sent: what follows sees all ranks' parts.
  static __device__ void await_sent(const Forward& forward) {
    ChunkSender(forward, Behind{}).await_all(0);
  }

  // By all threads of a block, when it has written its tile of `out`.
  template <typename T>
  __device__ void block_done(const T* out, const Tiles& tiles) const {
    if (gather_.bytes == 0) return;
    const unsigned round = round_of(0);  // it goes up when all blocks are counted
    const Rows rows = rows_of(out, tiles, sizeof(T));
    if (rows.bytes == 0) {
      if (!last_of(&site().counters[1], blocks_of_grid())) return;
      for (int chunk = 0; chunk < gather_.chunks; ++chunk) send(chunk, true);
      pass_on(round);
      return;
    }
    if (issuer == Issuer::OneOfSm && blocks_of_grid() <= TileQueue::kMost) {
      store_ready(tiles, rows, sizeof(T), round);
    } else {
      tile_written(tiles, rows, sizeof(T));
    }
    pass_on(round);
  }

 private:
  struct Rows;
  struct Behind {};
  __device__ ChunkSender(const Forward& forward, Behind) : gather_(forward) {}

  // By the whole block, which sees all of the tile.
  __device__ void tile_written(const Tiles& tiles, const Rows& rows, size_t element) const {
    if constexpr (issuer != Issuer::LastBlock) {
      __syncthreads();
      await_entry();
      store_tile(tiles, rows, element);
    }
    const size_t begin = tiles.row * rows.tile_bytes;
    const size_t end = min(begin + rows.tile_bytes, gather_.bytes);
    for (int chunk = begin / gather_.chunk_bytes; chunk * gather_.chunk_bytes < end; ++chunk) {
      if (last_of(&site().counters[1 + chunk], blocks_in(chunk, tiles, rows)))
        send(chunk, issuer == Issuer::LastBlock);
    }
  }

  // Blocks of an SM end at about the same time. If all of them stored, nobody would compute: one
  // stores for all, and the places of the others are free for the next blocks. When all have begun
  // there is nothing else to do, and every block stores what it finds.
  __device__ void store_ready(Tiles tiles, const Rows& rows, size_t element,
                              unsigned round) const {
    __shared__ int found;
    bool entered = false;  // of one thread
    const int own = tiles.row * tiles.column_blocks + tiles.column;
    __syncthreads();
    if (thread() == 0) {
      found = own;
      if (!has_begun() && !(entered = gather_.queue->enter())) {
        gather_.queue->push(round, own);
        // The last block to begin finds it, if that has not begun yet.
        found = has_begun() ? gather_.queue->pop(round) : -1;
      }
    }
    __syncthreads();
    while (found >= 0) {
      tiles.row = found / tiles.column_blocks;
      tiles.column = found % tiles.column_blocks;
      tile_written(tiles, rows, element);
      __syncthreads();
      if (thread() == 0) found = gather_.queue->pop(round);
      __syncthreads();
    }
    if (entered) gather_.queue->leave();
  }

  struct Rows {
    size_t bytes, tile_bytes;  // of a row, and of all rows of a tile; none: no such rows
  };

  __device__ const Site& site() const { return gather_.site; }
  __device__ int rank() const { return site().comm.rank; }
  __device__ int ranks() const { return site().comm.nRanks; }
  __device__ int in_node() const { return site().comm.lsaSize; }
  __device__ bool is_rail(int peer) const {
    return peer % in_node() == rank() % in_node() && !reaches<path>(site(), peer);
  }
  __device__ unsigned* begun() const { return &site().counters[site().channels]; }
  // The round that a flag is in is the same for all peers.
  __device__ unsigned round_of(int index) const { return site().rounds[index * ranks()]; }

  // Nothing where the grid is not what covers the data.
  __device__ Rows rows_of(const void* out, const Tiles& tiles, size_t element) const {
    const size_t bytes = tiles.columns * element;
    if (out != gather_.from || bytes == 0 || gather_.bytes % bytes != 0) return {0, 0};
    if (tiles.tile_rows == 0 || tiles.tile_columns == 0) return {0, 0};
    const bool covers = divide_up(gather_.bytes / bytes, tiles.tile_rows) == tiles.row_blocks &&
                        divide_up(tiles.columns, tiles.tile_columns) == tiles.column_blocks &&
                        tiles.row_blocks * tiles.column_blocks == blocks_of_grid();
    return covers ? Rows{bytes, tiles.tile_rows * bytes} : Rows{0, 0};
  }

  // Blocks whose rows reach into the chunk.
  __device__ unsigned blocks_in(int chunk, const Tiles& tiles, const Rows& rows) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t end = min(begin + gather_.chunk_bytes, gather_.bytes);
    return (divide_up(end, rows.tile_bytes) - begin / rows.tile_bytes) * tiles.column_blocks;
  }

  __device__ void await_entry() const {
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p != rank()) await_announced<path>(site(), 0, p, round_of(0) + 1);
    }
    __syncthreads();
  }

  __device__ unsigned char* part() const {
    return (unsigned char*)ncclGetLocalPointer(gather_.window, gather_.offset);
  }
  __device__ bool in_place() const { return (const char*)part() == gather_.from; }

  // Pack i of `count` bytes to the other ranks of the node. Each begins with its neighbour, so that
  // no receiver is everybody's first.
  __device__ void store_pack(Place<unsigned char> to, size_t i, size_t count,
                             const Pack<unsigned char>& pack) const {
    if constexpr (path == Path::Multimem) {
      if (takes_pack(to, i, count)) {
        multimem_store(multimem_pointer(site(), to) + i, pack);
        return;
      }
    }
    for (int k = 1; k < ranks(); ++k) {
      const int p = (rank() + k) % ranks();
      if (reaches<path>(site(), p))
        store((unsigned char*)peer_pointer(site(), to.window, to.offset, p), i, count, pack);
    }
  }
  // `count` bytes at `from`, to where `to` is on the other ranks of the node, and here if need be.
  __device__ void store_all(Place<unsigned char> to, const unsigned char* from,
                            size_t count) const {
    constexpr int kUnroll = 4;
    unsigned char* here = (unsigned char*)to.here();
    const size_t all = packs<unsigned char>(count);
    for (size_t base = thread(); base < all; base += kUnroll * threads()) {
      Pack<unsigned char> pack[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (base + u * threads() < all) pack[u] = load(from, base + u * threads(), count);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const size_t i = base + u * threads();
        if (i >= all) break;
        if (here != from) store(here, i, count, pack[u]);
        store_pack(to, i, count, pack[u]);
      }
    }
  }

  __device__ bool stores() const {
    return path != Path::Gin || !in_place();
  }

  __device__ void store_tile(const Tiles& tiles, const Rows& rows, size_t element) const {
    if (!stores()) return;
    const size_t first = tiles.row * rows.tile_bytes;
    const size_t column = tiles.column * tiles.tile_columns * element;
    size_t width = min(tiles.tile_columns * element, rows.bytes - column);
    size_t height = min(rows.tile_bytes, gather_.bytes - first) / rows.bytes;
    if (width == rows.bytes) width *= height, height = 1;  // whole rows are one piece
    const size_t packs_in_row = packs<unsigned char>(width);
    constexpr int kUnroll = 8;
    for (size_t base = thread(); base < height * packs_in_row; base += kUnroll * threads()) {
      const size_t left = divide_up(height * packs_in_row - base, threads());
      const auto place = [&](int u) {
        return first + (base + u * threads()) / packs_in_row * rows.bytes + column;
      };
      const auto pack_of = [&](int u) { return (base + u * threads()) % packs_in_row; };
      Pack<unsigned char> pack[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u < left)
          pack[u] = load((const unsigned char*)gather_.from + place(u), pack_of(u), width);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u >= left) break;
        if (!in_place()) store(part() + place(u), pack_of(u), width, pack[u]);
        store_pack({gather_.window, gather_.offset + place(u)}, pack_of(u), width, pack[u]);
      }
    }
  }

  // By the whole block, which has seen everything in the chunk.
  __device__ void send(int chunk, bool store) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t count = min(gather_.chunk_bytes, gather_.bytes - begin);
    await_entry();
    if (store && stores())
      store_all({gather_.window, gather_.offset + begin},
                (const unsigned char*)gather_.from + begin, count);
    __syncthreads();
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p != rank()) announce_chunk(chunk, begin, count, p);
    }
    part_done();
  }

  // What this rank sends, and what it passes on: who has done the last part waits for what comes.
  __device__ int passed_on() const {
    return path == Path::Hybrid ? (ranks() / in_node() - 1) * gather_.chunks : 0;
  }
  __device__ void part_done() const {
    if (!last_of(&site().counters[0], gather_.chunks + passed_on())) return;
    if (gather_.waits) await_all(1);
    finish();
  }

  // Chunks that come from the rails go to the other ranks of the node. Blocks take them one by one,
  // in the order in which they are sent.
  __device__ void pass_on(unsigned round) const {
    if constexpr (path == Path::Hybrid) {
      __shared__ int taken;
      for (;;) {
        __syncthreads();
        if (thread() == 0) taken = has_begun() ? take(round) : -1;
        __syncthreads();
        if (taken < 0) return;
        const int others = ranks() / in_node() - 1, node = taken % others;
        const int own = rank() / in_node();
        pass_on(taken / others, (node < own ? node : node + 1) * in_node() + rank() % in_node());
        part_done();
      }
    }
  }
  // The next part of this round that nobody has taken, by one thread; -1: there is none. The word
  // has the round as well, so that nothing is reset: blocks may come here when all has ended.
  __device__ int take(unsigned round) const {
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(
        site().counters[site().channels - 1]);
    unsigned before = word.load(cuda::memory_order_relaxed);
    for (;;) {
      const unsigned part = before >> 16 == (round & 0xffff) ? before & 0xffff : 0;
      if (part >= passed_on()) return -1;
      if (word.compare_exchange_weak(before, round << 16 | (part + 1),
                                     cuda::memory_order_relaxed))
        return part;
    }
  }
  __device__ bool has_begun() const {
    return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*begun())
               .fetch_add(0, cuda::memory_order_acq_rel) == 0;
  }

  // A chunk of `source` that has come through the network, to the other ranks of the node.
  __device__ void pass_on(int chunk, int source) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t count = min(gather_.chunk_bytes, gather_.bytes - begin);
    if (thread() == 0) await_announced<path>(site(), 1 + chunk, source, round_of(1 + chunk) + 1);
    __syncthreads();
    const size_t offset = gather_.offset - rank() * gather_.bytes + source * gather_.bytes + begin;
    store_all({gather_.window, offset},
              (const unsigned char*)ncclGetLocalPointer(gather_.window, offset), count);
    __syncthreads();
    const int number = flag_number(site(), 1 + chunk, source);
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p == rank() || !reaches<path>(site(), p)) continue;
      raise((unsigned*)peer_pointer(site(), site().window, number * sizeof(unsigned), p),
            round_of(1 + chunk) + 1);
    }
  }

  // Some chunks of other nodes come from a rank of this one.
  __device__ void await_chunk(int chunk, int source, unsigned ahead) const {
    const unsigned round = round_of(1 + chunk) + ahead;
    if (path == Path::Hybrid && !reaches<path>(site(), source) && !is_rail(source)) {
      const int number = flag_number(site(), 1 + chunk, source);
      await((unsigned*)ncclGetLocalPointer(site().window, number * sizeof(unsigned)), round);
    } else {
      await_announced<path>(site(), 1 + chunk, source, round);
    }
  }

  // What is on its way through the network has been read when the thread goes on: the next launch
  // may overwrite it.
  __device__ void announce_chunk(int chunk, size_t begin, size_t count, int peer) const {
    if (reaches<path>(site(), peer)) {
      announce<path>(site(), 1 + chunk, peer, round_of(1 + chunk) + 1);
    } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
      if (path == Path::Hybrid && !is_rail(peer)) return;
      const ncclGin gin(site().comm, 1 + chunk);
      const size_t at = gather_.offset + begin;
      gin.put(ncclTeamWorld(site().comm), peer, gather_.window, at, gather_.window, at, count,
              ncclGin_SignalInc{(ncclGinSignal_t)flag_number(site(), 1 + chunk, rank())});
      gin.flush(ncclCoopThread());
    }
  }

  // What comes `ahead` rounds after the last one that has ended here.
  __device__ void await_all(unsigned ahead) const {
    for (int i = thread(); i < ranks() * gather_.chunks; i += threads()) {
      if (i % ranks() == rank()) continue;
      await_chunk(i / ranks(), i % ranks(), ahead);
    }
    __syncthreads();
  }

  // All blocks are through with the rounds by now.
  __device__ void finish() const {
    for (int i = thread(); i < ranks() * (1 + gather_.chunks); i += threads())
      site().rounds[i] += 1;
  }

  const Forward& gather_;
};

}  // namespace cuco
