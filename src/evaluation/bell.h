// SPDX-License-Identifier: Apache-2.0
/// \file
/// A page that the process with the clock and a rank share, to start and stop within a microsecond.
/// The rank can write what it likes there: "done" too early only means that its memory is looked at
/// too early.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuco::evaluation {

struct Bell {
  std::atomic<std::uint32_t> armed{0};  ///< The rank waits for this round...
  std::atomic<std::uint32_t> go{0};     ///< ...which has begun...
  std::atomic<std::uint32_t> done{0};   ///< ...and ended.
};
inline constexpr std::size_t kBellBytes = 4096;

/// Rounds with an empty kernel, before the candidate is loaded: how long after "done" the other
/// process gets the GPU when nothing was left to do.
inline constexpr int kEmptyRounds = 32;

/// Descriptors that a rank on a real GPU finds.
inline constexpr int kRankSocketFd = 3;
inline constexpr int kRankBellFd = 4;

}  // namespace cuco::evaluation
