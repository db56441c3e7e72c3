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

// Division of 64 bits is slow, and most sizes have less.
__device__ inline size_t quotient(size_t a, size_t b) {
  return (a | b) >> 32 == 0 ? (unsigned)a / (unsigned)b : a / b;
}

template <Path path, Issuer issuer>
class ChunkSender {
 public:
  // By all blocks, when they begin.
  __device__ explicit ChunkSender(const Forward& forward) : gather_(forward) {
    if (forward.bytes == 0 || thread() >= 32) return;
    const unsigned lanes = min(threads(), 32u), warp = ~0u >> (32 - lanes);
    unsigned before = 0;
    if (thread() == 0) before = atomicInc(begun(), blocks_of_grid() - 1);
    before = __shfl_sync(warp, before, 0);
    // Who left tiles to others did so before the last block began: that one finds them.
    if (issuer == Issuer::OneOfSm && before == blocks_of_grid() - 1) __threadfence();
    for (int p = thread(); before == 0 && p < ranks(); p += lanes) {
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
    if (gather_.bytes != 0) done(gather_, out, tiles, sizeof(T));
  }

 private:
  struct Rows;
  struct Behind {};
  __device__ ChunkSender(const Forward& forward, Behind) : gather_(forward) {}

  // A function of its own: what it needs takes no registers from the code of the kernel.
  static __device__ __noinline__ void done(const Forward& forward, const void* out, Tiles tiles,
                                           size_t element) {
    ChunkSender(forward, Behind{}).done(out, tiles, element);
  }
  __device__ void done(const void* out, const Tiles& tiles, size_t element) const {
    const unsigned round = round_of(0);  // it goes up when all blocks are counted
    const Rows rows = rows_of(out, tiles, element);
    if (rows.bytes == 0) {
      if (!last_of(&site().counters[1], blocks_of_grid())) return;
      for (int chunk = 0; chunk < gather_.chunks; ++chunk) send(chunk, true);
    } else if (issuer == Issuer::OneOfSm && blocks_of_grid() <= TileQueue::kMost) {
      store_ready(tiles, rows, element, round);
    } else {
      tile_written(tiles, rows, element);
    }
    pass_on(round);
  }

  // By the whole block, which sees all of the tile. True: that was the end of all.
  __device__ bool tile_written(const Tiles& tiles, const Rows& rows, size_t element) const {
    if constexpr (issuer != Issuer::LastBlock) {
      __syncthreads();
      await_entry();
      store_tile(tiles, rows, element);
    }
    const size_t begin = tiles.row * rows.tile_bytes;
    const size_t end = min(begin + rows.tile_bytes, gather_.bytes);
    bool over = false;
    for (int chunk = quotient(begin, gather_.chunk_bytes); chunk * gather_.chunk_bytes < end;
         ++chunk) {
      if (last_of(&site().counters[1 + chunk], blocks_in(chunk, tiles, rows)))
        over = send(chunk, issuer == Issuer::LastBlock) || over;
    }
    return over;
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
      if (!seems_begun() && !(entered = gather_.queue->enter())) {
        gather_.queue->push(round, own);
        // The last block to begin finds it, if that has not begun yet.
        found = has_begun() ? gather_.queue->pop(round) : -1;
      }
    }
    __syncthreads();
    while (found >= 0) {
      tiles.row = found / tiles.column_blocks;
      tiles.column = found % tiles.column_blocks;
      if (tile_written(tiles, rows, element)) break;
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
    if (out != gather_.from || bytes == 0) return {0, 0};
    if (tiles.tile_rows == 0 || tiles.tile_columns == 0) return {0, 0};
    const size_t all = quotient(gather_.bytes, bytes);
    const bool covers = all * bytes == gather_.bytes &&
                        covered(all, tiles.tile_rows, tiles.row_blocks) &&
                        covered(tiles.columns, tiles.tile_columns, tiles.column_blocks) &&
                        tiles.row_blocks * tiles.column_blocks == blocks_of_grid();
    return covers ? Rows{bytes, tiles.tile_rows * bytes} : Rows{0, 0};
  }

  // So many pieces of `piece` cover `all`, and one less does not.
  static __device__ bool covered(size_t all, size_t piece, size_t pieces) {
    return pieces * piece >= all && (pieces - 1) * piece < all;
  }

  // Blocks whose rows reach into the chunk.
  __device__ unsigned blocks_in(int chunk, const Tiles& tiles, const Rows& rows) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t end = min(begin + gather_.chunk_bytes, gather_.bytes);
    return (quotient(end + rows.tile_bytes - 1, rows.tile_bytes) -
            quotient(begin, rows.tile_bytes)) * tiles.column_blocks;
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

  // What `store_at` does where the data begins, done on all ranks of the node, and here if need be.
  // Each rank begins with its neighbour, so that no receiver is everybody's first.
  template <typename StoreAt>
  __device__ void for_all(size_t offset, const unsigned char* from, StoreAt store_at) const {
    unsigned char* here = Place<unsigned char>{gather_.window, offset}.here();
    if (here != from) store_at(here);
    for (int k = 1; k < ranks(); ++k) {
      const int p = rank() + k < ranks() ? rank() + k : rank() + k - ranks();
      if (reaches<path>(site(), p))
        store_at((unsigned char*)peer_pointer(site(), gather_.window, offset, p));
    }
  }

  // Rows of `width` bytes at `from`, to where byte `offset` of the window is on the other ranks of
  // the node, and here if need be: by the whole block.
  __device__ void store_rows(size_t offset, const unsigned char* from, size_t pitch,
                             unsigned height, size_t width) const {
    constexpr int kUnroll = 8;
    using Bytes = Pack<unsigned char>;
    // From one pack of a thread to its next: nothing is divided on the way.
    const unsigned in_row = packs<unsigned char>(width);
    const unsigned rows_on = threads() / in_row, packs_on = threads() % in_row;
    unsigned row = thread() / in_row, i = thread() % in_row;
    const bool whole = offset % 16 == 0 && pitch % 16 == 0 && width % 16 == 0;
    // Where the block takes whole rows, a thread's packs are a step apart: nothing is asked of them.
    if (path != Path::Multimem && whole && packs_on == 0 && aligned(from)) {
      const size_t step = rows_on * pitch;
      for (; row + (kUnroll - 1) * rows_on < height; row += kUnroll * rows_on) {
        const size_t first = row * pitch + i * sizeof(Bytes);
        Bytes pack[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) pack[u] = *(const Bytes*)(from + first + u * step);
        for_all(offset, from, [&](unsigned char* base) {
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) *(Bytes*)(base + first + u * step) = pack[u];
        });
      }
    }
    while (row < height) {
      Bytes pack[kUnroll];
      size_t at[kUnroll];
      unsigned index[kUnroll];
      int taken = 0;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        at[u] = row * pitch, index[u] = i;
        if (row < height) pack[u] = load(from + at[u], i, width), ++taken;
        row += rows_on, i += packs_on;
        if (i >= in_row) i -= in_row, ++row;
      }
      if constexpr (path == Path::Multimem) {
        if (whole) {
          char* all = (char*)multimem_pointer(site(), Place<char>{gather_.window, offset});
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) {
            if (u < taken) multimem_store((Bytes*)(all + at[u]) + index[u], pack[u]);
          }
          continue;
        }
      }
      for_all(offset, from, [&](unsigned char* base) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          if (u < taken) store(base + at[u], index[u], width, pack[u]);
        }
      });
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
    size_t height = min(tiles.tile_rows, quotient(gather_.bytes - first, rows.bytes));
    if (width == rows.bytes) width *= height, height = 1;  // whole rows are one piece
    store_rows(gather_.offset + first + column, (const unsigned char*)gather_.from + first + column,
               rows.bytes, height, width);
  }

  // By the whole block, which has seen everything in the chunk. True: it was the last part.
  __device__ bool send(int chunk, bool store) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t count = min(gather_.chunk_bytes, gather_.bytes - begin);
    // Who stored has waited for it.
    if (store || path == Path::Gin || path == Path::Hybrid) await_entry();
    if (store && stores())
      store_rows(gather_.offset + begin, (const unsigned char*)gather_.from + begin, 0, 1, count);
    __syncthreads();
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p != rank()) announce_chunk(chunk, begin, count, p);
    }
    return part_done();
  }

  // What this rank sends, and what it passes on: who has done the last part waits for what comes.
  __device__ int passed_on() const {
    return path == Path::Hybrid ? (ranks() / in_node() - 1) * gather_.chunks : 0;
  }
  __device__ bool part_done() const {
    const int parts = gather_.chunks + passed_on();
    if (parts > 1 && !last_of(&site().counters[0], parts)) return false;
    if (gather_.waits) await_all(1);
    await_read();
    finish();
    return true;
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
        pass_on(gather_, taken / others,
                (node < own ? node : node + 1) * in_node() + rank() % in_node());
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
  // Whether all blocks have begun: it may have been so for a while where this still says no.
  __device__ bool seems_begun() const {
    return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*begun())
               .load(cuda::memory_order_relaxed) == 0;
  }
  __device__ bool has_begun() const {
    return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*begun())
               .fetch_add(0, cuda::memory_order_acq_rel) == 0;
  }

  // A function of its own, as put_chunk() is.
  static __device__ __noinline__ void pass_on(const Forward& forward, int chunk, int source) {
    ChunkSender(forward, Behind{}).pass_on(chunk, source);
  }
  // A chunk of `source` that has come through the network, to the other ranks of the node.
  __device__ void pass_on(int chunk, int source) const {
    const size_t begin = chunk * gather_.chunk_bytes;
    const size_t count = min(gather_.chunk_bytes, gather_.bytes - begin);
    if (thread() == 0) await_announced<path>(site(), 1 + chunk, source, round_of(1 + chunk) + 1);
    __syncthreads();
    const size_t offset = gather_.offset - rank() * gather_.bytes + source * gather_.bytes + begin;
    store_rows(offset, (const unsigned char*)ncclGetLocalPointer(gather_.window, offset), 0, 1,
               count);
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

  // What goes through the network is counted when it has been read: await_read().
  __device__ void announce_chunk(int chunk, size_t begin, size_t count, int peer) const {
    if (reaches<path>(site(), peer)) {
      announce<path>(site(), 1 + chunk, peer, round_of(1 + chunk) + 1);
    } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
      if (path == Path::Hybrid && !is_rail(peer)) return;
      put_chunk(gather_, chunk, begin, count, peer);
    }
  }

  // A function of its own, as done() is: inside of that it leaves ptxas so few registers that the
  // kernel's loops work out their addresses again in every step (seen on sm_90).
  static __device__ __noinline__ void put_chunk(const Forward& forward, int chunk, size_t begin,
                                                size_t count, int peer) {
    const ncclDevComm& comm = forward.site.comm;
    const ncclGin gin(comm, 1 + chunk);
    const size_t at = forward.offset + begin;
    gin.put(ncclTeamWorld(comm), peer, forward.window, at, forward.window, at, count,
            ncclGin_SignalInc{(ncclGinSignal_t)flag_number(forward.site, 1 + chunk, comm.rank)},
            ncclGin_CounterInc{(ncclGinCounter_t)(1 + chunk)});
  }

  // The network has read what this rank has put: the next launch may overwrite it. Who puts a chunk
  // does not wait for that: other blocks want its place.
  __device__ void await_read() const {
    if constexpr (path == Path::Gin || path == Path::Hybrid) {
      const unsigned puts = path == Path::Gin ? ranks() - 1 : ranks() / in_node() - 1;
      for (int chunk = thread(); chunk < gather_.chunks; chunk += threads()) {
        const ncclGin gin(site().comm, 1 + chunk);
        gin.waitCounter(ncclCoopThread(), 1 + chunk, (round_of(1 + chunk) + 1) * puts, 32);
      }
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
    __syncthreads();
    for (int i = thread(); i < ranks() * (1 + gather_.chunks); i += threads())
      site().rounds[i] += 1;
  }

  const Forward& gather_;
};

}  // namespace cuco
