// SPDX-License-Identifier: Apache-2.0
/// \file
/// A page that the process with the clock and a rank share, to start and stop within a microsecond.
/// The rank can write what it likes there: "done" too early only means that its memory is read
/// too early.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

namespace cuco::rank {

struct StartPage {
  std::atomic<std::uint32_t> armed{0};  ///< The rank waits for this round...
  std::atomic<std::uint32_t> go{0};     ///< ...which has begun...
  std::atomic<std::uint32_t> done{0};   ///< ...and ended.
};
inline constexpr std::size_t kStartPageBytes = 4096;

/// Rounds with an empty kernel, before the candidate is loaded: how long after "done" the other
/// process gets the GPU when nothing was left to do.
inline constexpr int kEmptyRounds = 32;

/// Takes one processor for itself, the same for each process in this part: whichever the kernel
/// chooses would make one of two equal programs the faster one. 0: the last one, 1: that before.
inline void keep_to_processor(int from_last) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  int left = from_last;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof(one), &one);  // without it, more pairs are needed
    return;
  }
}

/// Descriptors that a rank on a real GPU finds.
inline constexpr int kRankSocketFd = 3;
inline constexpr int kStartPageFd = 4;

}  // namespace cuco::rank
