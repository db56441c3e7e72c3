// SPDX-License-Identifier: Apache-2.0
/// \file
/// What PTX's memory model allows beyond sequential consistency, for adversarial schedules.
///
/// Memory itself is always up to date; what is weak is what loads get to see of it. Every store of
/// a kernel to global memory keeps the bytes that it replaced for a while. A load may be given the
/// state of a moment in the past, as long as its thread has not seen, written or learnt of
/// anything newer there. Who has learnt of what follows PTX's causality order (PTX ISA, "Memory
/// Consistency Model"): release and acquire patterns on strong operations whose scopes include each
/// other, fences of every kind and scope, barriers, chains of atomics, and fence.sc in one order
/// per scope. A load or store may also be made to wait until a later, independent store of its
/// thread is done (load buffering, 2+2W); a load even behind a fence, as long as nobody whom that
/// fence is for has read behind it: see weak_postpone.cc.
///
/// Operations of different sizes hand nothing to each other, and the elements of a strong vector
/// are read one by one: new ones may stand beside old ones. Only in the library's own memory
/// (NCCL's LLA2A) they come together, as hardware does it.
///
/// So every outcome that appears is allowed by the model. It is conservative where that is simpler:
/// a warp counts as one thread; shared memory is sequentially consistent; a release or acquire
/// operation counts as a fence beside it; coherence order is the order of execution; atomics that
/// change what they read, and whatever else is not ld, see the newest value; what copies and NICs
/// write is visible at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "vgpu/gpu/observer.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/kernel_profile.h"
#include "vgpu/weak/weak_view.h"

namespace cuco::vgpu {

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
    std::uint32_t postpone_percent = 25;  ///< Of the accesses that could wait for a later store.
    std::size_t history = 1U << 15U;      ///< Writes that loads can pass.
    VTime remote_delay = 0;  ///< Stores to another GPU's memory are seen so much later.
  };
  WeakMemory(Memory& memory, Settings settings);
  ~WeakMemory() override;
  WeakMemory(const WeakMemory&) = delete;
  WeakMemory& operator=(const WeakMemory&) = delete;

  /// Strong stores to other GPUs' memory, where those are delayed.
  [[nodiscard]] const std::vector<Delivery>& remote_stores() const { return remote_stores_; }
  /// A grid is launched: it sees everything that was done before and is not on its way any more.
  void begin_grid(unsigned device, std::uint64_t grid) { floors_[{device, grid}] = now_; }

  /// When all that the grid stored has arrived. It is not over before.
  [[nodiscard]] VTime settled_at(const Grid& grid) const;
  /// A fence.sc for the whole system is about to run: until when it has to wait for what its grid
  /// has stored to arrive. 0: it need not, or has.
  [[nodiscard]] VTime settle_before(const Warp& w, const Op& fence);

  // Called by ld (exec_memory.cc).
  /// True: the load is put off behind a later store; the handler returns.
  bool postpone_load(Warp& w, const Op& op);
  /// True: this load was put off, and runs now; its addresses of then. It is accounted already.
  bool before_load(Warp& w, const Op& op, LaneAddresses& addresses);
  /// What a lane reads: `current`, or older bytes in `scratch`.
  const std::byte* read(Warp& w,
                        const Op& op,
                        Address address,
                        std::uint32_t bytes,
                        const std::byte* current,
                        std::byte* scratch);
  /// The same of one operation.
  const std::byte* read_one(Warp& w,
                            const Op& op,
                            Address address,
                            std::uint32_t bytes,
                            const std::byte* current,
                            std::byte* scratch);
  /// Where the warp goes on after a load that was put off. True: this load says nothing of what is
  /// there now, as a lane saw something old, or it belongs elsewhere.
  bool after_load(Warp& w, const Op& op);
  /// When what the load that just said so polls for arrives: it has come back for it, and nothing
  /// changes before. 0: that is not known.
  [[nodiscard]] VTime arrival(const Warp& w, const Op& op);
  // Called by st.
  /// The registers that a store writes.
  struct Data {
    const Ref* refs = nullptr;
    unsigned count = 0;
    std::uint32_t slot = 0;   ///< Bytes of a lane in each.
    std::uint32_t bytes = 0;  ///< Of a lane in memory.
  };
  /// True: the handler returns. The store is put off behind a later one; or one that was put off
  /// touches what this one writes, and goes first.
  bool before_store(Warp& w, const Op& op, LaneAddresses& addresses, const Data& data);
  void after_store(Warp& w, const Op& op);

  void on_access(const Warp& warp, const Op& op, const AccessEvent& event) override;
  void on_fence(const Warp& warp, const Op& op, Order order, Scope scope) override;
  void on_barrier_arrive(const Warp& warp, const Op& op, unsigned id, std::uint32_t lanes) override;
  void on_barrier_release(const Warp& warp, unsigned id, std::uint32_t lanes) override;
  void on_grid_end(const Grid& grid) override;

 private:
  /// How far apart two threads are, and how far a scope reaches.
  enum Level : std::uint8_t { kBlock, kGpu, kSystem, kLevels };
  using Views = std::array<View, kLevels>;

  /// What a strong write hands to those who read it.
  struct Message {
    Level scope = kSystem;
    std::uint32_t block = 0;
    unsigned device = 0;
    Views released;           ///< By how far the reader is away.
    std::uint64_t floor = 0;  ///< What came before the writer's kernel is there for everybody.
    // While a load waits that comes before this write, with a fence of scope `crossed` between.
    bool waits = false;
    Level crossed = kBlock;
    mutable bool is_observed = false;  ///< By somebody whom that fence is for.
  };
  struct Record {
    std::uint64_t time = 0;
    VTime written = 0;
    VTime visible = 0;  ///< On other GPUs than the writer's.
    unsigned device = 0;
    std::uint32_t writer = 0;
    std::uint8_t offset = 0;  ///< In its cell of 16 bytes.
    std::uint8_t bytes = 0;
    std::uint8_t element = 0;  ///< Bytes of one operation: a vector is several.
    std::array<std::byte, 16> replaced{};
    std::shared_ptr<const Message> message;  ///< Null: a weak write.
  };
  struct Cell {
    std::vector<Record> records;  ///< Oldest first.
    std::uint64_t floor = 0;      ///< What came up to here is not there any more.
  };
  struct Overlap {
    const Record* record = nullptr;
    CellPart part;
  };
  /// An access that waits for a later store of its thread.
  struct Postponed {
    const Op* op = nullptr;
    const Op* store = nullptr;
    const Op* resume = nullptr;  ///< Set once it is to run: where to go on after it.
    std::uint32_t lanes = 0;
    std::uint32_t bytes = 0;
    LaneAddresses addresses{};
    std::vector<std::byte> saved;  ///< Load: what was there. Store: the registers that it writes...
    Data data;                     ///< ...and which they are.
    // A load behind a fence, or an ordered access.
    bool crosses = false;
    bool crosses_sc = false;
    Level crossed = kBlock;
    std::uint64_t began = 0;                         ///< When it was put off.
    std::array<std::uint64_t, kLevels> sc_fences{};  ///< As of its own fence.
    std::shared_ptr<Message> message;                ///< Of the store, once that is done.
  };
  struct Thread {
    std::uint64_t grid = 0;
    std::uint64_t block_number = ~std::uint64_t{0};
    std::uint32_t uid = 0;
    std::uint32_t block = 0;
    unsigned device = 0;
    std::uint64_t floor = 0;  ///< Sees everything up to here: what came before its kernel.
    View view;
    Views released;             ///< As of its last release, by scope. Empty: there was none.
    Views acquired;             ///< From strong reads, by distance; a fence makes it count.
    VTime arrives = 0;          ///< When what it polls for arrives, if that is known.
    VTime awaited = 0;          ///< What its last strong load would have had to wait for...
    const Op* poll = nullptr;   ///< ...and which load that was.
    bool stale = false;         ///< The load in progress saw something old.
    const Op* fence = nullptr;  ///< Waits for what was stored to arrive.
    Postponed postponed;
  };
  /// The order of fence.sc in a scope.
  struct ScOrder {
    View view;
    std::uint64_t floor = 0;
    std::uint64_t fences = 0;
  };
  struct BarrierState {
    View view;
    bool released = false;
    // What fences of its threads have done counts for those behind it, as programs rely on.
    Views fenced;
    Views acquired;
    std::uint64_t floor = 0;
  };

  Thread& thread_of(const Warp& w);
  static Level level_of(Scope scope);
  static Level distance(const Message& message, const Thread& thread);
  void acquire(Thread& thread, Level scope);
  void release(Thread& thread, Level scope);
  std::array<ScOrder*, kLevels> sc_orders(const Thread& thread);
  void join_sc_order(Thread& thread, Level scope);
  // Of accesses that are put off.
  [[nodiscard]] static bool is_replay(const Thread& thread, const Op& op) {
    return thread.postponed.op == &op && thread.postponed.resume != nullptr;
  }
  bool postpone(Warp& w, const Op& op, const LaneAddresses& addresses);
  bool postpone_store(Warp& w, const Op& op, const LaneAddresses& addresses, const Data& data);
  [[nodiscard]] bool collides(const Warp& w,
                              const LaneAddresses& addresses,
                              std::uint32_t bytes,
                              const Postponed& postponed) const;
  void see_newest(
      const Warp& w, Thread& thread, const Op& op, Address address, std::uint32_t bytes);
  /// The message of a store, which may have to be completed later.
  static std::shared_ptr<const Message> hand_out(Thread& thread, const Op& op, const Message& own);
  /// The load's place is in the past: it has to read what was there when it was put off.
  [[nodiscard]] bool is_overtaken(const Thread& thread);
  [[nodiscard]] static const std::byte* find_saved(const Postponed& postponed, Address address);
  /// The access has run at last; what lay between is done.
  void settle(Warp& w, Thread& thread);
  void note_read(Thread& thread, const Record& record, Order order, Level scope);
  void record_write(const Warp& w,
                    Thread& thread,
                    Address address,
                    std::uint32_t bytes,
                    std::uint32_t element,
                    const std::shared_ptr<const Message>& message);
  /// Records of these bytes, newest first, until the next call; raises `oldest` to what the thread
  /// has to see at least.
  [[nodiscard]] const std::vector<Overlap>& find_overlaps(const Warp& w,
                                                          const Thread& thread,
                                                          Address address,
                                                          std::uint32_t bytes,
                                                          std::uint64_t& oldest);
  /// The moment whose state a load gets to see.
  [[nodiscard]] std::uint64_t choose_moment(const Warp& w,
                                            Thread& thread,
                                            const std::vector<Overlap>& overlaps,
                                            std::uint64_t oldest);
  /// Is it still on its way to where this thread reads it?
  [[nodiscard]] static bool is_in_flight(const Record& record,
                                         const Warp& w,
                                         const Thread& thread) {
    return record.visible > w.clock && record.device != thread.device;
  }
  /// What need not be remembered for this thread: it sees that anyway.
  [[nodiscard]] std::uint64_t known_anyway(const Thread& thread) const {
    return std::max(horizon_, thread.floor);
  }
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
  std::unordered_map<Address, Cell> cells_;              ///< By address / 16.
  std::deque<std::pair<std::uint64_t, Address>> order_;  ///< Time and cell of every record.
  std::vector<Overlap> overlaps_;                        ///< Of the load in progress...
  std::vector<std::uint64_t> choices_;                   ///< ...and what it may see.
  std::unordered_map<const Warp*, Thread> threads_;
  std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> floors_;  ///< By device and grid.
  std::map<std::tuple<unsigned, std::uint64_t, std::uint64_t>, std::uint32_t> blocks_;
  std::map<std::pair<std::uint32_t, unsigned>, BarrierState> barriers_;  ///< By block and id.
  std::map<std::uint32_t, ScOrder> sc_blocks_;
  std::map<unsigned, ScOrder> sc_gpus_;
  ScOrder sc_system_;
  std::uint32_t next_uid_ = 1;
  std::vector<Delivery> remote_stores_;
  std::map<std::pair<unsigned, std::uint64_t>, VTime> settled_at_;  ///< By device and grid.
};

}  // namespace cuco::vgpu
