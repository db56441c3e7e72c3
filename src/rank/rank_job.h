// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the judge sends the ranks before it has them allocate. Nothing in it is secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shims/wire/view.h"

namespace cuco::rank {

inline constexpr std::size_t kUniqueIdBytes = 128;
/// Bytes after each buffer that belong to nobody and must stay as they are.
inline constexpr std::size_t kGuardBytes = 4096;

struct RankJob {
  std::array<std::byte, kUniqueIdBytes> unique_id{};
  int ranks = 0;
  int sets = 0;
  std::vector<long long> params;
  std::vector<std::size_t> input_bytes;
  std::vector<std::size_t> output_bytes;
};

/// unique_id, then 64-bit words: ranks, sets, and three lists, each with its length first.
[[nodiscard]] std::vector<std::byte> encode_rank_job(const RankJob& job);
[[nodiscard]] std::optional<RankJob> decode_rank_job(wire::Bytes bytes);

/// Where the buffers lie if they are one piece of memory: inputs of all sets, then outputs.
struct RankLayout {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};
[[nodiscard]] RankLayout lay_out(const RankJob& job);

}  // namespace cuco::rank
