// SPDX-License-Identifier: Apache-2.0
/// \file
/// When bytes arrive: every GPU has a load/store port, a NIC and a host link, each a FIFO pipe per
/// direction; a transfer is cut through from the sender's pipe into the receiver's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "fabric/topology.h"
#include "hardware/nccl_costs.h"

namespace cuco::fabric {

/// Which wire a transfer uses.
enum class Route {
  Local,      ///< Inside one GPU's memory.
  LoadStore,  ///< Through the load/store domain.
  Nic,        ///< Through both GPUs' NICs.
};

/// The times of one transfer.
struct Transfer {
  Time source_consumed = 0;  ///< The last byte has left the sender.
  Time arrival = 0;          ///< The last byte is in the receiver's memory.
};

/// Extra delay of every transfer between GPUs and every collective, for probes and adversarial
/// schedules.
struct Lateness {
  Time always = 0;                  ///< Added to each.
  bool spares_completions = false;  ///< `always` is for arrivals, not for the sender's completions.
  Time most = 0;                    ///< Upper limit of a further random delay, drawn for each.
  std::uint64_t seed = 0;
};

/// The state of all links of a topology in virtual time. Transfers must be asked for in the order
/// of their start times for the queues to mean anything; nothing breaks if they are not.
class Fabric {
 public:
  explicit Fabric(Topology topology, const hardware::NcclCosts& costs = {});

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const hardware::NcclCosts& costs() const { return costs_; }

  void set_lateness(const Lateness& lateness);
  [[nodiscard]] const Lateness& lateness() const { return lateness_; }
  /// Transfers between GPUs and collectives so far: what lateness applies to.
  [[nodiscard]] std::uint64_t deliveries() const { return deliveries_; }
  /// Bytes that left a GPU for another so far. Collectives count as what their links could carry in
  /// the time that they were busy.
  [[nodiscard]] double carried_bytes() const { return carried_; }
  /// What kernels have sent or fetched, which is booked elsewhere.
  void note_carried(std::uint64_t bytes) { carried_ += static_cast<double>(bytes); }
  /// How late the next thing comes that is carried between GPUs. Once for each.
  Time draw_lateness();

  /// The route that a peer copy or a host collective takes.
  [[nodiscard]] Route route(int source, int destination) const;

  /// Books a transfer between two GPUs; it starts no earlier than `start`.
  Transfer transfer(Route via, int source, int destination, std::uint64_t bytes, Time start) {
    return transfer(via, source, destination, bytes, start, {});
  }
  /// What who moves the bytes makes of a link; 0: all of it.
  struct Limits {
    double gigabytes_per_second = 0;       ///< Of this transfer.
    double port_gigabytes_per_second = 0;  ///< Of all that use the port like it.
  };
  Transfer transfer(Route via,
                    int source,
                    int destination,
                    std::uint64_t bytes,
                    Time start,
                    const Limits& limits);

  /// Books a copy between a GPU and its host.
  Time host_copy(int gpu, bool to_device, std::uint64_t bytes, Time start);

  /// Books the ports of all `gpus` for one collective that would take `duration` on idle links and
  /// keeps them busy for `wire` of it; returns its end. It starts when every port is free.
  Time collective(std::span<const int> gpus, Time start, Time duration, Time wire);

 private:
  struct Pipe {
    Time free_at = 0;
  };
  struct Ports {
    Pipe load_store_out, load_store_in, nic_out, nic_in, to_device, from_device;
  };

  Topology topology_;
  hardware::NcclCosts costs_;
  std::vector<Ports> ports_;
  Lateness lateness_;
  std::uint64_t deliveries_ = 0;
  double carried_ = 0;
  Rng rng_{0};
};

/// How long `bytes` take at a rate of gigabytes per second, in picoseconds.
[[nodiscard]] Time serialisation_time(double bytes, double gigabytes_per_second);

}  // namespace cuco::fabric
