// SPDX-License-Identifier: Apache-2.0
//
// The model. A collective pays a launch, then steps x latency + wire bytes / bandwidth, where the
// bandwidth is that of the narrowest port on the way and the latency that of the slowest hop:
//
//   ring   n-1 steps (2(n-1) for all-reduce), every port carries (n-1)/n of the vector per pass;
//   tree   2 log2(n) steps, two passes of the whole vector: wins for small messages;
//   nvls   two trips to a switch that multicasts or reduces, one pass of the vector: needs
//          multicast and all ranks in one load/store domain;
//   direct every pair at once: the port carries (n-1) blocks.
//
// Across nodes a ring crosses the NIC once per node and pass, and the GPUs of a node each own one
// NIC, so that the ring's bandwidth is min(port, NICs of the node in use). Protocol efficiency is
// one constant; it is a prediction, and reports say so.
#include "fabric/collective_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "fabric/fabric.h"

namespace cuco::fabric {
namespace {

constexpr Time kLaunch = 3'000'000;  // A kernel launch and its handshake.
constexpr double kProtocolEfficiency = 0.8;

struct Machine {
  double ranks = 1;
  double ring_gb_s = 0;    ///< What one rank's share of a ring or tree moves per second.
  double direct_gb_s = 0;  ///< What one rank moves to all others at once.
  Time hop = 0;
  Time domain_hop = 0;
  bool one_domain = true;
  bool multicast = false;
};

Machine describe(const Topology& topology, std::span<const int> gpus) {
  Machine machine;
  machine.ranks = static_cast<double>(gpus.size());
  std::set<int> domains;
  for (const int gpu : gpus)
    domains.insert(gpu / topology.domain_size());
  const double port = topology.load_store.gigabytes_per_second;
  machine.one_domain = domains.size() == 1;
  machine.multicast = topology.multicast && machine.one_domain;
  machine.hop = machine.domain_hop = topology.load_store.latency;
  machine.ring_gb_s = machine.direct_gb_s = port;
  if (!machine.one_domain) {
    const double nic = topology.nic ? topology.nic->gigabytes_per_second : 5;
    const double per_domain = machine.ranks / static_cast<double>(domains.size());
    machine.ring_gb_s = std::min(port, nic * per_domain);
    // Of a rank's n-1 blocks, all but those of its own domain leave through its own NIC.
    const double remote = (machine.ranks - per_domain) / (machine.ranks - 1);
    machine.direct_gb_s = std::min(port, nic / remote);
    machine.hop = topology.nic ? topology.nic->latency : 30'000'000;
  }
  machine.ring_gb_s *= kProtocolEfficiency;
  machine.direct_gb_s *= kProtocolEfficiency;
  return machine;
}

Time steps_and_bytes(double steps, Time hop, double bytes, double gb_s) {
  return kLaunch + static_cast<Time>(steps * static_cast<double>(hop)) +
         serialisation_time(bytes, gb_s);
}

CollectiveCost all_reduce(const Machine& m, double bytes) {
  const double depth = std::bit_width(static_cast<unsigned>(m.ranks) - 1U);
  const std::array<CollectiveCost, 3> options = {{
      {steps_and_bytes(2 * (m.ranks - 1), m.hop, 2 * (m.ranks - 1) / m.ranks * bytes, m.ring_gb_s),
       "ring"},
      {steps_and_bytes(2 * depth, m.hop, 2 * bytes, m.ring_gb_s), "tree"},
      {steps_and_bytes(2, m.domain_hop, bytes * (m.ranks + 1) / m.ranks, m.ring_gb_s), "nvls"},
  }};
  const auto last = m.multicast && m.ranks > 2 ? options.end() : options.end() - 1;
  return *std::min_element(options.begin(), last,
                           [](const auto& a, const auto& b) { return a.duration < b.duration; });
}

}  // namespace

CollectiveCost collective_cost(const Topology& topology,
                               Pattern pattern,
                               std::span<const int> gpus,
                               std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  const Machine m = describe(topology, gpus);
  if (m.ranks < 2) return {kLaunch + serialisation_time(size, 1500), "local"};
  const double others = m.ranks - 1;
  const double depth = std::bit_width(static_cast<unsigned>(m.ranks) - 1U);
  switch (pattern) {
    case Pattern::AllReduce:
      return all_reduce(m, size);
    case Pattern::Reduce:
    case Pattern::Broadcast:
      // Pipelined: the vector passes each port once, the depth of the tree is paid in latency.
      return {steps_and_bytes(depth, m.hop, size, m.ring_gb_s), "tree"};
    case Pattern::AllGather:
    case Pattern::ReduceScatter: {
      const CollectiveCost ring = {steps_and_bytes(others, m.hop, others * size, m.ring_gb_s),
                                   "ring"};
      const CollectiveCost nvls = {steps_and_bytes(1, m.domain_hop, others * size, m.ring_gb_s),
                                   "nvls"};
      return m.multicast && nvls.duration < ring.duration ? nvls : ring;
    }
    case Pattern::AllToAll:
    case Pattern::Gather:
    case Pattern::Scatter:
      return {steps_and_bytes(1, m.hop, others * size, m.direct_gb_s), "direct"};
  }
  return {};
}

}  // namespace cuco::fabric
