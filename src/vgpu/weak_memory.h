// SPDX-License-Identifier: Apache-2.0
/// \file
/// What PTX's memory model allows beyond sequential consistency, for adversarial schedules.
///
/// Memory itself is always up to date; what is weak is what loads get to see of it. Every store of
/// a kernel to global memory keeps the bytes that it replaced for a while. A load may be given the
/// state of a moment in the past, as long as its thread has not seen, written or been told of
/// anything newer there. Who has been told of what follows PTX's causality order (PTX ISA, "Memory
/// Consistency Model"): release and acquire patterns on strong operations whose scopes include each
/// other, fences of every kind and scope, barriers, chains of atomics, and fence.sc in one order
/// per scope. A load may also be made to wait until a later, independent store of its thread is
/// done (load buffering).
///
/// So every outcome that appears is allowed by the model. It is conservative where that is simpler:
/// a warp counts as one thread; shared memory is sequentially consistent; a release or acquire
/// operation counts as a fence beside it; coherence order is the order of execution; atomics, and
/// whatever is not ld, see the newest value; what copies and NICs write is visible at once.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "vgpu/access.h"
#include "vgpu/memory.h"
#include "vgpu/observer.h"
#include "vgpu/profile.h"

namespace cuco::vgpu {

/// Which writes a thread is known to have seen. Times are numbers of recorded writes.
class View {
 public:
  void join(const View& other);
  void see_all_of(std::uint32_t writer, std::uint64_t time);
  void see_word(Address word, std::uint64_t time);
  [[nodiscard]] bool has_seen(std::uint32_t writer, std::uint64_t time) const;
  [[nodiscard]] std::uint64_t seen_of_word(Address word) const;
  /// Everything up to `time` is visible to everybody: forgets what that makes pointless.
  void forget_up_to(std::uint64_t time);

 private:
  std::map<std::uint32_t, std::uint64_t> writers_;  ///< All writes of a warp up to a time.
  std::map<Address, std::uint64_t> words_;          ///< A word as it was at a time, or newer.
};

/// The part of an access that is in one cell of 16 bytes.
struct CellPart {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t done = 0;  ///< Bytes of the access before this part.
};

class WeakMemory final : public AccessObserver {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::uint32_t stale_percent = 50;     ///< Of the loads that have a choice.
    std::uint32_t postpone_percent = 25;  ///< Of the loads that could wait for a later store.
    std::size_t history = 1U << 15U;      ///< Writes that can be looked behind.
    VTime remote_delay = 0;  ///< Stores to another GPU's memory are seen so much later.
  };
  WeakMemory(Memory& memory, Settings settings);
  ~WeakMemory() override;
  WeakMemory(const WeakMemory&) = delete;
  WeakMemory& operator=(const WeakMemory&) = delete;

  /// Strong stores to other GPUs' memory, where those are delayed.
  [[nodiscard]] const std::vector<Delivery>& remote_stores() const { return remote_stores_; }
  /// A grid is launched: it sees everything that was done before.
  void begin_grid(unsigned device, std::uint64_t grid) { floors_[{device, grid}] = now_; }

  // Called by ld (exec_memory.cc).
  /// True: the load is put off behind a later store; the handler returns.
  bool postpone(Warp& w, const Op& op);
  /// The addresses of the load, captured when it was put off.
  void before_load(Warp& w, const Op& op, LaneAddresses& addresses);
  /// What a lane reads: `current`, or older bytes in `scratch`.
  const std::byte* read(Warp& w,
                        const Op& op,
                        Address address,
                        std::uint32_t bytes,
                        const std::byte* current,
                        std::byte* scratch);
  /// Where the warp goes on after a load that was put off; and whether any lane saw something old.
  bool after_load(Warp& w, const Op& op);
  // Called by st.
  /// True: a load that was put off reads what this store writes, and goes first; the handler
  /// returns.
  bool before_store(Warp& w, const Op& op, const LaneAddresses& addresses, std::uint32_t bytes);
  void after_store(Warp& w);

  void on_access(const Warp& warp, const Op& op, const AccessEvent& event) override;
  void on_fence(const Warp& warp, const Op& op, Order order, Scope scope) override;
  void on_barrier_arrive(const Warp& warp, const Op& op, unsigned id, std::uint32_t lanes) override;
  void on_barrier_release(const Warp& warp, unsigned id, std::uint32_t lanes) override;
  void on_warp_sync(const Warp& /*warp*/, const Op& /*op*/, std::uint32_t /*lanes*/) override {}
  void on_grid_end(const Grid& grid) override;

 private:
  /// How far apart two threads are, and how far a scope reaches.
  enum Level : std::uint8_t { kBlock, kGpu, kSystem, kLevels };
  using Views = std::array<std::shared_ptr<const View>, kLevels>;

  /// What a strong write hands to those who read it.
  struct Message {
    Level scope = kSystem;
    std::uint32_t block = 0;
    unsigned device = 0;
    Views released;  ///< By how far the reader is away.
  };
  struct Record {
    std::uint64_t time = 0;
    VTime visible = 0;  ///< On other GPUs than the writer's.
    unsigned device = 0;
    std::uint32_t writer = 0;
    std::uint8_t offset = 0;  ///< In its cell of 16 bytes.
    std::uint8_t bytes = 0;
    std::array<std::byte, 16> replaced{};
    std::shared_ptr<const Message> message;  ///< Null: a weak write.
  };
  struct Overlap {
    const Record* record = nullptr;
    CellPart part;
  };
  struct Postponed {
    const Op* load = nullptr;
    const Op* store = nullptr;
    const Op* resume = nullptr;  ///< Set once the load is to run: where to go on after it.
    std::uint32_t lanes = 0;
    std::uint32_t bytes = 0;
    LaneAddresses addresses{};
  };
  struct Thread {
    std::uint64_t grid = 0;
    std::uint64_t block_number = ~std::uint64_t{0};
    std::uint32_t uid = 0;
    std::uint32_t block = 0;
    unsigned device = 0;
    std::uint64_t floor = 0;  ///< Sees everything up to here: what came before its kernel.
    View view;
    Views released;  ///< As of its last release, by scope.
    std::array<View, kLevels>
        acquired;        ///< From strong reads, by distance; a fence makes it count.
    VTime arrives = 0;   ///< When what it polls for arrives, if that is known.
    bool stale = false;  ///< The load in progress saw something old.
    Postponed postponed;
  };
  struct BarrierState {
    View view;
    bool released = false;
  };

  Thread& thread_of(const Warp& w);
  static Level level_of(Scope scope);
  static Level distance(const Message& message, const Thread& thread);
  void acquire(Thread& thread, Level scope);
  void release(Thread& thread, Level scope);
  void join_sc_order(Thread& thread, Level scope);
  void note_read(Thread& thread, const Record& record, Order order, Level scope);
  void record_write(const Warp& w,
                    Thread& thread,
                    Address address,
                    std::uint32_t bytes,
                    const std::shared_ptr<const Message>& message);
  /// Records of these bytes, newest first; raises `oldest` to what the thread has to see at least.
  [[nodiscard]] std::vector<Overlap> find_overlaps(const Thread& thread,
                                                   Address address,
                                                   std::uint32_t bytes,
                                                   std::uint64_t& oldest) const;
  /// The moment whose state a load gets to see.
  [[nodiscard]] std::uint64_t choose_moment(const Warp& w,
                                            Thread& thread,
                                            const std::vector<Overlap>& overlaps,
                                            std::uint64_t oldest);
  [[nodiscard]] const Record* newest(Address address, std::uint32_t bytes) const;
  void drop(Address address, std::uint64_t bytes);
  void prune();
  [[nodiscard]] bool roll(std::uint32_t percent) { return rng_.below(100) < percent; }

  Memory& memory_;
  Settings settings_;
  Rng rng_;
  std::uint64_t now_ = 0;
  std::uint64_t horizon_ = 0;  ///< Writes up to here are forgotten: everybody sees them...
  std::uint64_t swept_ = 0;    ///< ...and up to here nobody remembers having seen them.
  std::unordered_map<Address, std::vector<Record>> cells_;  ///< By address / 16, oldest first.
  std::deque<std::pair<std::uint64_t, Address>> order_;     ///< Time and cell of every record.
  std::unordered_map<const Warp*, Thread> threads_;
  std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> floors_;  ///< By device and grid.
  std::map<std::tuple<unsigned, std::uint64_t, std::uint64_t>, std::uint32_t> blocks_;
  std::map<std::pair<std::uint32_t, unsigned>, BarrierState> barriers_;  ///< By block and id.
  std::map<std::uint32_t, View> sc_blocks_;
  std::map<unsigned, View> sc_gpus_;
  View sc_system_;
  std::uint32_t next_uid_ = 1;
  std::vector<Delivery> remote_stores_;
};

}  // namespace cuco::vgpu
