// SPDX-License-Identifier: Apache-2.0
/// \file
/// Execution state of a warp and of its block: what handlers read and write.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/aligned.h"
#include "vgpu/gpu/observer.h"
#include "vgpu/gpu/spin.h"
#include "vgpu/gpu/trap.h"
#include "vgpu/lower/code.h"
#include "vgpu/lower/op.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

struct Block;
struct Grid;
struct Sm;

/// One activation of a function, shared by the lanes that entered it together.
struct Frame {
  const FunctionCode* code = nullptr;
  Frame* parent = nullptr;
  const CallPlan* plan = nullptr;  ///< How results travel back to the parent.
  std::uint32_t return_op = 0;     ///< Where the caller goes on.
  std::uint32_t depth = 0;
  std::uint32_t lanes = 0;       ///< Lanes inside this frame or its callees.
  std::uint32_t local_base = 0;  ///< Of this frame, in each thread's local memory.
  AlignedBytes registers;
  std::vector<std::uint32_t> predicates;
};

/// Lanes of a warp that are at the same place. A converged warp has one.
struct Split {
  enum class State : std::uint8_t {
    Runnable,
    Parked,   ///< Spins on unchanged memory; woken by a write.
    Barrier,  ///< At a block barrier.
    Sync,     ///< At a .sync operation, the other members are not there yet.
    Asleep,   ///< nanosleep: until ready_at.
  };
  Frame* frame = nullptr;
  std::uint32_t op = 0;  ///< Next op, index into Kernel::ops.
  std::uint32_t mask = 0;
  State state = State::Runnable;
  std::uint8_t barrier = 0;
  std::uint32_t members = 0;   ///< Of a .sync operation: whom it waits for.
  std::uint32_t backward = 0;  ///< Backward branches since it last was picked.
  VTime ready_at = 0;
  VTime since = 0;  ///< When it began to wait.
  std::unique_ptr<SpinLog> spin;
};

/// Storage of a value of type T in a lane: 16-bit values live in 32-bit slots.
template <typename T>
using Slot = std::conditional_t<
    sizeof(T) <= 4,
    std::uint32_t,
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::array<std::uint64_t, 2>>>;

/// One global-to-shared copy in flight (cp.async), kept until its group is waited for.
struct AsyncCopy {
  const Op* op = nullptr;   ///< The instruction that issued it.
  std::uint64_t group = 0;  ///< Commit number of the lane; UINT64_MAX: not committed.
  Address source = 0;
  std::uint32_t shared = 0;  ///< Destination offset.
  std::uint16_t bytes = 0;
  std::uint16_t source_bytes = 0;  ///< The rest is zero-filled.
  std::uint8_t lane = 0;
  VTime done = 0;
};

/// What is known about the 32 addresses in a register: see exec_memory.cc.
enum class Pattern : std::uint8_t { Consecutive, Same, Other };
struct KnownPattern {
  std::uint32_t epoch = 0;
  std::uint16_t key = 0;
  std::uint8_t stride = 0;
  Pattern pattern = Pattern::Other;
};

/// How long a pass through a basic block, or through the turns of a loop that ptxas joins, has
/// waited for loads so far.
struct Stall {
  std::uint32_t pass = 0;
  std::uint32_t op = 0;  ///< Where it waited first.
  VTime time = 0;
};

struct Warp {
  // The inner loop's state: valid while the warp runs.
  std::uint32_t active = 0;          ///< Lanes that execute the current op.
  std::uint32_t mask = 0;            ///< Lanes of the running split.
  std::array<std::byte*, 2> bank{};  ///< Registers, constants.
  std::uint32_t* predicates = nullptr;
  const Op* ip = nullptr;       ///< The op after the current one; branches set it.
  const Op* stop = nullptr;     ///< The loop leaves when ip >= stop; null: at once.
  const Op* segment = nullptr;  ///< First op whose cost is not on the clock yet.
  const Op* counted = nullptr;  ///< First op that is not in the grid's counts yet.
  VTime clock = 0;
  VTime idle = 0;          ///< Of its clock: when it had nothing to run.
  VTime limit = 0;         ///< End of the quantum.
  VTime strict_limit = 0;  ///< Strong operations do not run later than this.

  std::uint32_t carry = 0;  ///< CC.CF of each lane.
  std::uint32_t epoch = 1;  ///< Changes with every jump: registers may have new values.
  std::uint32_t pass = 1;   ///< Changes with every jump but those that ptxas unrolls.
  std::uint32_t turns = 0;  ///< Jumps of unrolled loops.
  std::array<KnownPattern, 16> patterns{};
  std::uint32_t shared_passes = 0;  ///< Extra passes of shared memory, not on the clock yet.

  std::byte* shared = nullptr;  ///< The block's shared memory.
  std::uint32_t shared_bytes = 0;

  const Kernel* kernel = nullptr;
  Block* block = nullptr;
  Grid* grid = nullptr;
  Memory* memory = nullptr;
  AccessObserver* observer = nullptr;
  Sm* sm = nullptr;
  std::array<VTime, 16> load_ready{};  ///< Scoreboard: when the loads of a slot are there.
  Stall stall;

  std::uint32_t index = 0;     ///< Warp number in the block.
  std::uint32_t alive = 0;     ///< Lanes that have not exited.
  std::uint64_t sequence = 0;  ///< Order among equal clocks.
  std::vector<Split> splits;
  std::uint32_t current = 0;  ///< Index of the running split.
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::byte> local;  ///< Lane-major: kLanes x local_stride.
  std::uint32_t local_stride = 0;
  std::vector<AsyncCopy> async;                      ///< cp.async in flight.
  std::array<std::uint64_t, kLanes> async_groups{};  ///< Groups committed, per lane.
  std::array<std::uint64_t, kLanes> bulk_groups{};   ///< The same of bulk copies.
  std::uint64_t progress = 0;  ///< Counts writes: spins start anew after each.
  bool reads_clock = false;    ///< A clock was read since the last progress.
  bool running = false;        ///< Inside run_warp: wake-ups need no queueing.
  bool is_tail = false;        ///< Last warp of a block that is not a multiple of 32 threads.
  bool departed = false;       ///< The running split has no lanes left.
  bool uses_async = false;     ///< async_groups or bulk_groups has been written.
  bool meeting = false;        ///< Inside an op that serves lanes of several places.
  std::uint64_t tickets = 0;   ///< Parks so far.
  std::uint32_t queue_index = UINT32_MAX;  ///< Place in the run queue.
  VTime queue_key = 0;

  /// Lane storage of an operand of element type T (32 slots, 64-byte aligned).
  template <typename T>
  [[nodiscard]] Slot<T>* slots(Ref ref) const {
    return reinterpret_cast<Slot<T>*>(bank[ref >> 31U] + (ref & ~kConstantBit));
  }
  /// A predicate operand as a mask; the top bit of the ref negates it.
  [[nodiscard]] std::uint32_t predicate(Ref ref) const {
    return predicates[ref & ~kConstantBit] ^ (0U - (ref >> 31U));
  }
  /// Writes the active lanes of a predicate.
  void set_predicate(Ref ref, std::uint32_t value) const {
    std::uint32_t& p = predicates[ref];
    p = (p & ~active) | (value & active);
  }

  /// Stops the grid with a trap of the lane. Handlers return after it.
  void raise(const Op& op, TrapKind kind, unsigned lane, std::string message, Address address = 0);
  /// True once a trap was raised by this op (for loops over lanes).
  [[nodiscard]] bool trapped() const { return stop == nullptr; }

  /// The rendezvous of .sync operations. Call first, with the member mask operand. Returns the
  /// lanes that may execute now: all members of each such lane's mask are here (exited lanes count
  /// as arrived). The rest of the split is put aside until they are; if 0 is returned, or a lane is
  /// not in its own mask (a trap), the handler returns at once. Afterwards `active` is the result.
  /// Members that wait at the same operation elsewhere in the code are served together with these
  /// lanes, if the op has Op::MeetsByMask: see exec_meet.cc.
  std::uint32_t meet(const Op& op, Ref members);

  /// Adds cycles to the clock: for costs only known at run time.
  void spend(std::uint32_t cycles);
  /// Brings the clock up to and including the current op: before anything that reads it.
  void sync_clock();
  /// sync_clock, and counts the straight-line code since `counted`. Before mask or ip change.
  void flush_segment();
  /// The running split continues at `op`. What it did before has been flushed.
  void go_to(const Op* op) { ip = segment = counted = op; }
};

/// Registers to values and back.
template <typename T>
[[nodiscard]] inline T from_slot(Slot<T> slot) {
  if constexpr (sizeof(T) == sizeof(Slot<T>)) {
    return std::bit_cast<T>(slot);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(slot));
  } else {
    return std::bit_cast<T>(static_cast<std::uint8_t>(slot));
  }
}

template <typename T>
[[nodiscard]] inline Slot<T> to_slot(T value) {
  if constexpr (sizeof(T) == sizeof(Slot<T>)) {
    return std::bit_cast<Slot<T>>(value);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<std::uint16_t>(value);
  } else {
    return std::bit_cast<std::uint8_t>(value);
  }
}

}  // namespace cuco::vgpu
