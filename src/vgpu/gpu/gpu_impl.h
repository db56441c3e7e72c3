// SPDX-License-Identifier: Apache-2.0
/// \file
/// The inside of Gpu, shared by the files that place blocks, run warps and describe waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/timing/timing.h"

namespace cuco::vgpu {

/// The kernel's constants with those that the launch decides. See builder_launch.cc.
[[nodiscard]] AlignedBytes launch_constants(const Kernel& kernel, const LaunchRequest& request);

struct Gpu::Impl final : Scheduler {
  Impl(unsigned number, const hardware::GpuDescription& gpu, Memory& all_memory, Environment outer);
  ~Impl() override;

  // Scheduler
  void wake(Warp& warp, VTime when) override;
  void deliver_at(Block& block, VTime when) override;
  void print(const Grid& grid, std::string_view text) override;
  Address heap_allocate(std::uint64_t bytes) override;
  void heap_free(Address address) override;

  // The run queues: gpu.cc
  void enqueue(Warp& warp, VTime key);
  void dequeue(Warp& warp);
  /// The SM's lowest clock may have changed.
  void note_key(const Sm& sm);
  [[nodiscard]] VTime lowest() const;
  VTime lowest_of_others();
  /// How long the warp that just ran stalls, under an adversarial schedule.
  [[nodiscard]] VTime draw_stall();
  /// Picks the SM to run next; false if no warp can run.
  bool select_sm();

  // Launching: gpu_launch.cc
  Result<void> check(const LaunchRequest& request, const KernelInfo& info) const;
  Result<std::unique_ptr<Grid>> make_grid(LaunchRequest request, VTime start);
  Result<Address> take_slot();
  [[nodiscard]] std::uint32_t blocks_per_sm(const KernelInfo& kernel,
                                            std::uint32_t threads,
                                            std::uint32_t dynamic_shared) const;
  [[nodiscard]] std::uint32_t block_registers(const KernelInfo& kernel,
                                              std::uint32_t threads) const;
  [[nodiscard]] std::uint32_t block_shared(std::uint32_t shared_bytes) const;
  /// That a thread can have in a block of so many.
  [[nodiscard]] std::uint32_t thread_registers(const KernelInfo& kernel,
                                               std::uint32_t threads) const;

  // Blocks on SMs: gpu_place.cc
  [[nodiscard]] VTime next_arrival() const;
  [[nodiscard]] VTime next_copy() const;
  void place_arrived(VTime now);
  void refill(Sm& sm, VTime now);
  /// Places whatever starts before any warp can run.
  void place_due();
  [[nodiscard]] bool has_waiting_blocks() const;
  [[nodiscard]] bool fits(const Sm& sm, const Grid& grid, VTime now) const;
  /// Threads on the emptiest SM that has room for one of its blocks.
  [[nodiscard]] std::uint32_t least_load(const Grid& grid, VTime now) const;
  /// Comes back to the SMs that others have, if blocks wait for one.
  void await_taken(VTime now);
  /// The number of the block that is issued as the grid's `position`-th.
  [[nodiscard]] std::uint64_t issued_block(const Grid& grid, std::uint64_t position) const;
  /// How late a block, and each of its warps, starts under an adversarial schedule.
  [[nodiscard]] VTime draw_block_delay();
  void place_block(Grid& grid, Sm& sm, VTime start);
  /// Makes the warps of blocks whose start comes before any warp of the SM.
  void start_blocks(Sm& sm);
  void start_block(Sm& sm, const Sm::Pending& pending);
  void finish_block(Block& block);
  void release_sm(const Grid& grid, Sm& sm, VTime when) const;
  /// Blocks that have left by then give back what they held.
  static void settle(Sm& sm, VTime now);
  /// Removes a grid and reports it.
  void retire(Grid& grid);
  void finish_counters(Grid& grid) const;

  std::int32_t slowdown = 1;  ///< See Gpu::set_slowdown.

  unsigned device;
  hardware::GpuDescription description;
  Memory& memory;
  Environment environment;
  Timing timing;
  std::vector<std::unique_ptr<Sm>> sms;
  std::vector<std::unique_ptr<Grid>> grids;  ///< By priority, then in launch order.
  /// SMs on which a block ended, by time: the next blocks are dealt out in that order, however far
  /// ahead an SM has run.
  using Vacancy = std::pair<VTime, std::uint32_t>;
  std::priority_queue<Vacancy, std::vector<Vacancy>, std::greater<>> vacancies;
  std::multimap<VTime, Block*> copies;  ///< When something arrives that a block is waiting for.
  std::vector<VTime> sm_keys;           ///< Lowest clock of each SM.
  std::size_t current = 0;  ///< The SM that ran last: it goes on while it is not too far ahead.
  VTime others = kNever;    ///< Lowest clock of the other SMs, if others_known.
  bool others_known = false;
  /// Finished blocks by warps per block, and frames: used again, last in, first out.
  std::map<std::uint32_t, std::vector<std::unique_ptr<Block>>> spare_blocks;
  std::vector<std::unique_ptr<Frame>> spare_frames;
  std::vector<Address> free_slots;
  std::vector<Address> all_slots;
  /// By kernel and the registers that a thread has.
  std::map<std::pair<const Kernel*, std::uint32_t>, std::unique_ptr<CostTable>> costs;
  std::map<Address, std::uint64_t> heap;
  std::uint64_t heap_used = 0;
  VTime dispatched = 0;  ///< When the last block was sent to its SM.
  GridId next_grid = 1;
  std::uint64_t next_sequence = 1;
  Rng adversary;  ///< What an adversarial schedule draws from.
};

}  // namespace cuco::vgpu
