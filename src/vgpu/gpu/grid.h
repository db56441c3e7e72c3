// SPDX-License-Identifier: Apache-2.0
/// \file
/// A running grid, its blocks, and the SMs they are placed on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/gpu/run_queue.h"
#include "vgpu/gpu/warp.h"
#include "vgpu/memory/bulk.h"
#include "vgpu/timing/timing.h"

namespace cuco::vgpu {

inline constexpr std::uint32_t kMostBlocks = 32;  ///< On an SM.
inline constexpr std::uint32_t kMostWarps = 32;   ///< Of a block.

/// What the interpreter needs of the GPU around it.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// A split of the warp became runnable at `when`.
  virtual void wake(Warp& warp, VTime when) = 0;
  /// Something of the block's copies arrives then.
  virtual void deliver_at(Block& block, VTime when) = 0;
  virtual void print(const Grid& grid, std::string_view text) = 0;
  /// Device heap: 0 if it is full.
  virtual Address heap_allocate(std::uint64_t bytes) = 0;
  virtual void heap_free(Address address) = 0;
};

/// One of the 16 barriers of a block. Counts threads.
struct Barrier {
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;  ///< 0: all live threads of the block.
  VTime last = 0;              ///< Latest arrival.
  std::uint32_t votes = 0;     ///< bar.red: threads whose predicate holds.
  struct Waiter {
    Warp* warp = nullptr;
    std::uint32_t lanes = 0;
    Ref result = kNoRef;  ///< bar.red: where the result goes.
    std::uint8_t reduction = 0;
    Frame* frame = nullptr;
  };
  std::vector<Waiter> waiters;
};

struct Sm {
  Sm(std::uint32_t number, Timing& shared_timing, std::uint32_t l1_bytes)
      : index(number), timing(&shared_timing), l1(l1_bytes, 4) {}
  std::uint32_t index;
  Timing* timing;
  SmPipe issue;
  SmPipe lsu;
  CacheTags l1;
  /// Pages of kGranule whose translation is at hand.
  std::array<std::uint32_t, 256> pages{};
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::uint32_t registers = 0;
  std::uint32_t shared = 0;
  std::uint32_t slots = 0;  ///< Taken by blocks that have started, by bit.
  /// What blocks that have been run to their end hold until then: others may still be before it.
  struct Leaving {
    VTime when = 0;
    std::uint32_t threads = 0;
    std::uint32_t registers = 0;
    std::uint32_t shared = 0;
  };
  std::vector<Leaving> leaving;
  VTime taken_until = 0;  ///< By blocks that are not ours: Gpu::take_sms.
  GridId last_grid = 0;   ///< Of the block placed last: L1 does not outlive a kernel.
  RunQueue queue;
  /// Blocks that have their place but did not start: their warps are made when their time comes,
  /// out of what the last block left in the host's cache. By start.
  struct Pending {
    Grid* grid = nullptr;
    std::uint64_t number = 0;
    std::uint64_t sequence = 0;
    VTime start = 0;
  };
  std::deque<Pending> pending;
  [[nodiscard]] VTime key() const {
    return pending.empty() ? queue.top_key() : std::min(queue.top_key(), pending.front().start);
  }
};

struct Block {
  Grid* grid = nullptr;
  Sm* sm = nullptr;
  std::uint64_t number = 0;
  std::uint32_t place = 0;  ///< In Grid::blocks.
  std::array<std::uint32_t, 3> index{};
  std::uint32_t live_threads = 0;
  std::uint32_t live_warps = 0;
  std::uint32_t slot = 0;  ///< Of the SM's kMostBlocks: where its local memory lies.
  VTime last_exit = 0;
  VTime stored = 0;  ///< When its stores so far have arrived: fences wait for them.
  AlignedBytes shared;
  std::array<Barrier, 16> barriers;
  std::uint32_t armed = 0;  ///< Barriers at which somebody has arrived, by bit.
  std::vector<std::unique_ptr<Warp>> warps;
  /// Splits parked on shared memory: byte range and who.
  struct SharedWatch {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    std::uint64_t ticket = 0;
    Warp* warp = nullptr;
  };
  std::vector<SharedWatch> watches;
  std::vector<BulkCopy> copies;         ///< Under way.
  std::uint64_t copies_begun = 0;       ///< In all.
  std::vector<BulkCopy> unseen_copies;  ///< Arrived, which nobody has waited for; if observed.
};

/// A launch's slot of device memory: arguments, then the workspace of grid barriers.
inline constexpr std::uint32_t kWorkspaceOffset = 32768;
inline constexpr std::uint32_t kLaunchSlotBytes = 33792;

struct Grid {
  GridId id = 0;
  LaunchRequest request;
  const Kernel* kernel = nullptr;
  Gpu::Done done;
  Scheduler* scheduler = nullptr;
  Memory* memory = nullptr;
  AccessObserver* observer = nullptr;
  WeakMemory* weak = nullptr;
  CostTable const* costs = nullptr;
  VTime start = 0;
  VTime finish = 0;
  bool arrived = false;  ///< Its start has come: blocks are placed.
  std::uint64_t block_count = 0;
  std::uint64_t next_block = 0;
  std::uint64_t finished_blocks = 0;
  std::uint32_t threads = 0;  ///< Per block.
  std::uint32_t warps_per_block = 0;
  std::uint32_t shared_bytes = 0;  ///< Per block, static and dynamic.
  std::uint32_t registers = 0;     ///< Per block, as allocated.
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Frame>>* spare_frames = nullptr;  ///< The GPU's; last in, first out.
  AlignedBytes constants;  ///< The kernel's, with what the launch decides filled in.
  Address parameters = 0;  ///< Device memory with the arguments, then the grid-sync workspace.
  std::uint8_t device = 0;
  std::uint32_t sms = 0;
  std::uint64_t peers = 0;
  /// %tid.x/y/z of every warp: 3 x 32 words each.
  AlignedBytes thread_indices;
  /// Execution counts as differences: += at the first op of a segment, -= behind its last.
  struct SegmentCount {
    std::int64_t threads = 0;
    std::int64_t warps = 0;
  };
  std::vector<SegmentCount> counts;
  std::uint64_t warp_instructions = 0;  ///< Against the budget.
  Counters counters;
  std::optional<Trap> trap;
};

/// Runs the splits of a warp until `limit` or until none can run. See exec_run.cc.
void run_warp(Warp& warp, VTime limit, VTime strict_limit);
/// Prepares a warp of a fresh block; its register file is allocated when it first runs.
void reset_warp(Warp& warp, Block& block, std::uint32_t index, VTime start);
/// When the warp can go on: kNever if every split waits.
[[nodiscard]] VTime runnable_at(const Warp& warp);

/// Puts `active` lanes of the running split into a split of their own, which stays current. The
/// rest continues behind the current op.
void isolate(Warp& warp, std::uint32_t lanes);
/// Blocks the running split in `state`; it continues at op `next`.
void block_split(Warp& warp, Split::State state, const Op* next);
/// Recomputes where the running split has to stop for others.
void update_stop(Warp& warp);

/// A fresh activation with cleared registers.
Frame& add_frame(Warp& warp, const FunctionCode& code);
/// `ret` of the active lanes from a device function. See exec_call.cc.
void return_from_call(Warp& warp, const Op& op);

/// Lanes of a warp leave the block for good: barriers may complete.
void leave_block(Warp& warp, std::uint32_t lanes);
/// Releases a barrier if everybody is there.
void check_barrier(Block& block, unsigned id);

/// Wakes splits of the block parked on these bytes of shared memory.
void notify_shared(Block& block, std::uint32_t offset, std::uint32_t bytes, VTime when);
/// Wakes the split that holds `ticket`, if it is still parked on it.
void wake_parked(Warp& warp, std::uint64_t ticket, VTime when);

}  // namespace cuco::vgpu
