// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --check`: watches every access of a run and says what is wrong with it.
///
/// Kernels report by themselves (AccessObserver). What happens outside of kernels is told by who
/// does it: allocations, and *pieces of work* (grids, copies, collectives, puts) with what each of
/// them comes after. The order of work and the synchronisation inside kernels make one
/// happens-before relation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/finding.h"
#include "check/memory_state.h"
#include "check/race.h"
#include "check/shared_race.h"
#include "vgpu/grid.h"
#include "vgpu/observer.h"

namespace cuco::check {

struct Options {
  bool memory = true;  ///< Bounds, freed, uninitialised.
  bool shared_races = true;
  bool global_races = true;
};

/// A piece of work, numbered by who schedules it; 0 is no work.
using WorkId = std::uint64_t;

struct WorkInfo {
  std::string what;  ///< "cudaMemcpyAsync", "ncclAllGather", "put".
  int rank = -1;
  std::uint32_t device = 0;
  std::uint64_t grid = 0;  ///< The grid's id on its device, for kernels; 0 otherwise.
  std::span<const WorkId> after;
  ClockPtr also;  ///< What the host knew when it asked for the work.
};

class Checker final : public vgpu::AccessObserver {
 public:
  explicit Checker(Options options);
  ~Checker() override;

  // Memory, by canonical address.
  void on_allocate(Address base, std::uint64_t bytes, std::string what, bool written);
  void on_free(Address base);

  // Work. A grid's blocks act for it until end_work; other work acts through read and write.
  void begin_work(WorkId work, const WorkInfo& info);
  void read(WorkId work, Address address, std::uint64_t bytes);
  void write(WorkId work, Address address, std::uint64_t bytes);
  void end_work(WorkId work);
  /// What is known once the work is done; for hosts that waited for it.
  [[nodiscard]] ClockPtr after_work(WorkId work) const;

  // Signals and flags written from outside of kernels (NIC), and what they order.
  /// The work's effects so far become visible with a strong write to the address.
  void publish(WorkId work, Address address);
  /// The work learns what the last strong or weak writer of the address had done.
  void learn_from_writer(WorkId work, Address address);

  // AccessObserver
  void on_access(const vgpu::Warp& warp,
                 const vgpu::Op& op,
                 const vgpu::AccessEvent& event) override;
  void on_fence(const vgpu::Warp& warp, const vgpu::Op& op, Order order, Scope scope) override;
  void on_barrier_arrive(const vgpu::Warp& warp,
                         const vgpu::Op& op,
                         unsigned id,
                         std::uint32_t lanes) override;
  void on_barrier_release(const vgpu::Warp& warp, unsigned id, std::uint32_t lanes) override;
  void on_warp_sync(const vgpu::Warp& warp, const vgpu::Op& op, std::uint32_t lanes) override;

  /// Reports what is still allocated.
  void report_leaks();
  [[nodiscard]] const FindingList& findings() const { return findings_; }
  void add(Finding finding) { findings_.add(std::move(finding)); }
  [[nodiscard]] std::uint64_t shadow_bytes() const;

 private:
  struct BlockState;
  struct Work;
  /// Where an access was made: enough to name it later.
  struct SiteRecord {
    const vgpu::Kernel* kernel = nullptr;
    std::uint32_t origin = 0;
    AccessKind kind = AccessKind::Load;
    std::uint32_t bytes = 0;
    std::string what;  ///< For work outside of kernels.
  };

  BlockState& state_of(const vgpu::Warp& warp);
  std::uint32_t site_of(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  [[nodiscard]] Site describe(std::uint32_t site, ActorId actor, unsigned lane) const;
  void check_memory(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  void check_shared(BlockState& block,
                    const vgpu::Warp& warp,
                    const vgpu::Op& op,
                    const vgpu::AccessEvent& event);
  void check_global(BlockState& block,
                    const vgpu::Warp& warp,
                    const vgpu::Op& op,
                    const vgpu::AccessEvent& event);
  void report_memory(const vgpu::Warp& warp,
                     const vgpu::Op& op,
                     const vgpu::AccessEvent& event,
                     unsigned lane,
                     const MemoryProblem& problem);
  void report_race(const Race& race);
  void touch(WorkId work, Address address, std::uint64_t bytes, AccessKind kind);

  Options options_;
  FindingList findings_;
  MemoryState memory_;
  RaceDetector races_;
  std::unordered_map<WorkId, Work> works_;
  std::unordered_map<std::uint64_t, WorkId> work_of_grid_;  ///< device << 48 | grid id
  std::unordered_map<const vgpu::Block*, std::unique_ptr<BlockState>> blocks_;
  const vgpu::Block* last_block_ = nullptr;
  BlockState* last_state_ = nullptr;
  std::vector<SiteRecord> sites_{1};
  std::unordered_map<std::uint64_t, std::uint32_t> site_index_;
  std::vector<std::array<std::uint32_t, 3>> block_index_{1};  ///< By ActorInfo::block.
  std::vector<int> block_rank_{-1};
  ChainId next_chain_ = 1;
};

}  // namespace cuco::check
