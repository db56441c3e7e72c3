// SPDX-License-Identifier: Apache-2.0
/// \file
/// All memory of the virtual cluster: devices, aliases of windows, multicast, pinned host memory.
///
/// Real mappings back every address (memfd per device and per process), so an access is a plain
/// load or store once the granule table has said that it is legal. The table is consulted in every
/// mode: no kernel, however hostile, reaches memory outside of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "vgpu/memory/address_map.h"
#include "vgpu/memory/arrivals.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

/// One entry per 2 MiB of [kMapBase, kMapEnd).
struct Granule {
  enum Flag : std::uint8_t { Valid = 1, Multicast = 2, Library = 4 };
  std::uint8_t flags = 0;
  std::uint8_t owner = 0;  ///< Device number, or kHostOwner.
  std::uint16_t reserved = 0;
  std::int32_t delta = 0;  ///< Canonical granule minus this one: 0 unless an alias.
};
inline constexpr std::uint8_t kHostOwner = 255;

using WatchId = std::uint64_t;

/// Called on a write that touches a watched range, with the writer's time. It may unwatch.
using WatchCallback = std::function<void(VTime)>;

/// A multicast object: a store or reduction to offset o of it reaches o of every member.
struct Multicast {
  Address base = 0;
  std::uint64_t bytes = 0;
  std::vector<Address> members;
};

class Memory {
 public:
  static Result<std::unique_ptr<Memory>> create(unsigned devices);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Device memory, zero-filled on first use. Aligned to at least 256 bytes.
  Result<Address> allocate(unsigned device, std::uint64_t bytes, std::uint64_t align = 256);
  /// Pinned, mapped or managed memory of a rank process; see host_fd.
  Result<Address> allocate_host(unsigned process, std::uint64_t bytes, std::uint64_t align = 256);
  Result<void> free(Address address);
  /// Until it is freed it is the communication library's own. A multiple of kGranule.
  void give_to_library(Address address);

  /// Makes [at, at + bytes) another view of [target, target + bytes). All multiples of kGranule.
  Result<void> alias(Address at, Address target, std::uint64_t bytes);
  Result<void> unalias(Address at, std::uint64_t bytes);
  /// Reserves a multicast range for members of `bytes` each and returns its base.
  Result<Address> add_multicast(std::uint64_t bytes, std::vector<Address> members);
  Result<void> remove_multicast(Address base);
  [[nodiscard]] const Multicast* find_multicast(Address address) const;

  /// The file behind a device's or a process's region, offset 0 = the region's base.
  [[nodiscard]] int device_fd(unsigned device) const { return device_fds_[device]; }
  Result<int> host_fd(unsigned process);

  /// May kernels touch these bytes? (Granule accuracy: 2 MiB.)
  [[nodiscard]] bool valid(Address address, std::uint64_t bytes) const;
  /// The allocation that holds the address, exact to the byte.
  struct Allocation {
    Address base = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::optional<Allocation> find_allocation(Address address) const;
  [[nodiscard]] std::uint64_t allocated_bytes(unsigned device) const;

  /// The granule of an address, or a never-valid one.
  [[nodiscard]] const Granule& granule(Address address) const {
    const std::uint64_t index = (address - kMapBase) >> kGranuleShift;
    return table_[index < kGranules ? index : kGranules];
  }
  /// The address by which watches and shadows know these bytes. Only for valid addresses.
  [[nodiscard]] Address canonical(Address address) const {
    return address + (static_cast<std::uint64_t>(static_cast<std::int64_t>(granule(address).delta))
                      << kGranuleShift);
  }
  /// Server memory behind a valid address.
  static std::byte* at(Address address) { return reinterpret_cast<std::byte*>(address); }

  /// Calls back on every write to the range until unwatched.
  WatchId watch(Address address, std::uint64_t bytes, WatchCallback callback);
  void unwatch(WatchId id);
  /// Everything that writes calls this after the write: kernels, copies, NIC, collectives, host.
  void notify_write(Address address, std::uint64_t bytes, VTime when) {
    if (outside_) outside_(address, bytes);
    notify_kernel_write(address, bytes, when);
  }
  /// The same for kernels, whose writes observers see by themselves.
  void notify_kernel_write(Address address, std::uint64_t bytes, VTime when) {
    if (watches_.empty()) return;
    notify_watchers(address, bytes, when);
  }
  /// Called for every write that no kernel did. One listener; empty: none.
  void on_outside_write(std::function<void(Address address, std::uint64_t bytes)> listener) {
    outside_ = std::move(listener);
  }
  [[nodiscard]] bool has_watches() const { return !watches_.empty(); }

  /// Of what kernels write to each other's memory.
  Arrivals arrivals;

 private:
  static constexpr std::uint64_t kGranules = (kMapEnd - kMapBase) >> kGranuleShift;
  struct Watch {
    Address address = 0;  ///< Canonical.
    std::uint64_t bytes = 0;
    WatchCallback callback;
  };
  /// A region that grows: first-fit allocator over one memfd.
  struct Region {
    Address base = 0;
    std::uint64_t limit = 0;
    int fd = -1;
    std::uint8_t owner = 0;
    std::map<std::uint64_t, std::uint64_t> used;  ///< offset -> bytes
    std::map<std::uint64_t, std::uint32_t> granule_uses;
    std::uint64_t used_bytes = 0;
  };

  Memory() = default;
  Result<void> open_region(Region& region);
  Result<Address> allocate_in(Region& region, std::uint64_t bytes, std::uint64_t align);
  Region* region_of(Address address);
  [[nodiscard]] const Region* region_of(Address address) const;
  void set_granules(Address at, std::uint64_t bytes, Granule value);
  void notify_watchers(Address address, std::uint64_t bytes, VTime when);
  void notify_chunk(Address start, std::uint64_t bytes, VTime when);

  Granule* table_ = nullptr;  ///< kGranules entries and one that is never valid.
  std::vector<Region> devices_;
  std::vector<int> device_fds_;
  std::map<unsigned, Region> hosts_;
  std::map<Address, std::uint64_t> aliases_;  ///< base -> bytes
  std::map<Address, Multicast> multicasts_;
  std::map<WatchId, Watch> watches_;
  std::unordered_map<std::uint64_t, std::vector<WatchId>> watched_lines_;  ///< 64-byte lines
  WatchId next_watch_ = 1;
  std::function<void(Address, std::uint64_t)> outside_;
};

}  // namespace cuco::vgpu
