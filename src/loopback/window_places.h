// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the memory of each rank lies in the address space of a window.
#pragma once

#include <cstdint>

namespace cuco::loopback {

/// Ranks of a load/store team lie side by side, as NCCL's headers compute addresses of peers. Each
/// team has room for all ranks: who reaches for a rank of another team meets a gap and faults, as
/// on GPUs that share no memory.
struct WindowPlaces {
  int ranks = 1;
  int team = 1;              ///< Ranks in a load/store team.
  std::uint64_t stride = 0;  ///< Bytes from a rank to the next.

  [[nodiscard]] std::uint64_t of(int rank) const {
    return static_cast<std::uint64_t>(rank / team * ranks + rank % team) * stride;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    return of(ranks - 1) + static_cast<std::uint64_t>(ranks) * stride;
  }
};

}  // namespace cuco::loopback
