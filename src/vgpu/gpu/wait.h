// SPDX-License-Identifier: Apache-2.0
/// \file
/// What waits on a GPU, and what for: the facts of a deadlock report. Only describe() makes words
/// of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vgpu/memory/address_map.h"

namespace cuco::vgpu {

/// A barrier of the block that not all of its threads have reached.
struct BarrierWait {
  std::uint32_t barrier = 0;
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;
};

/// A write to one of the locations that a loop polls.
struct WriteWait {
  struct Location {
    Address address = 0;  ///< Canonical, or an offset into the block's shared memory.
    bool shared = false;
  };
  std::vector<Location> locations;
};

struct LanesWait {};  ///< The other lanes of the member mask.
struct SleepWait {};  ///< The end of a nanosleep.
struct LoopWait {};   ///< Nothing: it runs in a loop, and nothing that it reads changes.
struct NoWait {};     ///< It can run.

using WaitReason = std::variant<NoWait, BarrierWait, LanesWait, SleepWait, LoopWait, WriteWait>;

/// Lanes of one warp that are at the same place.
struct WarpWait {
  std::string kernel;
  std::array<std::uint32_t, 3> block{};
  std::uint32_t warp = 0;
  std::uint32_t lanes = 0;
  std::string place;  ///< "x.cu:12", or "PTX line 40" where the program has no line information.
  WaitReason reason;
};

/// Blocks for which no SM has been free.
struct QueuedBlocks {
  std::string kernel;
  std::uint64_t blocks = 0;
};

using Wait = std::variant<WarpWait, QueuedBlocks>;

/// "kernel k block (1,0,0) warp 0 lanes 0xffffffff at x.cu:12: waits for a write to 0x2000…".
[[nodiscard]] std::string describe(const Wait& wait);

/// The addresses in global memory whose change it waits for; empty: it waits for something else.
[[nodiscard]] std::vector<Address> awaited_addresses(const Wait& wait);

}  // namespace cuco::vgpu
