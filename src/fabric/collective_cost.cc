// SPDX-License-Identifier: Apache-2.0
//
// The model. A way to do a collective costs
//
//   base + steps x hop + wire + 2 sqrt(wire x steps x handshake)
//
// where `wire` is bytes over bandwidth. A vector goes through the steps in chunks: many chunks cost
// many handshakes, few fill the pipeline slowly. The best number of them leaves the last term, the
// ramp that bandwidth shows over size.
//
//   ring       n-1 steps (2(n-1) for all-reduce); every port carries (n-1)/n of the vector per
//              pass. Across nodes every step waits for one that goes through a NIC.
//   tree       a chain in each node, a binary tree over the nodes; up and down again.
//   nvls       the switch reduces and multicasts: every port carries (n+1)/n of the vector.
//   nvls-tree  that in each node, a tree over the nodes.
//   symmetric  kernels that load and store each other's windows: no steps, one barrier before and
//              one behind.
//   direct     every pair at once, each by its channels.
//
// The latencies are those of NCCL's tuner (src/graph/tuning.cc), for NVLink and InfiniBand. Where
// published measurements (tests/data/collectives) disagree with it, the comment says so. They scale
// with the latency of the topology's links; bandwidths are shares of its ports.
#include "fabric/collective_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "fabric/fabric.h"

namespace cuco::fabric {
namespace {

constexpr double kMicrosecond = 1e6;
// The links that the tuner's constants are for.
constexpr double kTunerHop = 0.7 * kMicrosecond;
constexpr double kTunerNicHop = 2.5 * kMicrosecond;

enum Protocol { LL, LL128, Simple, kProtocols };
constexpr std::array<std::string_view, kProtocols> kNames = {"LL", "LL128", "Simple"};

/// In microseconds, by protocol.
struct Latencies {
  std::array<double, kProtocols> base, hop, nic_hop;
};
// The tuner has 3.4 for a Simple hop: rows B1, B11 and B6 are faster. Of a ring across nodes it
// counts 14 for a step through a NIC and 3.4 for the others; this is about their mean.
constexpr Latencies kRing = {{6.6, 14.0, 8.4}, {0.6, 1.9, 2.4}, {2.7, 4.0, 4.9}};
// The tuner has 5 for LL through a NIC: rows E1 and E7 are slower.
constexpr Latencies kTree = {{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {6.5, 8.5, 14.0}};
constexpr double kNvls = 25;
constexpr double kNvlsTreeHop = 20.9;
constexpr std::array<double, kProtocols> kHandshake = {0.02, 0.12, 0.25};  // A1, B1, C1, D1.
constexpr double kNvlsHandshake = 6;                                       // A1, E1.

constexpr double kLL128Share = 0.92;  // Of Simple: 120 of 128 bytes, and B8.
constexpr double kTreeShare = 0.92;   // Of a ring: the tuner.
constexpr double kTreeLLShare = 1 / 3.8;
// Of a port, a tree across nodes: proxies move small pieces (E1, E2).
constexpr double kFarTreeLLShare = 0.028;
constexpr double kFarTreeLL128Share = 0.1;

// Symmetric kernels: NCCL's own model of them (src/sym_kernels.cc), LL and not.
constexpr double kSymmetricLL = 4.5;
constexpr double kSymmetric = 7.8;
constexpr double kSymmetricShare = 0.76;  // 320 GiB/s.

// Sends: rows C5 to C8. LL up to where Simple, whose handshake is dearer, wins.
constexpr double kSendLL = 9.5;
constexpr double kSendSimple = 20;
constexpr double kSendLLShare = 0.25;  // Of what Simple's channels move.
constexpr double kSendHandshake = 1.5;
constexpr double kNextSendLL = 1.0;  ///< Each further message of a group.
constexpr double kNextSendSimple = 0.5;
constexpr double kSendNicHop = 5;              // The tuner's LL hop through a NIC, as in a tree.
constexpr double kBytesPerChannel = 16 << 20;  ///< A larger message gets more channels.

constexpr double kLocalGigabytesPerSecond = 1500;
const Link kSocket{.gigabytes_per_second = 5, .latency = 30'000'000, .kind = "socket"};

/// The machine and the ranks, as numbers.
struct Shape {
  const CollectiveMachine& machine;
  double ranks = 1;
  double nodes = 1;      ///< Load/store domains that have some of the ranks.
  double per_node = 1;   ///< Ranks in each of them.
  double port = 0;       ///< GB/s
  double nics = 0;       ///< GB/s of a node's NICs together.
  double nic = 0;        ///< GB/s of one.
  double hop_scale = 1;  ///< To the links that the constants are for.
  double nic_scale = 1;
  double levels = 0;  ///< Of a binary tree over the nodes.
};

double levels_of(double count) {
  return std::bit_width(static_cast<unsigned>(count) - 1U);
}

Shape shape_of(const CollectiveMachine& machine, std::span<const int> gpus) {
  const Topology& topology = machine.topology;
  std::set<int> domains;
  for (const int gpu : gpus)
    domains.insert(gpu / topology.domain_size());
  const Link& nic = topology.nic ? *topology.nic : kSocket;
  Shape shape{machine};
  shape.ranks = static_cast<double>(gpus.size());
  shape.nodes = static_cast<double>(domains.size());
  shape.per_node = shape.ranks / shape.nodes;
  shape.port = topology.load_store.gigabytes_per_second;
  shape.nic = nic.rate();
  shape.nics = shape.nic * shape.per_node;
  shape.hop_scale = static_cast<double>(topology.load_store.latency) / kTunerHop;
  shape.nic_scale = static_cast<double>(nic.latency) / kTunerNicHop;
  shape.levels = levels_of(shape.nodes);
  return shape;
}

Time picoseconds(double microseconds) {
  return static_cast<Time>(std::llround(microseconds * kMicrosecond));
}

double wire_time(double bytes, double gb_s) {
  return static_cast<double>(serialisation_time(bytes, gb_s)) / kMicrosecond;
}

CollectiveCost cost_of(double latency, double wire, double handshakes) {
  CollectiveCost cost;
  cost.duration = picoseconds(latency + wire + 2 * std::sqrt(wire * handshakes));
  cost.wire = picoseconds(wire);
  return cost;
}

/// What small messages need: no more channels than bytes for them.
int channels_for(double bytes, int most) {
  constexpr double kLeast = 16 << 10;
  return std::clamp(static_cast<int>(bytes / kLeast), 1, most);
}

/// `carried`: through each port, in so many steps.
void add_rings(const Shape& shape, double steps, double carried, std::vector<CollectiveCost>& out) {
  const hardware::NcclCosts& costs = shape.machine.costs;
  const bool far = shape.nodes > 1;
  const double simple =
      far ? std::min(shape.port * costs.ring_share, shape.nics) : shape.port * costs.ring_share;
  const std::array<double, kProtocols> rates = {std::min(shape.port * costs.ll_share, simple / 2),
                                                simple * kLL128Share, simple};
  for (std::size_t p = 0; p < kProtocols; ++p) {
    const double hop = far ? kRing.nic_hop[p] * shape.nic_scale : kRing.hop[p] * shape.hop_scale;
    CollectiveCost cost =
        cost_of(kRing.base[p] + steps * hop, wire_time(carried, rates[p]), steps * kHandshake[p]);
    cost.algorithm = "ring";
    cost.protocol = kNames[p];
    cost.channels = channels_for(carried * costs.bytes_scale, costs.ring_channels);
    out.push_back(cost);
  }
}

/// How often the vector leaves a node through its NICs: two nodes share the work of a root.
double crossings(const Shape& shape) {
  return shape.nodes > 2 ? 2 : 1;
}

void add_trees(const Shape& shape, double bytes, std::vector<CollectiveCost>& out) {
  const hardware::NcclCosts& costs = shape.machine.costs;
  const bool far = shape.nodes > 1;
  double full = shape.port * costs.ring_share / 2;  // Up, and down again.
  if (far) full = std::min(full, shape.nics / crossings(shape));
  std::array<double, kProtocols> rates = {
      std::min(full * kTreeLLShare, shape.port * costs.ll_share / 2), full * 0.78,
      full * kTreeShare};
  if (far) rates[LL] = std::min(rates[LL], shape.port * kFarTreeLLShare);
  if (far) rates[LL128] = std::min(rates[LL128], shape.port * kFarTreeLL128Share);
  for (std::size_t p = 0; p < kProtocols; ++p) {
    const double latency =
        kTree.base[p] + 2 * ((shape.per_node - 1) * kTree.hop[p] * shape.hop_scale +
                             shape.levels * kTree.nic_hop[p] * shape.nic_scale);
    CollectiveCost cost = cost_of(latency, wire_time(bytes, rates[p]),
                                  2 * (shape.per_node - 1 + shape.levels) * kHandshake[p]);
    cost.algorithm = "tree";
    cost.protocol = kNames[p];
    cost.channels = channels_for(bytes * costs.bytes_scale, costs.ring_channels);
    out.push_back(cost);
  }
}

void add_nvls(const Shape& shape, double bytes, std::vector<CollectiveCost>& out) {
  const hardware::NcclCosts& costs = shape.machine.costs;
  if (!shape.machine.topology.multicast || shape.per_node <= 2) return;
  const bool far = shape.nodes > 1;
  double rate = shape.port * costs.nvls_share * shape.per_node / (shape.per_node + 1);
  if (far) rate = std::min(rate, shape.nics / crossings(shape));
  const double latency =
      kNvls * shape.hop_scale + 2 * shape.levels * kNvlsTreeHop * shape.nic_scale;
  CollectiveCost cost =
      cost_of(latency, wire_time(bytes, rate), kNvlsHandshake * (1 + shape.levels));
  cost.algorithm = far ? "nvls-tree" : "nvls";
  cost.protocol = kNames[Simple];
  cost.channels = costs.nvls_channels;
  out.push_back(cost);
}

/// `carried`: through each port; `copied`: if each rank sends all that it has to all others.
void add_symmetric(const Shape& shape,
                   double carried,
                   double copied,
                   double share,
                   std::vector<CollectiveCost>& out) {
  if (shape.nodes > 1) return;
  const hardware::NcclCosts& costs = shape.machine.costs;
  std::array<CollectiveCost, 2> ways = {
      cost_of(kSymmetricLL * shape.hop_scale, wire_time(copied, shape.port * costs.ll_share), 0),
      cost_of(kSymmetric * shape.hop_scale, wire_time(carried, shape.port * share), 0)};
  ways[0].protocol = kNames[LL];
  ways[1].protocol = kNames[Simple];
  for (CollectiveCost& way : ways) {
    way.algorithm = "symmetric";
    way.channels = channels_for(carried * costs.bytes_scale, costs.nvls_channels);
    out.push_back(way);
  }
}

void add_symmetric_reduce(const Shape& shape, double bytes, std::vector<CollectiveCost>& out) {
  const double n = shape.ranks;
  const double copied = (n - 1) * bytes;
  if (shape.machine.topology.multicast) {
    add_symmetric(shape, (n + 1) / n * bytes, copied, shape.machine.costs.nvls_share, out);
  } else {
    add_symmetric(shape, 2 * (n - 1) / n * bytes, copied, kSymmetricShare, out);
  }
}

/// Channels of one message.
double send_channels(const hardware::NcclCosts& costs, double ranks, double bytes) {
  const double least = std::max(1.0, std::floor(costs.direct_channels / ranks));
  // A little fewer than in proportion, so that more bytes are never faster.
  const double wanted =
      least * std::pow(bytes * costs.bytes_scale / (least * kBytesPerChannel), 0.9);
  return std::clamp(wanted, least, static_cast<double>(costs.direct_channels));
}

/// Each rank sends `block` to all others.
void add_direct(const Shape& shape, double block, std::vector<CollectiveCost>& out) {
  const hardware::NcclCosts& costs = shape.machine.costs;
  const double peers = shape.ranks - 1;
  const double far = shape.ranks - shape.per_node;
  const double channels = peers * send_channels(costs, shape.ranks, block);
  const double rate = shape.port * std::min(channels * costs.channel_share, costs.direct_share);
  const double nic = wire_time(far * block, shape.nic);
  const double hop = far > 0 ? kSendNicHop * shape.nic_scale : 0;
  const double quick = std::max(wire_time(peers * block, rate * kSendLLShare), nic);
  const double full = std::max(wire_time(peers * block, rate), nic);
  std::array<CollectiveCost, 2> ways = {
      cost_of(kSendLL + hop + (peers - 1) * kNextSendLL, quick, 0),
      cost_of(kSendSimple + hop + (peers - 1) * kNextSendSimple, full, kSendHandshake)};
  ways[0].protocol = kNames[LL];
  ways[1].protocol = kNames[Simple];
  for (CollectiveCost& way : ways) {
    way.algorithm = "direct";
    way.channels = std::min(costs.direct_channels, static_cast<int>(channels));
    out.push_back(way);
  }
}

}  // namespace

std::vector<CollectiveCost> collective_options(const CollectiveMachine& machine,
                                               Pattern pattern,
                                               std::span<const int> gpus,
                                               std::uint64_t bytes,
                                               bool symmetric) {
  const auto size = static_cast<double>(bytes);
  std::vector<CollectiveCost> out;
  if (gpus.size() < 2) {
    CollectiveCost local = cost_of(kRing.base[LL], wire_time(size, kLocalGigabytesPerSecond), 0);
    local.algorithm = "local";
    local.channels = 1;
    return {local};
  }
  const Shape shape = shape_of(machine, gpus);
  const double others = shape.ranks - 1;
  switch (pattern) {
    case Pattern::AllReduce:
      add_rings(shape, 2 * others, 2 * others / shape.ranks * size, out);
      add_trees(shape, size, out);
      add_nvls(shape, size, out);
      if (symmetric) add_symmetric_reduce(shape, size, out);
      break;
    case Pattern::Reduce:
    case Pattern::Broadcast:
      // Pipelined: the vector passes each port once, the length of the ring is paid in latency.
      add_rings(shape, shape.ranks, size, out);
      break;
    case Pattern::AllGather:
    case Pattern::ReduceScatter:
      add_rings(shape, others, others * size, out);
      if (symmetric) add_symmetric(shape, others * size, others * size, kSymmetricShare, out);
      break;
    case Pattern::AllToAll:
    case Pattern::Gather:
    case Pattern::Scatter:
      add_direct(shape, size, out);
      break;
  }
  return out;
}

CollectiveCost collective_cost(const CollectiveMachine& machine,
                               Pattern pattern,
                               std::span<const int> gpus,
                               std::uint64_t bytes,
                               bool symmetric) {
  const std::vector<CollectiveCost> options =
      collective_options(machine, pattern, gpus, bytes, symmetric);
  return *std::min_element(options.begin(), options.end(),
                           [](const auto& a, const auto& b) { return a.duration < b.duration; });
}

SendCost send_cost(const CollectiveMachine& machine,
                   int ranks,
                   bool near,
                   std::uint64_t bytes,
                   std::size_t position) {
  const Topology& topology = machine.topology;
  const hardware::NcclCosts& costs = machine.costs;
  const Link& nic = topology.nic ? *topology.nic : kSocket;
  const auto size = static_cast<double>(bytes);
  const auto before = static_cast<double>(position);
  const double port = topology.load_store.gigabytes_per_second;
  const double channels = send_channels(costs, ranks, size);
  const double most = near ? port * costs.direct_share : nic.rate();
  const double full = std::min(port * channels * costs.channel_share, most);
  const double quick = std::min(full, port * channels * costs.channel_share * kSendLLShare);
  const double ramp = 2 * std::sqrt(wire_time(size, full) * kSendHandshake);
  const double ll = kSendLL + before * kNextSendLL;
  const double simple = kSendSimple + before * kNextSendSimple + ramp;
  // The way through a NIC is the fabric's to add.
  SendCost cost{.port_gigabytes_per_second = most, .channels = static_cast<int>(channels)};
  const bool is_quick = ll + wire_time(size, quick) < simple + wire_time(size, full);
  cost.setup = picoseconds(is_quick ? ll : simple);
  cost.gigabytes_per_second = is_quick ? quick : full;
  return cost;
}

Time host_time(const hardware::NcclCosts& costs, std::size_t gpus) {
  return picoseconds(costs.group_us + costs.launch_us * static_cast<double>(gpus));
}

Time queue_gap(const hardware::NcclCosts& costs, bool in_graph) {
  return picoseconds(in_graph ? costs.graph_gap_us : costs.gap_us);
}

}  // namespace cuco::fabric
