// SPDX-License-Identifier: Apache-2.0
/// \file
/// GIN: one rank's NIC as the consumer of its proxy queues.
///
/// A kernel posts 64-byte descriptors into a ring per destination; a watch on the ring wakes the
/// NIC, which reads them, moves the bytes through the fabric and reports back. The contract is
/// NCCL's, and no more than it:
///
///   - puts of one context to one peer may arrive in any order;
///   - a signal is added at the peer after its own payload and those of all earlier puts of the
///   same
///     context and peer;
///   - a counter is bumped after the payload has arrived, so that the source may be reused;
///   - credits (consumer indices) come back in ring order, after the counter;
///   - contexts and peers know nothing of each other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "check/finding/finding.h"
#include "check/race/happens_before.h"
#include "fabric/fabric.h"
#include "nccl_core/abi_2_28.h"
#include "nccl_core/gin_descriptor.h"
#include "vcluster/core/timeline.h"
#include "vcluster/nccl/nccl_clique.h"
#include "vcluster/nccl/nccl_window.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/kernel_profile.h"

namespace cuco::vcluster {

class RunCheck;
class WrittenTypes;

/// When the NIC reads a put's source: NCCL promises only that it is between issue and completion.
struct SourceReads {
  bool some_early = false;  ///< Half are read at once, the others last thing.
  std::uint64_t seed = 0;
};

struct GinServices {
  Timeline& timeline;
  vgpu::Memory& memory;
  fabric::Fabric& fabric;
  WindowRegistry& windows;
  std::function<void(const std::string&)> log;
  /// A descriptor that no NIC could carry out: the kernel's device gets a sticky error.
  std::function<void(int device, const std::string&)> fail_device;
  SourceReads sources;
  std::vector<vgpu::Delivery>* deliveries = nullptr;  ///< Kept there if somebody wants to know.
  RunCheck* check = nullptr;                          ///< Null: an ordinary run.
  WrittenTypes* types = nullptr;                      ///< Null: nobody compares contents.
};

/// Where a rank's GIN state lies in its device memory.
struct GinLayout {
  std::vector<nccl_core::abi_2_28::GinProxyContext> contexts;
  std::vector<vgpu::Address> handles;  ///< Of the contexts themselves.
  vgpu::Address base = 0;
  std::uint64_t bytes = 0;
  std::uint32_t signals = 0;
  std::uint32_t counters = 0;
};

/// Lays out and clears a rank's queues, indices, counters and signals in its device's memory.
Result<GinLayout> lay_out_gin(vgpu::Memory& memory,
                              unsigned device,
                              int ranks,
                              int contexts,
                              std::uint32_t signals,
                              std::uint32_t counters);

/// Peers of one device communicator find each other's signals here.
struct GinTeam {
  Clique* clique = nullptr;
  std::vector<GinLayout> layouts;  ///< By rank.
  std::uint32_t first_rail_signal = 0;
  std::uint32_t rail_barriers = 0;
  mutable bool has_warned_of_rail = false;  ///< Said once for all ranks.
};

class GinNic {
 public:
  /// Starts to consume rank `rank`'s queues; `team` is shared by the NICs of all ranks. What is in
  /// flight when the NIC goes is lost, as on hardware.
  GinNic(int rank, std::shared_ptr<const GinTeam> team, GinServices services);
  ~GinNic();
  GinNic(const GinNic&) = delete;
  GinNic& operator=(const GinNic&) = delete;

  /// Descriptors posted and not delivered, for deadlock reports.
  [[nodiscard]] std::vector<std::string> describe_pending() const;
  [[nodiscard]] std::uint64_t puts() const { return puts_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  /// One (context, peer) ring and the order that its operations keep.
  struct Ring {
    std::uint32_t context = 0;
    int peer = 0;
    vgpu::Address queue = 0;
    std::uint32_t consumed = 0;  ///< Descriptors read.
    std::uint32_t credited = 0;  ///< Consumer index as the kernel sees it.
    VTime last_arrival = 0;      ///< Of all payloads so far: no later signal comes before it.
    VTime last_credit = 0;
    bool is_scheduled = false;
    vgpu::WatchId watch = 0;
    // Checked runs: a put begins when its descriptor is there, with what its poster knew then.
    check::ChainId chain = 0;
    std::uint32_t seen = 0;
    struct Posted {
      std::uint64_t work = 0;  ///< check::WorkId
      std::uint64_t operation = 0;
      vgpu::Address source = 0;  ///< Canonical.
      vgpu::Address destination = 0;
      check::Site site;
    };
    std::deque<Posted> posted;
  };
  struct Job;

  void on_write(std::size_t ring, VTime when);
  /// Tells the checker of new descriptors.
  void look_at_posters(Ring& ring);
  Ring::Posted begin_check(const Ring& ring,
                           const nccl_core::GinDescriptor& descriptor,
                           vgpu::Address slot);
  void consume(std::size_t ring);
  void carry_out(Ring& ring, const nccl_core::GinDescriptor& descriptor, VTime start);
  std::optional<std::string> locate(const nccl_core::GinDescriptor& descriptor, int peer, Job* job);
  void log_delivery(const Job& job, VTime sent, VTime arrival, VTime signalled);
  void log_completion(const Job& job, VTime sent, VTime acknowledged, VTime credited);
  /// Reads the source when it is complete, before it is delivered.
  void stage_at(VTime when, Job& job);
  void deliver(const Job& job);
  void add_signal(const Job& job);
  void complete(std::size_t ring, const Job& job);
  void lint(const nccl_core::GinDescriptor& descriptor, int peer);

  int rank_;
  std::shared_ptr<const GinTeam> team_;
  GinServices services_;
  std::vector<Ring> rings_;
  Rng rng_;
  VTime proxy_free_ = 0;  ///< One proxy thread serves all rings of a rank.
  std::uint64_t puts_ = 0;
  std::uint64_t bytes_ = 0;
  bool warned_value_signal_ = false;
  /// Expires with the NIC: events in flight check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cuco::vcluster
