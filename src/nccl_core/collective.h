// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL's collectives without any back end: argument checks, agreement between ranks, and the
/// movement of bytes. Whoever owns the memory (virtual cluster, loopback) calls perform().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_core/types.h"

namespace cuco::nccl_core {

enum class Kind : std::uint8_t {
  AllReduce,
  Reduce,
  Broadcast,
  AllGather,
  ReduceScatter,
  AllToAll,
  Gather,
  Scatter,
  Send,
  Recv,
};

/// One rank's call. Addresses are device addresses; they are only compared and offset here.
struct Call {
  Kind kind = Kind::AllReduce;
  DataType type = DataType::Float32;
  ReduceOp op = ReduceOp::Sum;
  std::int32_t root = 0;  ///< The peer, for Send and Recv.
  std::uint64_t count = 0;
  std::uint64_t send = 0;
  std::uint64_t recv = 0;
  std::array<std::byte, 8> scalar = {};  ///< Of a pre-multiplied sum.
};

/// A range of device memory.
struct Range {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] std::string_view name_of(Kind kind);
[[nodiscard]] bool is_point_to_point(Kind kind);
[[nodiscard]] bool is_reducing(Kind kind);

/// "ncclAllReduce(count 4096, ncclFloat32, ncclSum)".
[[nodiscard]] std::string describe(const Call& call);

/// Checks one rank's arguments as NCCL does before it enqueues anything.
[[nodiscard]] Check check_arguments(const Call& call, int ranks);

/// What `rank` reads and writes; empty ranges for what it does not use.
[[nodiscard]] Range read_range(const Call& call, int rank, int ranks);
[[nodiscard]] Range write_range(const Call& call, int rank, int ranks);

/// Says how the calls of two ranks of one collective differ, or nothing when they agree.
[[nodiscard]] Check check_agreement(const Call& mine,
                                    int my_rank,
                                    const Call& theirs,
                                    int their_rank);

/// Computes a collective: `calls[r]` is rank r's call; all agree and every range is readable and
/// writable memory of this process.
void perform(std::span<const Call> calls);

/// Copies from a Send to its Recv.
void perform_send(const Call& send, const Call& recv);

}  // namespace cuco::nccl_core
