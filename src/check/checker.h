// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cuco run --check`: watches every access of a run and says what is wrong with it.
///
/// Kernels report by themselves (AccessObserver). What happens outside of kernels comes from who
/// does it: allocations, and *pieces of work* (grids, copies, collectives, puts) with what each of
/// them comes after. The order of work and the synchronisation inside kernels make one
/// happens-before relation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check/communication.h"
#include "check/deadlock.h"
#include "check/finding/finding.h"
#include "check/memory_state.h"
#include "check/race/race.h"
#include "check/shared/shared_race.h"
#include "vgpu/exec/what_if.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/observer.h"

namespace cuco::check {

struct Options {
  bool memory = true;  ///< Bounds, freed, uninitialised.
  bool shared_races = true;
  bool global_races = true;
  /// Words that are remembered as flags at a time, about 250 bytes each; more end the check.
  std::size_t most_flags = std::size_t{1} << 24U;
};

/// Memory that bulk copies reach by a way of their own, and how many kinds of it there are.
enum ProxySpace : std::uint8_t { kSharedProxy, kGlobalProxy };
inline constexpr std::size_t kProxySpaces = 2;

/// The device of work that threads of the host do themselves: in nobody's scope but the system's.
inline constexpr std::uint32_t kHostDevice = 0xFFFF;

/// A piece of work; 0 is no work.
using WorkId = std::uint64_t;

struct WorkInfo {
  std::string what;  ///< "cudaMemcpyAsync", "ncclAllGather", "put".
  int rank = -1;
  std::uint32_t device = 0;
  /// Its place in a stream or queue; 0: it has none.
  ChainId chain = 0;
  std::uint64_t operation = 0;
  ClockPtr start;  ///< What is known to have happened before it.
  Site call;       ///< Where the program asked for it.
};

class Checker final : public vgpu::AccessObserver {
 public:
  explicit Checker(Options options);
  ~Checker() override;

  // Memory, by canonical address.
  void on_allocate(Address base, std::uint64_t bytes, AllocationInfo info);
  void on_free(Address base, Site freed_at = {});
  /// The program takes the bytes from whoever uses them: memory is freed, a window deregistered.
  /// `known`: what has happened before, as far as the caller knows.
  void give_back(
      Address base, std::uint64_t bytes, const Site& call, int rank, const ClockPtr& known);
  /// The same for a device communicator and all that is sent through it.
  void give_back_communicator(std::uint64_t number,
                              const Site& call,
                              int rank,
                              const ClockPtr& known);
  /// `what` gives a window or device communicator back that the rank does not have.
  void release_again(const std::string& what, const Site& call, int rank);
  /// `what` frees memory at `base`; reports it if that was freed before.
  void free_again(const std::string& what, Address base, const Site& call);
  /// Asked about addresses that on_allocate does not know: variables of modules and the like.
  struct Found {
    Address base = 0;
    std::uint64_t bytes = 0;
  };
  void set_lookup(std::function<std::optional<Found>(Address)> lookup) {
    lookup_ = std::move(lookup);
  }
  /// Written from outside of the program, and by nobody who could race.
  void mark_written(Address address, std::uint64_t bytes) { memory_.mark_written(address, bytes); }
  /// Whatever is there, nobody may count on it: a read before a write is one of left-over bytes.
  void mark_unwritten(Address address, std::uint64_t bytes) {
    memory_.mark_unwritten(address, bytes);
  }

  // Work. A grid's blocks act for it until `end`; other work acts through read and write.
  [[nodiscard]] WorkId begin(const WorkInfo& info);
  /// The work is a grid. `call`: its launch.
  void bind_grid(WorkId work, std::uint32_t device, std::uint64_t grid);
  void read(WorkId work, Address address, std::uint64_t bytes);
  void write(WorkId work, Address address, std::uint64_t bytes);
  /// write(to) of what was read from `from`: what was uninitialised there is so here.
  void copy(WorkId work, Address to, Address from, std::uint64_t bytes);
  /// read() of bytes that leave the device: they must have been written.
  void read_out(WorkId work, Address address, std::uint64_t bytes);
  /// The work decides over the bytes (allocates or frees them): whoever uses them must be ordered.
  void claim(WorkId work, Address address, std::uint64_t bytes);
  /// Whoever has written there since the rank's entry had no business to, whatever is there now.
  void expect_untouched(Address address, std::uint64_t bytes);
  /// Reports what is wrong with an access that will not be made.
  void check_bounds(WorkId work, Address address, std::uint64_t bytes);
  /// Returns what is known once the work is done.
  ClockPtr end(WorkId work);

  // Of a thread of the host, which names the place of each access; between threads of the host
  // nothing is reported: what orders them is not seen.
  void host_read(WorkId work, Address address, std::uint64_t bytes, const Site& call);
  void host_write(WorkId work, Address address, std::uint64_t bytes, const Site& call);
  /// It looks at a flag: returns what those who raised it had published, which the work learns.
  ClockPtr host_look(WorkId work, Address address, std::uint64_t bytes);
  /// It raises a flag, and with it publishes what it knows and has done.
  void host_raise(WorkId work, Address address, std::uint64_t bytes, const Site& call);

  // Signals and flags written from outside of kernels (NIC), and what they order.
  /// The work's effects so far become visible with an addition to the address, which gives it
  /// `value`.
  void publish(
      WorkId work, Address address, std::uint32_t bytes, std::uint64_t added, std::uint64_t value);
  /// The place from which the address was written last.
  [[nodiscard]] Site writer_site(Address address);
  /// The bytes arrive: write(to), with what was uninitialised at `from` still so.
  void deliver(WorkId work, Address to, Address from, std::uint64_t bytes);
  [[nodiscard]] ActorId actor_of(WorkId work) const;
  /// The number of the place where it was asked for.
  [[nodiscard]] std::uint32_t site_of(WorkId work) const;
  /// Joins what the work knows.
  void learn(WorkId work, const ClockPtr& clock);
  [[nodiscard]] Communication& communication() { return communication_; }
  [[nodiscard]] RaceDetector& races() { return races_; }

  // AccessObserver
  void on_access(const vgpu::Warp& warp,
                 const vgpu::Op& op,
                 const vgpu::AccessEvent& event) override;
  void on_rows(const vgpu::Warp& warp, std::span<const vgpu::RowEvent> rows) override;
  void on_fence(const vgpu::Warp& warp, const vgpu::Op& op, Order order, Scope scope) override;
  void on_barrier_arrive(const vgpu::Warp& warp,
                         const vgpu::Op& op,
                         unsigned id,
                         std::uint32_t lanes) override;
  void on_barrier_release(const vgpu::Warp& warp, unsigned id, std::uint32_t lanes) override;
  void on_warp_sync(const vgpu::Warp& warp, const vgpu::Op& op, std::uint32_t lanes) override;
  void on_proxy_fence(const vgpu::Warp& warp, const vgpu::Op& op) override;
  void on_bulk_begin(const vgpu::Warp& warp, const vgpu::BulkCopy& copy) override;
  void on_bulk_seen(const vgpu::Warp& warp, const vgpu::BulkCopy& copy, bool whole) override;

  /// A kernel was stopped.
  void on_trap(const vgpu::Trap& trap, int rank, const std::string& note = {});
  /// Nothing can go on; what is waited for becomes a finding.
  void on_deadlock(std::span<const Waiter> waiters);
  /// The program was stopped by something else: what it leaves allocated is not its fault.
  void give_up() { was_stopped_ = true; }
  /// Reports the allocation, or all that are left, as leaked.
  void report_leak(Address base);
  void report_leaks();
  void fold_unwritten() { findings_.fold_unwritten(); }
  [[nodiscard]] const FindingList& findings() const { return findings_; }
  void add(Finding finding) { findings_.add(std::move(finding)); }
  [[nodiscard]] std::uint64_t shadow_bytes() const;

 private:
  struct BlockState;
  struct Work;
  /// Where an access was made: enough to name it later.
  struct SiteRecord {
    Site place;
    bool in_kernel = false;
    std::uint32_t line = 0;    ///< The first site of the same line.
    bool is_constant = false;  ///< Reads through the read-only cache.
    bool is_bulk = false;      ///< A bulk copy's.
  };
  /// A block that ran, or a piece of work outside of kernels.
  struct BlockRecord {
    std::array<std::uint32_t, 3> index{};
    std::array<std::uint32_t, 3> size{1, 1, 1};
    ActorId first = kNoActor;
    int rank = -1;
    bool waits = false;  ///< It read a flag that somebody else had raised.
  };

  /// The number of a place in the host's code.
  std::uint32_t host_site(const std::string& what, const Site& call);
  BlockState& state_of(const vgpu::Warp& warp);
  BlockState& start_block(const vgpu::Warp& warp);
  void retire(BlockState& block);
  /// The number of the place of an access; made up when it is first asked for.
  std::uint32_t site_of(const vgpu::Warp& warp,
                        const vgpu::Op& op,
                        AccessKind kind,
                        std::uint32_t bytes) {
    const std::uint64_t key = (reinterpret_cast<std::uintptr_t>(warp.kernel) << 20U) ^
                              (std::uint64_t{op.source} << 2U) ^ static_cast<std::uint64_t>(kind);
    SiteCache& cached = site_cache_[(key >> 2U) % site_cache_.size()];
    if (cached.key != key) cached = {key, find_site(key, warp, op, kind, bytes)};
    return cached.site;
  }
  std::uint32_t find_site(std::uint64_t key,
                          const vgpu::Warp& warp,
                          const vgpu::Op& op,
                          AccessKind kind,
                          std::uint32_t bytes);
  [[nodiscard]] static Site place_of(const vgpu::Kernel& kernel, std::uint32_t origin);
  [[nodiscard]] Site describe(std::uint32_t site, ActorId actor, unsigned lane) const;
  /// Names the allocation of the address in the finding.
  void locate(Finding& finding, Address address) const;
  bool knows_allocation(Address address);
  SharedRaces::Access words_of(const vgpu::Warp& warp, const vgpu::RowEvent& row);
  /// True: the row was checked, nothing is wrong. Otherwise each lane has to be checked.
  bool check_row(BlockState& block, const vgpu::Warp& warp, const vgpu::RowEvent& row);
  void check_memory(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  void check_shared(BlockState& block,
                    const vgpu::Warp& warp,
                    const vgpu::Op& op,
                    const vgpu::AccessEvent& event);
  /// Against bulk copies that nobody has waited for.
  void check_bulk(const BlockState& block,
                  const vgpu::Warp& warp,
                  const vgpu::Op& op,
                  const vgpu::AccessEvent& event);
  void forget_bulk(BlockState& block);
  /// Has what stores wrote, that the copy is about to touch, been made known to bulk copies?
  void check_proxy(const BlockState& block, const vgpu::Warp& warp, const vgpu::BulkCopy& copy);
  [[nodiscard]] bool is_proxied(const BlockState& block,
                                unsigned warp,
                                ProxySpace space,
                                const Stamp& write) const;
  void report_proxy(const BlockState& block,
                    const vgpu::Warp& warp,
                    const vgpu::BulkCopy& copy,
                    ProxySpace space,
                    Address address,
                    const Stamp& write);
  /// Against cp.async in flight.
  void check_async(BlockState& block,
                   const vgpu::Warp& warp,
                   const vgpu::Op& op,
                   const vgpu::AccessEvent& event);
  void report_async(const BlockState& block,
                    const vgpu::Warp& warp,
                    unsigned lane,
                    std::uint32_t site,
                    std::uint32_t offset);
  void check_strong_shared(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event,
                           std::uint32_t site);
  /// What a strong operation on shared memory orders, by what a wait on it demands.
  void meet_in_shared(BlockState& block,
                      const vgpu::Warp& warp,
                      const vgpu::Op& op,
                      const vgpu::AccessEvent& event,
                      unsigned lane);
  /// Has the kernel strong loads, of what might be shared memory?
  bool polls_shared(const vgpu::Kernel& kernel);
  /// True: that is enough. False: if the same is stored there anyway, it is harmless.
  bool report_shared(BlockState& block,
                     const vgpu::Warp& warp,
                     std::uint32_t site,
                     const SharedRaces::Conflict& conflict);
  void note_unwritten(BlockState& block,
                      const vgpu::Warp& warp,
                      const vgpu::Op& op,
                      const vgpu::AccessEvent& event,
                      std::uint32_t site);
  /// Whatever the lane had read, it would have done the same.
  [[nodiscard]] bool is_unwanted(const vgpu::Warp& warp,
                                 const vgpu::Op& op,
                                 const vgpu::AccessEvent& event,
                                 unsigned lane);
  void report_unwritten(const BlockState& block);
  void check_global(BlockState& block,
                    const vgpu::Warp& warp,
                    const vgpu::Op& op,
                    const vgpu::AccessEvent& event);
  void report_memory(const vgpu::Warp& warp,
                     const vgpu::Op& op,
                     const vgpu::AccessEvent& event,
                     unsigned lane,
                     const MemoryProblem& problem);
  /// Integer additions may come in any order; other atomic operations are taken as they came.
  [[nodiscard]] static bool is_addition(const vgpu::Warp& warp, const vgpu::Op& op);
  /// A strong operation.
  void meet_in_global(const BlockState& block, ActorId actor, Access access);
  /// The sources of copies that nobody has waited for.
  void go_on_reading(const BlockState& block, const vgpu::Warp& warp);
  /// There are too many flags to remember.
  void stop_watching(ActorId actor, const Access& access);
  void see_signal(const BlockState& block, ActorId actor, const Access& access);
  /// A barrier that nobody asked for.
  void report_beyond(const Region& guard, ActorId actor, const Access& access);
  void report_race(const Race& race);
  /// `call` takes away what a put needs that may still be on its way; `from`: its source's side.
  void report_given_back(ActorId actor, const PutRecord& put, bool from, Finding finding);
  [[nodiscard]] std::uint64_t given_back_key(const PutRecord& put) const {
    return std::uint64_t{sites_[put.site].line} << 32U | 0xFFFD0000U;
  }
  /// Those whose bytes the wait's kernel has read become findings when it is over.
  void judge_stand_ins(std::uint32_t device);
  /// Says what kind of bug the race is, and what to change.
  void explain_race(const Race& race, Finding& finding);
  void explain_put(const Race& race, ActorId put, Finding& finding);
  void explain_arrival(const PutRecord& put, ActorId reader, bool reads, Finding& finding);
  void explain_barrier(const Race& race, Finding& finding) const;
  /// What a wait that never ends means; true: it says it all, whatever else waits.
  bool explain_wait(const Waiter& waiter, Finding& finding) const;
  bool explain_awaited(Address address, Finding& finding) const;
  /// Stores of one instruction that may write the same value: judged when they are done.
  struct SameStore {
    const std::byte* at = nullptr;
    std::uint32_t before = 0;
    Race race;
  };
  /// The same in shared memory.
  struct SameShared {
    const vgpu::Warp* warp = nullptr;
    BlockState* block = nullptr;
    std::uint64_t number = 0;
    std::uint32_t site = 0;
    std::uint32_t before = 0;
    SharedRaces::Conflict conflict;
  };
  [[nodiscard]] bool has_deferred() const { return !same_stores_.empty() || !same_shared_.empty(); }
  void settle();
  void report_barrier(const BlockState& block,
                      const vgpu::Warp& warp,
                      std::uint32_t first,
                      std::uint32_t other);
  void touch(WorkId work, Address address, std::uint64_t bytes, AccessKind kind);
  /// Of work outside of kernels: bounds, and freed memory.
  void check_bounds(const Work& work, Address address, std::uint64_t bytes, AccessKind kind);

  Options options_;
  FindingList findings_;
  MemoryState memory_;
  RaceDetector races_;
  vgpu::WhatIf what_if_;
  Communication communication_;
  std::function<std::optional<Found>(Address)> lookup_;
  std::unordered_map<WorkId, Work> works_;
  std::unordered_map<std::uint64_t, WorkId> work_of_grid_;  ///< device << 48 | grid id
  std::unordered_map<const vgpu::Block*, std::unique_ptr<BlockState>> blocks_;
  std::vector<std::unique_ptr<BlockState>> spare_;
  const vgpu::Block* last_block_ = nullptr;
  BlockState* last_state_ = nullptr;
  std::vector<SiteRecord> sites_{1};
  std::unordered_map<std::uint64_t, std::uint32_t> site_index_;
  std::unordered_map<std::string, std::uint32_t> host_site_index_;
  std::unordered_map<std::string, std::uint32_t> lines_;
  struct SiteCache {
    std::uint64_t key = 0;
    std::uint32_t site = 0;
  };
  std::array<SiteCache, 2048> site_cache_;
  std::vector<BlockRecord> block_records_{1};  ///< By ActorInfo::block.
  /// Findings by the sites of both sides: a race in a loop is described once.
  std::unordered_map<std::uint64_t, std::size_t> reported_;
  WorkId next_work_ = 1;
  std::vector<StandIn> stand_ins_;
  std::unordered_set<std::uint32_t> told_puts_;  ///< Sites of puts that a finding is about.
  std::unordered_map<const vgpu::Kernel*, bool> polls_shared_;
  std::unordered_set<Address> host_flags_;  ///< Words that threads of the host poll.
  std::vector<SameStore> same_stores_;
  std::vector<SameShared> same_shared_;
  /// Of every warp that fenced: the epoch that its last fence.proxy.async covers, by space.
  std::unordered_map<ActorId, std::array<std::uint32_t, kProxySpaces>> proxy_fences_;
  bool is_settling_ = false;
  bool was_stopped_ = false;  ///< A kernel trapped: the program may have given up.
};

}  // namespace cuco::check
