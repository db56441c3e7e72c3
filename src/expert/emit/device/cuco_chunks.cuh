// SPDX-License-Identifier: Apache-2.0
// An all-gather from inside the kernel that makes the data, chunk by chunk, and waiting for a chunk
// in the kernel that reads it. The site has one flag for entering and one for each chunk.
#pragma once

#include "cuco_device.cuh"

namespace cuco {

// How the blocks of a kernel cover a row-major matrix: block (r, c) writes `tile_rows` rows from
// r * tile_rows on, and `tile_columns` columns. A vector is a matrix with one column. A chunk is
// what `block_rows` rows of blocks write; a receiver can wait for it.
struct Tiling {
  size_t rows, columns, tile_rows, tile_columns;
  int block_rows;

  __device__ int grid_rows() const { return (int)divide_up(rows, tile_rows); }
  __device__ int grid_columns() const { return (int)divide_up(columns, tile_columns); }
  __device__ int chunks() const { return (int)divide_up(grid_rows(), block_rows); }
  __device__ int blocks_of(int chunk) const {
    return min(block_rows, grid_rows() - chunk * block_rows) * grid_columns();
  }
  // Elements of a chunk: they are contiguous.
  __device__ Range chunk(int index) const {
    const size_t size = block_rows * tile_rows * columns, end = rows * columns;
    const size_t begin = index * size;
    return {begin, min(size, end - begin), end};
  }
  // With no more chunks than the site has flags for; flag 0 is for entering.
  __device__ Tiling fitted_to(const Site& site) const {
    Tiling fitted = *this;
    fitted.block_rows = max(block_rows, (int)divide_up(grid_rows(), site.channels - 1));
    return fitted;
  }
};

// True in the first of `blocks` blocks to come here, for one thread of it.
__device__ inline bool first_of(unsigned* counter, unsigned blocks) {
  return thread() == 0 && atomicInc(counter, blocks - 1) == 0;
}

// The round that a chunk's flag is in is the same for all peers.
__device__ inline unsigned round_of(const Site& site, int index) {
  return site.rounds[index * site.comm.nRanks];
}

// An all-gather from inside the kernel that computes this rank's part. Blocks store their tiles
// into all ranks' results; the last block of a chunk announces it.
// Why it is safe: a rank announces that it has entered when its kernel begins, so that all earlier
// kernels of its stream have ended, whatever they read; nobody stores into its result before that.
// The first block to begin announces, before any block waits: the grid may be of any size.
// All blocks of the grid construct it, and call tile_done() once.
template <Path path>
class Sender {
 public:
  __device__ Sender(const Site& site, const Tiling& tiling)
      : site_(site), tiling_(tiling.fitted_to(site)) {
    const unsigned blocks = tiling_.grid_rows() * tiling_.grid_columns();
    if (first_of(&site_.counters[site_.channels], blocks)) {
      for (int p = 0; p < ranks(); ++p) {
        if (p != rank()) announce<path>(site_, 0, p, round_of(site_, 0) + 1);
      }
    }
  }

  // By the whole block, when it has written its tile of `from`. `slice` is this rank's part of the
  // result; it may be where `from` is. With `wait`, what follows the kernel sees all ranks' parts.
  template <typename T>
  __device__ void tile_done(Place<T> slice, const T* from, int block_row, int block_column,
                            bool wait) {
    __syncthreads();
    if (path != Path::Gin) await_entry();
    store_tile(slice, from, block_row, block_column);
    const int chunk = block_row / tiling_.block_rows;
    if (!last_of(&site_.counters[1 + chunk], tiling_.blocks_of(chunk))) return;
    if (path == Path::Gin) await_entry();
    send_chunk(slice, chunk);
    if (!last_of(&site_.counters[0], tiling_.chunks())) return;
    if (wait) await_all();
    finish();
  }

 private:
  __device__ int rank() const { return site_.comm.rank; }
  __device__ int ranks() const { return site_.comm.nRanks; }

  __device__ void await_entry() const {
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p != rank()) await_announced<path>(site_, 0, p, round_of(site_, 0) + 1);
    }
    __syncthreads();
  }

  template <typename T>
  __device__ void store_tile(Place<T> slice, const T* from, int block_row, int block_column) const {
    const size_t row = block_row * tiling_.tile_rows, column = block_column * tiling_.tile_columns;
    size_t height = min(tiling_.tile_rows, tiling_.rows - row);
    size_t width = min(tiling_.tile_columns, tiling_.columns - column);
    if (width == tiling_.columns) width *= height, height = 1;  // whole rows are one piece
    const size_t row_packs = packs<T>(width);
    for (size_t k = thread(); k < height * row_packs; k += threads()) {
      const size_t at = (row + k / row_packs) * tiling_.columns + column, i = k % row_packs;
      store_everywhere<path>(site_, slice + at, i, width, load(from + at, i, width));
    }
  }

  // The other blocks' stores come before the announcement: last_of() has seen to it. What is on its
  // way through the network is read when the thread goes on: the next launch may overwrite it.
  template <typename T>
  __device__ void send_chunk(Place<T> slice, int chunk) const {
    for (int p = thread(); p < ranks(); p += threads()) {
      if (p == rank()) continue;
      if (reaches<path>(site_, p)) {
        announce<path>(site_, 1 + chunk, p, round_of(site_, 1 + chunk) + 1);
      } else if constexpr (path == Path::Gin || path == Path::Hybrid) {
        const Range range = tiling_.chunk(chunk);
        const Place<T> part = slice + range.begin;
        const ncclGin gin(site_.comm, 1 + chunk);
        gin.put(ncclTeamWorld(site_.comm), p, part.window, part.offset, part.window, part.offset,
                range.count * sizeof(T),
                ncclGin_SignalInc{(ncclGinSignal_t)flag_number(site_, 1 + chunk, rank())});
        gin.flush(ncclCoopThread());
      }
    }
  }

  __device__ void await_all() const {
    for (int i = thread(); i < ranks() * tiling_.chunks(); i += threads()) {
      if (i % ranks() == rank()) continue;
      const int index = 1 + i / ranks();
      await_announced<path>(site_, index, i % ranks(), round_of(site_, index) + 1);
    }
    __syncthreads();
  }

  // All blocks are through with the rounds by now.
  __device__ void finish() const {
    __syncthreads();
    for (int i = thread(); i < ranks() * (1 + tiling_.chunks()); i += threads()) {
      site_.rounds[i] += 1;
    }
  }

  const Site& site_;
  const Tiling tiling_;
};

// In a kernel behind the one that sends: waits for what it reads.
template <Path path>
class Receiver {
 public:
  __device__ Receiver(const Site& site, const Tiling& tiling)
      : site_(site), tiling_(tiling.fitted_to(site)) {}

  // By the whole block: `count` rows of a rank's part, from row `first` on.
  __device__ void await_rows(int source, size_t first, size_t count) const {
    const size_t chunk_rows = tiling_.block_rows * tiling_.tile_rows;
    const int begin = first / chunk_rows, end = divide_up(first + count, chunk_rows);
    for (int chunk = begin + thread(); chunk < end && source != site_.comm.rank;
         chunk += threads()) {
      await_announced<path>(site_, 1 + chunk, source, round_of(site_, 1 + chunk));
    }
    __syncthreads();
  }

 private:
  const Site& site_;
  const Tiling tiling_;
};

// Waits for everything that the site's last sending kernel was sent, by one block.
template <Path path>
__device__ void await_chunks(const Site& site) {
  const int ranks = site.comm.nRanks;
  for (int i = thread(); i < ranks * (site.channels - 1); i += threads()) {
    if (i % ranks == site.comm.rank) continue;
    await_announced<path>(site, 1 + i / ranks, i % ranks, round_of(site, 1 + i / ranks));
  }
  __syncthreads();
}

}  // namespace cuco
