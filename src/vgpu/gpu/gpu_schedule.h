// SPDX-License-Identifier: Apache-2.0
/// \file
/// How one GPU departs from the plain schedule: an adversarial machine that CUDA still allows.
///
/// Everything here is drawn from the seed, so the same value gives the same run, bit for bit. The
/// default is the plain schedule and costs nothing.
#pragma once

#include <cstdint>

#include "vgpu/timing/time.h"

namespace cuco::vgpu {

struct Schedule {
  std::uint64_t seed = 0;  ///< 0: plain; the rest does not matter.
  /// Blocks are issued in another order, within what the machine holds at once: a program that
  /// waits for lower blocks, as look-back scans do, still gets them.
  bool shuffle_blocks = false;
  VTime launch_delay = 0;          ///< Each grid starts up to so much late,
  VTime block_delay = 0;           ///< each of its blocks up to so much more.
  VTime stall = 0;                 ///< A warp that ran stalls up to so long...
  std::uint32_t stall_one_in = 0;  ///< ...one time in so many. 0: never.
  VTime run_ahead = kNever;        ///< A warp runs at most so far ahead of the others.
  std::int32_t slowdown = 1;       ///< The whole GPU is so many times slower.
};

}  // namespace cuco::vgpu
