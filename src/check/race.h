// SPDX-License-Identifier: Apache-2.0
/// \file
/// Data races by happens-before, over everything that touches memory: warps, copies, puts.
///
/// Two accesses race if they overlap, one of them writes, neither happens before the other, and
/// they are not both strong with scopes that include each other. Lanes of one warp count as
/// ordered.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "vgpu/observer.h"

namespace cuco::check {

using vgpu::AccessKind;
using vgpu::Address;
using vgpu::Order;
using vgpu::Scope;

/// Who an actor is. Warps of a block have consecutive ids.
struct ActorInfo {
  std::uint32_t block = 0;  ///< Same for all warps of a block; unique per operation.
  std::uint32_t device = 0;
  ChainId chain = 0;            ///< The stream it belongs to…
  std::uint64_t operation = 0;  ///< …and its place in it.
};

/// One access as it was made. `site` is the caller's own index for reports.
struct Stamp {
  ActorId actor = kNoActor;
  std::uint32_t epoch = 0;
  std::uint32_t site = 0;
  std::uint8_t bytes_mask = 0;  ///< Of the 4-byte cell.
  std::uint8_t strong = 0;      ///< 0: weak, else 1 + scope.
  std::uint16_t lane = 0;
};

struct Access {
  AccessKind kind = AccessKind::Load;
  Order order = Order::Weak;
  Scope scope = Scope::Sys;
  Address address = 0;  ///< Canonical.
  std::uint64_t bytes = 0;
  std::uint32_t site = 0;
  std::uint16_t lane = 0;
};

struct Race {
  Address address = 0;
  Stamp earlier;
  bool earlier_writes = false;
  Stamp later;
  bool later_writes = false;
};

class RaceDetector {
 public:
  using Report = std::function<void(const Race&)>;
  explicit RaceDetector(Report report) : report_(std::move(report)) {}

  /// Adds `count` actors that start with the knowledge `start`; returns the first.
  ActorId add_actors(const ActorInfo& info, std::uint32_t count, const ClockPtr& start);
  [[nodiscard]] const ActorInfo& info(ActorId actor) const { return actors_[actor].info; }

  void access(ActorId actor, const Access& access);
  void fence(ActorId actor, Order order, Scope scope);

  /// What the actor has done and knows, published: its next epoch begins.
  ClockPtr publish(ActorId actor);
  void learn(ActorId actor, const ClockPtr& clock);
  [[nodiscard]] const ClockPtr& knowledge(ActorId actor) const { return actors_[actor].clock; }

  /// What the last writer of the address had done when it wrote it, for those who found it there.
  [[nodiscard]] ClockPtr writer_clock(Address address);

  /// Forgets what was known about a range: freed or newly allocated memory has no history.
  void forget(Address address, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t shadow_bytes() const { return cells_.size() * sizeof(Page); }

 private:
  struct Actor {
    ActorInfo info;
    ClockPtr clock;
    std::uint32_t epoch = 1;
    ClockPtr pending;  ///< Seen by relaxed loads; known after an acquiring fence.
    ClockPtr fenced;   ///< Published by the next strong store.
    Scope fence_scope = Scope::Sys;
  };
  struct Cell {
    Stamp write;
    std::array<Stamp, 2> reads;
  };
  static constexpr std::uint64_t kPageCells = 1024;
  using Page = std::array<Cell, kPageCells>;
  /// A location that strong operations meet on.
  struct Flag {
    ClockPtr clock;
    ActorId writer = kNoActor;
    Scope scope = Scope::Sys;
  };

  Cell& cell(Address address);
  [[nodiscard]] bool happened_before(const Stamp& stamp, const Actor& me, ActorId self) const;
  [[nodiscard]] bool scope_includes(Scope scope, const ActorInfo& a, const ActorInfo& b) const;
  [[nodiscard]] bool morally_strong(const Stamp& a, const Stamp& b) const;
  void check_cell(Cell& cell, Address address, const Stamp& now, AccessKind kind);
  void synchronise(ActorId actor, const Access& access);

  Report report_;
  std::vector<Actor> actors_{1};  ///< [0] is kNoActor.
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> cells_;
  std::uint64_t last_page_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
  std::unordered_map<Address, Flag> flags_;
};

}  // namespace cuco::check
