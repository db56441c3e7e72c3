// SPDX-License-Identifier: Apache-2.0
/// \file
/// The hook of the checker: called for every access, barrier and fence of every kernel.
///
/// Null by default; then it costs one test of a pointer per access.
#pragma once

#include <cstdint>
#include <span>

#include "ptx/module.h"
#include "vgpu/memory/address_map.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

struct BulkCopy;
struct Grid;
struct Op;
struct Warp;

enum class Order : std::uint8_t { Weak, Volatile, Relaxed, Acquire, Release, AcqRel, Sc, Mmio };
enum class Scope : std::uint8_t { Cta, Cluster, Gpu, Sys };

/// Strong operations may synchronise; weak ones may only be ordered by others.
constexpr bool is_strong(Order order) {
  return order != Order::Weak;
}
constexpr bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::Sc;
}
constexpr bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::Sc;
}

enum class AccessKind : std::uint8_t { Load, Store, Atomic };

/// One warp-wide access. `addresses` has 32 entries; lanes outside `lanes` are undefined.
/// Shared: byte offsets in the block's shared memory; local: in the thread's; else canonical
/// addresses.
struct AccessEvent {
  AccessKind kind = AccessKind::Load;
  ptx::Space space = ptx::Space::Global;
  Order order = Order::Weak;
  Scope scope = Scope::Sys;
  std::uint32_t bytes = 0;  ///< Per lane, all elements of a vector.
  std::uint32_t lanes = 0;
  std::span<const Address, 32> addresses;
  bool goes_on = false;  ///< At another member of the multicast object: it is one operation.
  /// Of one element: a vector is that many operations, in no order. 0: it is no vector.
  std::uint32_t element = 0;
  const BulkCopy* copy = nullptr;  ///< Of which this is a part, if it is one of a bulk copy.
};

/// The same, weak and by all 32 lanes, where the addresses follow a rule: what most accesses are.
struct RowEvent {
  const Op* op = nullptr;
  Address first = 0;        ///< Of lane 0.
  std::uint32_t bytes = 0;  ///< Per lane, all elements of a vector.
  AccessKind kind = AccessKind::Load;
  ptx::Space space = ptx::Space::Global;
  bool same = false;  ///< All lanes are at `first`; else lane l is at first + l * bytes.
};

/// What a warp waits for: its loads, a write to what it polls, a block barrier.
enum class WaitKind : std::uint8_t { Load, Poll, Barrier };

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  /// Before the access takes effect.
  virtual void on_access(const Warp& warp, const Op& op, const AccessEvent& event) = 0;
  /// Rows that a warp touches one after the other. Who does not care about them gets them as
  /// accesses.
  virtual void on_rows(const Warp& warp, std::span<const RowEvent> rows);
  virtual void on_fence(const Warp& /*warp*/, const Op& /*op*/, Order /*order*/, Scope /*scope*/) {}
  /// fence.proxy: it orders accesses that go different ways to memory, and no others.
  virtual void on_proxy_fence(const Warp& /*warp*/, const Op& /*op*/) {}
  /// `lanes` of the warp arrive at, or are released from, barrier `id` of their block.
  virtual void on_barrier_arrive(const Warp& /*warp*/,
                                 const Op& /*op*/,
                                 unsigned /*id*/,
                                 std::uint32_t /*lanes*/) {}
  virtual void on_barrier_release(const Warp& /*warp*/, unsigned /*id*/, std::uint32_t /*lanes*/) {}
  /// Lanes met at a .sync operation.
  virtual void on_warp_sync(const Warp& /*warp*/, const Op& /*op*/, std::uint32_t /*lanes*/) {}
  /// A bulk copy is on its way from here on; its accesses are told when it arrives, …
  virtual void on_bulk_begin(const Warp& /*warp*/, const BulkCopy& /*copy*/) {}
  /// …and that it is over when the warp has waited for it, or, without `whole`, for its source to
  /// be read. The first to wait is told.
  virtual void on_bulk_seen(const Warp& /*warp*/, const BulkCopy& /*copy*/, bool /*whole*/) {}
  /// The warp did not run from `from` to `to`, because of what `op` waits for.
  virtual void on_wait(
      const Warp& /*warp*/, const Op& /*op*/, WaitKind /*kind*/, VTime /*from*/, VTime /*to*/) {}
  /// A grid is over; its counters are final.
  virtual void on_grid_end(const Grid& /*grid*/) {}
};

}  // namespace cuco::vgpu
