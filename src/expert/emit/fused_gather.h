// SPDX-License-Identifier: Apache-2.0
/// \file
/// An all-gather that is sent by the kernel that makes the data, chunk by chunk, and awaited there,
/// by a kernel of its own behind independent work, or by the kernel that reads it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "expert/emit/emit.h"

namespace cuco::expert::emit {

/// How the producer's grid covers this rank's part of the result, a row-major matrix: expressions
/// that hold inside the kernel; where the consumer waits, all but the last two hold there as well,
/// with the same values (blockDim would not). A vector has one column. Block (block_row,
/// block_column) writes `tile_rows` rows and `tile_columns` columns, and no other block does.
struct TileMap {
  std::string rows;
  std::string columns;
  std::string tile_rows;
  std::string tile_columns;
  std::string block_row;
  std::string block_column;
};

/// Who waits for the peers' parts.
enum class Waiting {
  Producer,  ///< The producer's last block: whatever follows stays as it is.
  Between,   ///< A kernel in the place of the collective: work before it overlaps.
  Consumer,  ///< Each block of the one kernel that reads the result, for the rows that it reads.
};

struct FusedGather {
  std::string name;  ///< An identifier that is free at file scope and in the kernels.
  Element element = Element::Float;
  design::Backend backend = design::Backend::Lsa;
  Waiting waiting = Waiting::Producer;
  TileMap tiles;
  int block_rows = 1;     ///< Rows of blocks in a chunk.
  int max_chunks = 64;    ///< Chunks get longer where there would be more.
  std::string output;     ///< In the producer: the pointer to this rank's part that it writes.
  std::string source;     ///< In the consumer: the rank whose part the block reads, …
  std::string first_row;  ///< … the first of its rows, …
  std::string row_count;  ///< … and how many.
  /// `recv` and `count` hold where the kernels are launched; `send` and `root` are not used.
  Expressions expressions;
};

/// What is added to a kernel: to its parameters, its launch's arguments, and its body.
struct KernelPieces {
  std::string parameters;
  std::string arguments;
  std::string prologue;  ///< A statement at the beginning, for all blocks and threads.
  std::string epilogue;  ///< A statement that every thread reaches at the end, once.
};

struct EmittedGather {
  std::string include;
  std::string code;  ///< At file scope; may be empty.
  std::string member;
  std::string setup;
  std::string call;  ///< In the place of the collective.
  std::string teardown;
  SharedBuffer result;
  KernelPieces producer;
  KernelPieces consumer;  ///< Waiting::Consumer only.
  std::vector<Precondition> preconditions;
};

inline constexpr std::string_view kChunksHeaderName = "cuco_chunks.cuh";
[[nodiscard]] std::string_view chunks_header();
[[nodiscard]] std::string_view name(Waiting waiting);

[[nodiscard]] Result<EmittedGather> emit(const FusedGather& request);

}  // namespace cuco::expert::emit
