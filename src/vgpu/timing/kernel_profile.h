// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kernels did, per kernel and per source line: instructions, memory, shared memory,
/// divergence, waiting. An observer: it costs nothing where nobody asked for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/gpu/observer.h"
#include "vgpu/timing/counters.h"
#include "vgpu/timing/wait_demands.h"

namespace cuco::vgpu {

struct Kernel;

inline constexpr std::size_t kCostClasses = static_cast<std::size_t>(CostClass::Count);

/// A source line; line 0: the program has no line information there.
using ProfiledLine = std::pair<std::string, std::uint32_t>;

/// The user's line: the call, where code of another file was inlined.
[[nodiscard]] ProfiledLine line_of(const Kernel& kernel, const Op& op);

struct LineProfile {
  std::uint64_t threads = 0;  ///< Thread-instructions.
  std::uint64_t warps = 0;    ///< Warp-instructions; threads / warps of 32 lanes worked.
  std::array<std::uint64_t, kCostClasses> by_class{};  ///< Warp-instructions.
  std::uint64_t global_accesses = 0;                   ///< Of warps.
  std::uint64_t global_bytes = 0;                      ///< Asked for by lanes.
  std::uint64_t sectors = 0;                           ///< Of 32 bytes, moved for it...
  std::uint64_t ideal_sectors = 0;                     ///< ...and had the lanes been neighbours.
  std::uint64_t shared_accesses = 0;
  std::uint64_t bank_conflicts = 0;  ///< Passes beyond what the width needs.
  std::uint64_t barriers = 0;
  VTime load_wait = 0;  ///< Warp-time until loaded values were there...
  VTime poll_wait = 0;  ///< ...until what is polled was written...
  VTime barrier_wait = 0;

  void add(const LineProfile& other);
};

struct KernelProfile {
  std::uint64_t launches = 0;
  VTime time = 0;  ///< From the first block's start to the end, all launches.
  Counters counters;
  std::map<ProfiledLine, LineProfile> lines;
};

inline constexpr std::size_t kPolledAddresses = 256;

/// Something that came to a GPU's memory from elsewhere: a payload, a signal, a peer's store.
struct Delivery {
  Address address = 0;
  std::uint64_t bytes = 0;
  VTime sent = 0;
  VTime arrived = 0;
  bool is_completion = false;  ///< No arrival: word of the own NIC that a put has left its source.
  int from = -1;               ///< Devices; -1: not known.
  int to = -1;
};

/// One launch, for comparing runs.
struct Phase {
  std::string kernel;
  unsigned device = 0;
  VTime started = 0;
  VTime finished = 0;
  struct Wait {
    std::uint64_t polls = 0;  ///< Strong loads executed there, by warps.
    VTime waited = 0;
    VTime first = kNever;            ///< When it first looked,
    VTime last = 0;                  ///< and when it looked last and went on.
    std::vector<Address> addresses;  ///< What was polled; at most kPolledAddresses.
    RepeatedWaits repeated;          ///< Of those that an earlier launch waited for, too.
  };
  std::map<ProfiledLine, Wait> waits;  ///< Lines that read what others may write.
  // Of all warps together. What is left of their time went into instructions.
  VTime warp_time = 0;  ///< That they were there, from their first access or wait to their last.
  VTime load_wait = 0;
  VTime poll_wait = 0;
  VTime barrier_wait = 0;
};

class Profiler final : public AccessObserver {
 public:
  /// `watches_demands`: what waits ask for is found out, too, which costs time at every look.
  explicit Profiler(bool watches_demands = false) {
    if (watches_demands) demands_.emplace();
  }
  [[nodiscard]] const std::map<std::string, KernelProfile>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  /// As if nothing had ended so far.
  void forget() {
    kernels_.clear();
    phases_.clear();
  }

  void on_access(const Warp& warp, const Op& op, const AccessEvent& event) override;
  void on_fence(const Warp& /*warp*/, const Op& /*op*/, Order /*order*/, Scope /*scope*/) override {
  }
  void on_barrier_arrive(const Warp& warp, const Op& op, unsigned id, std::uint32_t lanes) override;
  void on_barrier_release(const Warp& /*warp*/, unsigned /*id*/, std::uint32_t /*lanes*/) override {
  }
  void on_wait(const Warp& warp, const Op& op, WaitKind kind, VTime from, VTime to) override;
  void on_grid_end(const Grid& grid) override;

 private:
  /// Of a running grid, by op.
  struct Running {
    std::vector<LineProfile> ops;
    std::vector<Phase::Wait> waits;
    struct Span {
      std::uint64_t block = 0;
      VTime first = 0;
      VTime last = 0;
    };
    /// Of warps that are there. Their memory is used again, for blocks of other SMs, too: they need
    /// not come in the order of their times.
    std::unordered_map<const Warp*, Span> spans;
    VTime ended = 0;  ///< The spans of those that were there before, added up.
  };
  void note_time(const Warp& warp, VTime from, VTime to);
  Running& running(const Warp& warp);
  LineProfile& at(const Warp& warp, const Op& op);

  std::map<std::string, KernelProfile> kernels_;
  std::unordered_map<const Grid*, Running> running_;
  const Grid* last_grid_ = nullptr;  ///< Of the last event, and what is in running_ for it.
  Running* last_ = nullptr;
  std::vector<Phase> phases_;
  std::optional<WaitDemands> demands_;
};

}  // namespace cuco::vgpu
