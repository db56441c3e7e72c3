// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a cluster looks like: nodes, GPUs, load/store domains, NICs and the links between them, as
/// read from a topology file (topology/*.toml).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::fabric {

/// Virtual time in picoseconds, the unit of the whole virtual cluster.
using Time = std::int64_t;

/// A port of a GPU or NIC: full duplex, the same rate in each direction.
struct Link {
  double gigabytes_per_second = 0;
  Time latency = 0;       ///< First byte out to first byte in, switches included.
  Time message_gap = 0;   ///< The least time between two messages of one port.
  std::string kind = "";  ///< A word for reports: nvlink, pcie, infiniband, roce.
  double efficiency = 1;  ///< What is left of the bandwidth for a program's bytes.

  /// Of a program's bytes.
  [[nodiscard]] double rate() const { return gigabytes_per_second * efficiency; }
};

/// How kernels get a NIC to work for them.
struct Gin {
  bool by_proxy = true;   ///< By a host thread that polls; else the GPU rings the NIC itself.
  Time post = 5'000'000;  ///< From a descriptor to its first byte on the wire, polling apart.
};

/// Which GPUs can load and store each other's memory.
enum class LoadStoreDomain {
  Gpu,    ///< None: every GPU is alone.
  Node,   ///< The GPUs of one node.
  World,  ///< All GPUs (a rack-scale NVLink domain).
};

/// An immutable description of a cluster; GPUs are numbered over all nodes, node by node.
struct Topology {
  std::string name;
  std::string gpu;  ///< The hardware description that every GPU follows.
  int nodes = 1;
  int gpus_per_node = 1;
  LoadStoreDomain domain = LoadStoreDomain::Node;
  bool multicast = false;   ///< The load/store switch can multicast and reduce (NVLS).
  Link load_store;          ///< One GPU's port into its load/store domain.
  std::optional<Link> nic;  ///< One GPU's NIC; without one there is no GIN.
  Gin gin;                  ///< What it takes to use the NIC from a kernel.
  Link host;                ///< One GPU's link to its host.

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  [[nodiscard]] int node_of(int gpu_index) const { return gpu_index / gpus_per_node; }
  /// The number of GPUs in one load/store domain.
  [[nodiscard]] int domain_size() const;
  [[nodiscard]] bool same_domain(int a, int b) const;
};

/// Reads a topology file. An error names the file, the line and the key.
[[nodiscard]] Result<Topology> parse_topology(std::string_view text, std::string_view file_name);

/// One node of `gpus` GPUs that all load and store each other, with NVLink-like rates and a NIC
/// each: what a program gets when no topology was asked for.
[[nodiscard]] Topology single_node(int gpus);

/// The same machine with `ranks` GPUs in use: `per_node` of each node, or if that is 0, as many as
/// a node has. Fails when the topology has fewer GPUs than that, or nodes would differ.
[[nodiscard]] Result<Topology> restrict_to(Topology topology, int ranks, int per_node = 0);

/// The links of a scale model (hardware/scale_model.h): a fraction of the bytes and messages per
/// second, the same latencies.
[[nodiscard]] Topology divided(Topology topology, double by);

}  // namespace cuco::fabric
