// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a timeline shows and no profile has: what host threads called, when kernels waited at a
/// line and when they reached into other GPUs' memory there, and which store or put ended which
/// wait. Made only where a timeline was asked for.
///
/// A kernel may have a million accesses; what is kept are stretches of time per source line.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vcluster/host/call_log.h"
#include "vgpu/gpu/observer.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/kernel_profile.h"

namespace cuco::vcluster {

class TimelineLog final : public vgpu::AccessObserver {
 public:
  /// A line of a kernel on a device.
  using Place = std::tuple<unsigned, std::string, vgpu::ProfiledLine>;
  using PlaceId = std::uint32_t;

  /// At least one warp was waiting there.
  struct Wait {
    PlaceId place = 0;
    VTime from = 0;
    VTime to = 0;
    std::uint64_t times = 1;
  };
  /// Warps loaded from or stored to a peer's memory there.
  struct Traffic {
    PlaceId place = 0;
    int peer = 0;
    bool is_load = false;
    VTime from = 0;
    VTime to = 0;
    std::uint64_t bytes = 0;
  };
  /// What was written here ended a wait there.
  struct Arrow {
    std::int64_t delivery = -1;  ///< A put: which of the deliveries; -1: a store at `from`.
    PlaceId from = 0;
    VTime sent = 0;
    PlaceId to = 0;
    VTime seen = 0;
  };

  /// `deliveries`: of the NICs, kept by somebody else. `latency`: of a store to a peer.
  TimelineLog(const vgpu::Memory& memory,
              const std::vector<vgpu::Delivery>& deliveries,
              VTime latency)
      : memory_(memory), deliveries_(deliveries), latency_(latency) {}

  CallLog calls;
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::vector<Wait> waits() const;
  [[nodiscard]] std::vector<Traffic> traffic() const;
  [[nodiscard]] const std::vector<Arrow>& arrows() const { return arrows_; }
  /// As if nothing had happened so far; the deliveries are forgotten, too.
  void forget();

  void on_access(const vgpu::Warp& warp,
                 const vgpu::Op& op,
                 const vgpu::AccessEvent& event) override;
  void on_wait(const vgpu::Warp& warp,
               const vgpu::Op& op,
               vgpu::WaitKind kind,
               VTime from,
               VTime to) override;
  void on_grid_end(const vgpu::Grid& grid) override;

 private:
  /// Strong, by a kernel or a NIC: somebody may wait for it.
  struct Write {
    std::int64_t delivery = -1;
    PlaceId place = 0;
    int device = -1;
    VTime sent = 0;
    VTime arrives = 0;  ///< No sooner.
    std::map<PlaceId, std::size_t> arrows;
  };
  struct Burst {
    VTime first = 0;
    VTime last = 0;
    std::uint64_t bytes = 0;
  };

  PlaceId place_of(const vgpu::Warp& warp, const vgpu::Op& op);
  void note_traffic(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  void note_writes(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  /// A flag that was written, but is still on its way, holds its reader up.
  void note_flags(const vgpu::Warp& warp, const vgpu::Op& op, const vgpu::AccessEvent& event);
  void note_wait(PlaceId place, VTime from, VTime to);
  void note_arrow(PlaceId place, unsigned device, vgpu::Address address, VTime seen);
  /// Those that came since it was last called.
  void take_deliveries();

  const vgpu::Memory& memory_;
  const std::vector<vgpu::Delivery>& deliveries_;
  VTime latency_;
  std::size_t taken_ = 0;

  std::vector<Place> places_;
  std::map<Place, PlaceId> place_ids_;
  /// Of kernels that run; their modules may go.
  std::map<std::tuple<const vgpu::Kernel*, std::uint32_t, unsigned>, PlaceId> known_;
  mutable std::map<PlaceId, std::vector<Wait>> waits_;
  std::map<std::tuple<PlaceId, int, bool>, std::map<VTime, Burst>> traffic_;
  std::unordered_map<vgpu::Address, std::vector<Write>> writes_;
  std::vector<Arrow> arrows_;
};

}  // namespace cuco::vcluster
