// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the checker knows of communication beyond plain memory: which addresses are signals,
/// counters, barriers; which put raised a signal when; who waited for which. It turns a race into
/// an explanation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/finding/finding.h"
#include "check/race/happens_before.h"
#include "vgpu/memory/address_map.h"

namespace cuco::check {

using vgpu::Address;

/// A range of device memory that has a meaning.
struct Region {
  enum class Kind : std::uint8_t {
    Signals,   ///< GIN signals, 8 bytes each.
    Counters,  ///< GIN counters, 8 bytes each.
    Queue,     ///< Descriptors, indices, descriptions: NCCL's own.
    Shadows,   ///< Signal shadows, 8 bytes each.
    Barriers,  ///< Epochs and inboxes of barrier sessions.
    Window,    ///< Symmetric memory of the program.
    Guard,     ///< Nobody's: behind the barriers that were asked for.
  };
  Kind kind = Kind::Window;
  Address base = 0;
  std::uint64_t bytes = 0;
  int rank = -1;
  std::string name;  ///< "communicator 1", "window 3".
  // Of a guard: how many barriers are in front of it, and the bytes of one's inbox; 0: something
  // else.
  std::uint64_t barriers = 0;
  std::uint64_t stride = 0;
};

/// A put on its way: what a race with it is explained by.
struct PutRecord {
  int from = -1;
  int to = -1;
  Address source = 0;
  Address destination = 0;
  std::uint64_t bytes = 0;
  std::uint64_t communicator = 0;  ///< A number of the device communicator that it uses.
  Address signal = 0;              ///< At the peer; 0: none.
  Address counter = 0;             ///< Here; 0: none.
  bool is_delivered = false;
  std::uint32_t site = 0;    ///< The checker's number of the place.
  std::uint64_t raised = 0;  ///< The number of its signal's raise; 0: not yet.
};

/// A wait that saw a signal's value. `value` is what these raises make of it.
struct SignalSeen {
  std::uint64_t raises = 0;  ///< Raises that it waited for.
  std::uint64_t value = 0;
  std::uint32_t site = 0;
  bool is_old = false;  ///< The kernel knew of all of them before it began.
};

class Communication {
 public:
  /// `owner`: the allocation with which it goes.
  void add_region(Region region, Address owner);
  void remove_regions_of(Address owner);
  [[nodiscard]] const Region* find(Address address) const;
  /// "signal 3 of rank 1", "barrier memory of communicator 1".
  [[nodiscard]] std::string describe(Address address) const;
  [[nodiscard]] bool empty() const { return regions_.empty(); }

  PutRecord& add_put(ActorId actor, PutRecord put) { return puts_[actor] = put; }
  [[nodiscard]] PutRecord* find_put(ActorId actor);
  void for_puts(const std::function<void(ActorId, const PutRecord&)>& use) const;
  /// The signal's value was raised to `value` by the put of this actor.
  void raise(Address signal, std::uint64_t value, ActorId by);
  /// A warp of the block saw the signal's value with a strong load.
  void see(Address signal, std::uint32_t block, SignalSeen seen);
  struct Raise {
    std::uint64_t value = 0;
    ActorId by = kNoActor;
  };
  [[nodiscard]] const std::vector<Raise>& raises(Address signal) const;
  /// The last read of the signal by a block for which `wanted` holds.
  [[nodiscard]] std::optional<SignalSeen> last_seen(
      Address signal, const std::function<bool(std::uint32_t block)>& wanted) const;

 private:
  std::map<Address, Region> regions_;
  std::multimap<Address, Address> owned_;  ///< Bases of regions by their owner.
  std::unordered_map<ActorId, PutRecord> puts_;
  std::unordered_map<Address, std::vector<Raise>> raises_;
  struct Look {
    std::uint32_t block = 0;
    SignalSeen seen;
  };
  std::unordered_map<Address, std::vector<Look>> looks_;  ///< Of each signal, the latest last.
};

}  // namespace cuco::check
