// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/collective.h"

#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "nccl_core/reduction.h"

namespace cuco::nccl_core {
namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter",
    "ncclAlltoAll",  "ncclGather", "ncclScatter",   "ncclSend",      "ncclRecv"};

bool has_root(Kind kind) {
  return kind == Kind::Reduce || kind == Kind::Broadcast || kind == Kind::Gather ||
         kind == Kind::Scatter || is_point_to_point(kind);
}

/// How many blocks of `count` elements a rank reads and writes.
struct Blocks {
  std::uint64_t read = 1;
  std::uint64_t write = 1;
};

Blocks blocks(const Call& call, int rank, int ranks) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const bool root = rank == call.root;
  switch (call.kind) {
    case Kind::AllReduce:
      return {1, 1};
    case Kind::Reduce:
      return {1, root ? 1U : 0U};
    case Kind::Broadcast:
      return {root ? 1U : 0U, 1};
    case Kind::AllGather:
      return {1, n};
    case Kind::ReduceScatter:
      return {n, 1};
    case Kind::AllToAll:
      return {n, n};
    case Kind::Gather:
      return {1, root ? n : 0U};
    case Kind::Scatter:
      return {root ? n : 0U, 1};
    case Kind::Send:
      return {1, 0};
    case Kind::Recv:
      return {0, 1};
  }
  return {};
}

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

/// Ranges may overlap where a collective is in place.
void copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  if (destination != source && bytes != 0) std::memmove(at(destination), at(source), bytes);
}

/// Reduces the block of all ranks that starts `offset` bytes into their send buffers.
void reduce_block(std::span<const Call> calls, std::uint64_t offset, std::byte* output) {
  std::vector<const std::byte*> inputs;
  std::vector<std::array<std::byte, 8>> scalars;
  for (const Call& call : calls) {
    inputs.push_back(at(call.send) + offset);
    scalars.push_back(call.scalar);
  }
  const Call& any = calls.front();
  reduce({any.type, any.op, scalars}, inputs, output, any.count);
}

}  // namespace

std::string_view name_of(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_point_to_point(Kind kind) {
  return kind == Kind::Send || kind == Kind::Recv;
}

bool is_reducing(Kind kind) {
  return kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter;
}

std::string describe(const Call& call) {
  std::string text =
      fmt::format("{}(count {}, {}", name_of(call.kind), call.count, name_of(call.type));
  if (is_reducing(call.kind)) text += fmt::format(", {}", name_of(call.op));
  if (has_root(call.kind)) {
    text += fmt::format(", {} {}", is_point_to_point(call.kind) ? "peer" : "root", call.root);
  }
  return text + ")";
}

// What NCCL rejects on one rank, before it knows of the others.
Check check_arguments(const Call& call, int ranks) {
  const std::string_view name = name_of(call.kind);
  if (!is_valid(call.type)) {
    return Problem{Code::InvalidArgument,
                   fmt::format("{}: invalid type {}", name, static_cast<int>(call.type))};
  }
  if (is_reducing(call.kind) && static_cast<int>(call.op) > kBuiltInOps) {
    return Problem{Code::InvalidArgument, fmt::format("{}: invalid reduction operation {}", name,
                                                      static_cast<int>(call.op))};
  }
  if (has_root(call.kind) && (call.root < 0 || call.root >= ranks)) {
    return Problem{Code::InvalidArgument,
                   fmt::format("{}: {} must be in [0, {}): {}", name,
                               is_point_to_point(call.kind) ? "peer" : "root", ranks, call.root)};
  }
  return std::nullopt;
}

Range read_range(const Call& call, int rank, int ranks) {
  return {call.send, blocks(call, rank, ranks).read * call.count * size_of(call.type)};
}

Range write_range(const Call& call, int rank, int ranks) {
  return {call.recv, blocks(call, rank, ranks).write * call.count * size_of(call.type)};
}

// NCCL itself hangs or corrupts data here; we can compare the calls and name both.
Check check_agreement(const Call& mine, int my_rank, const Call& theirs, int their_rank) {
  std::string_view what;
  if (mine.kind != theirs.kind) {
    what = "the ranks call different collectives";
  } else if (mine.count != theirs.count) {
    what = "the counts differ";
  } else if (mine.type != theirs.type) {
    what = "the data types differ";
  } else if (is_reducing(mine.kind) && mine.op != theirs.op) {
    what = "the reductions differ";
  } else if (has_root(mine.kind) && mine.root != theirs.root) {
    what = "the roots differ";
  } else {
    return std::nullopt;
  }
  return Problem{Code::InvalidUsage,
                 fmt::format("mismatched collective: {}: rank {} calls {}, rank {} calls {}; all "
                             "ranks of a communicator must make the same calls in the same order",
                             what, my_rank, describe(mine), their_rank, describe(theirs))};
}

void perform(std::span<const Call> calls) {
  const Call& any = calls.front();
  const auto ranks = static_cast<std::uint64_t>(calls.size());
  const std::uint64_t block = any.count * size_of(any.type);
  const auto root = static_cast<std::size_t>(has_root(any.kind) ? any.root : 0);
  switch (any.kind) {
    case Kind::AllReduce: {
      // Reduced aside first: a rank's output may be another use of its input.
      std::vector<std::byte> result(block);
      reduce_block(calls, 0, result.data());
      for (const Call& call : calls)
        std::memcpy(at(call.recv), result.data(), block);
      return;
    }
    case Kind::Reduce:
      return reduce_block(calls, 0, at(calls[root].recv));
    case Kind::Broadcast:
      for (const Call& call : calls)
        copy(call.recv, calls[root].send, block);
      return;
    case Kind::AllGather:
      for (const Call& call : calls) {
        for (std::uint64_t r = 0; r < ranks; ++r)
          copy(call.recv + r * block, calls[r].send, block);
      }
      return;
    case Kind::ReduceScatter:
      for (std::uint64_t r = 0; r < ranks; ++r)
        reduce_block(calls, r * block, at(calls[r].recv));
      return;
    case Kind::AllToAll: {
      // In place, blocks (r, s) and (s, r) change places; staging one rank's input at a time
      // would not be enough, so that all of it is kept.
      std::vector<std::vector<std::byte>> inputs;
      for (const Call& call : calls)
        inputs.emplace_back(at(call.send), at(call.send) + ranks * block);
      for (std::uint64_t r = 0; r < ranks; ++r) {
        for (std::uint64_t s = 0; s < ranks; ++s) {
          std::memcpy(at(calls[r].recv) + s * block, inputs[s].data() + r * block, block);
        }
      }
      return;
    }
    case Kind::Gather:
      for (std::uint64_t r = 0; r < ranks; ++r) {
        copy(calls[root].recv + r * block, calls[r].send, block);
      }
      return;
    case Kind::Scatter:
      for (std::uint64_t r = 0; r < ranks; ++r) {
        copy(calls[r].recv, calls[root].send + r * block, block);
      }
      return;
    case Kind::Send:
    case Kind::Recv:
      break;
  }
  CUCO_ASSERT(!is_point_to_point(any.kind));
}

void perform_send(const Call& send, const Call& recv) {
  CUCO_ASSERT(send.kind == Kind::Send && recv.kind == Kind::Recv);
  copy(recv.recv, send.send, send.count * size_of(send.type));
}

}  // namespace cuco::nccl_core
