// SPDX-License-Identifier: Apache-2.0
/// \file
/// One virtual GPU: grids are launched on it and advance in virtual time, lowest clock first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hardware/gpu_description.h"
#include "vgpu/gpu/gpu_schedule.h"
#include "vgpu/gpu/observer.h"
#include "vgpu/gpu/trap.h"
#include "vgpu/gpu/wait.h"
#include "vgpu/lower/program.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/counters.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

class WeakMemory;

using Dim3 = std::array<std::uint32_t, 3>;
using GridId = std::uint64_t;

/// Bytes to or from memory that is not the GPU's own.
struct RemoteRequest {
  /// Devices, or kHostOwner. Several: a multicast, through the switch.
  std::span<const std::uint8_t> owners;
  std::uint64_t bytes = 0;  ///< To each of them.
  bool store = false;
  bool asynchronous = false;  ///< A copy that arrives by itself: it may be late.
  VTime when = 0;
};
/// When it is done.
using RemoteAccess = std::function<VTime(const RemoteRequest&)>;

struct LaunchRequest {
  Program* program = nullptr;  ///< Must outlive the grid.
  std::uint32_t kernel = 0;
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> arguments;         ///< Laid out as KernelInfo::parameters says.
  bool cooperative = false;                 ///< Refused if not all blocks fit at once.
  std::int32_t priority = 0;                ///< Of its stream: lower numbers get room first.
  std::uint64_t peers = ~std::uint64_t{0};  ///< Bit d: may touch memory of device d.
  std::uint64_t instruction_budget = 0;     ///< Warp-instructions; 0: no limit.
  /// Device printf of this launch, formatted; empty: Environment::print.
  std::function<void(std::string_view text)> print;
};

struct GridResult {
  GridId id = 0;
  std::optional<Trap> trap;
  VTime started = 0;
  VTime finished = 0;
  Counters counters;
};

/// What kernels need from outside. Every member may be empty.
struct Environment {
  std::function<void(std::string_view text)> print;  ///< Device printf, already formatted.
  std::uint64_t heap_bytes = 8U << 20U;              ///< Device malloc's limit.
  std::uint64_t seed = 0;                            ///< Order of equal clocks; 0: launch order.
  const std::atomic<bool>* cancel = nullptr;         ///< Checked once per quantum.
  AccessObserver* observer = nullptr;
  Schedule schedule;  ///< Plain, or adversarial.
  /// Lets loads see old values where the memory model allows it; it must be `observer`, too, or be
  /// told by it. Null: memory is sequentially consistent.
  WeakMemory* weak = nullptr;
  /// Time of an access to another device's or the host's memory; empty: a fixed latency.
  RemoteAccess remote;
};

class Gpu {
 public:
  Gpu(unsigned device,
      const hardware::GpuDescription& description,
      Memory& memory,
      Environment environment);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  using Done = std::function<void(const GridResult&)>;
  /// Queues a grid: its blocks may start from `start` on. `done` is called once, from step. An
  /// error is CUDA's launch error: bad dimensions, too much shared memory, cooperative too large.
  Result<GridId> launch(LaunchRequest request, VTime start, Done done);

  /// The lowest clock that can run; nullopt when idle or everything is parked.
  [[nodiscard]] std::optional<VTime> next_time() const;
  /// Runs the warp with the lowest clock for a quantum, but not past `limit` by more than the
  /// slack.
  void step(VTime limit = kNever);

  /// Makes this GPU so many times slower from now on: an adversarial schedule, not a model.
  void set_slowdown(std::int32_t factor);
  /// Somebody else's blocks (NCCL's) have that many SMs to themselves until then: no block is
  /// placed there any more.
  void take_sms(std::uint32_t count, VTime until);
  /// What a range costs that is read or written whole by a kernel of nobody's (a copy, a fill).
  struct Sweep {
    VTime l2 = 0;   ///< The L2 is busy so long,
    VTime hbm = 0;  ///< and HBM.
  };
  Sweep sweep(Address start, std::uint64_t bytes, bool store);
  /// Nothing is in the L2 any more; what was dirty there is taken for written.
  void flush_cache();

  [[nodiscard]] bool idle() const;
  /// Who waits for what: for deadlock reports.
  [[nodiscard]] std::vector<Wait> waits() const;
  /// Ends a grid with a trap (time limit, process death).
  void kill(GridId grid, TrapKind kind, std::string message);

  /// Blocks of this kernel that fit on one SM at once; 0: cannot run at all.
  [[nodiscard]] std::uint32_t occupancy(const KernelInfo& kernel,
                                        std::uint32_t threads,
                                        std::uint32_t dynamic_shared) const;
  [[nodiscard]] const hardware::GpuDescription& description() const;
  [[nodiscard]] unsigned device() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuco::vgpu
