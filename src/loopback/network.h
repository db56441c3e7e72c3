// SPDX-License-Identifier: Apache-2.0
/// \file
/// The network that loopback models: what `cuco run` writes for its library, one key=value per
/// line, and when a message would arrive there. The rules are those of fabric::Fabric: a message
/// occupies its sender's port, then its receiver's, each in order of arrival, cut through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_core/collective.h"

namespace cuco::loopback {

/// Nanoseconds of one steady clock.
using Nanoseconds = std::int64_t;

struct NetworkLink {
  double bytes_per_second = 0;  ///< Of a program's bytes.
  Nanoseconds latency = 0;
  Nanoseconds gap = 0;  ///< The least time between two messages of one port.
};

struct Network {
  std::string name;
  int nodes = 1;
  int gpus_per_node = 1;
  enum class Domain { Gpu, Node, World } domain = Domain::Node;
  NetworkLink load_store;
  std::optional<NetworkLink> nic;
  Nanoseconds gin_post = 0;  ///< From a descriptor to its first byte on the wire.

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  /// The load/store domain of a GPU.
  [[nodiscard]] int domain_of(int gpu) const;
};

/// Nothing: the text is not a network's, and `problem` says why.
[[nodiscard]] std::optional<Network> parse_network(std::string_view text, std::string* problem);

/// When messages arrive on the network, with queueing at ports.
class Pacer {
 public:
  explicit Pacer(Network network);

  [[nodiscard]] const Network& network() const { return network_; }

  /// A put from one GPU to another that a kernel posted at `now`.
  [[nodiscard]] Nanoseconds put(int source, int destination, std::uint64_t bytes, Nanoseconds now);
  /// A message of a host-driven call, ready to go at `now`.
  [[nodiscard]] Nanoseconds message(int source,
                                    int destination,
                                    std::uint64_t bytes,
                                    Nanoseconds now);
  /// When a collective of `gpus` that all have joined at `now` is done. `block`: bytes of count
  /// elements; `root` is an index of `gpus`. Rings for what NCCL does in rings, else all pairs.
  [[nodiscard]] Nanoseconds collective(nccl_core::Kind kind,
                                       const std::vector<int>& gpus,
                                       int root,
                                       std::uint64_t block,
                                       Nanoseconds now);

 private:
  struct Port {
    Nanoseconds out = 0;  ///< Free from then on.
    Nanoseconds in = 0;
  };
  Nanoseconds transfer(int source, int destination, std::uint64_t bytes, Nanoseconds start);
  Nanoseconds ring(const std::vector<int>& gpus, std::uint64_t bytes, int steps, Nanoseconds now);

  Network network_;
  std::vector<Port> nics_;
  std::vector<Port> load_stores_;
};

/// What one rank puts on the wire in a collective of NCCL's algorithm that the pacer models.
[[nodiscard]] std::uint64_t wire_bytes(nccl_core::Kind kind,
                                       int ranks,
                                       bool is_root,
                                       std::uint64_t block);

/// How far deliveries were from the model's times.
class PacingError {
 public:
  /// A message that should have taken `modelled` took `taken`.
  void add(Nanoseconds modelled, Nanoseconds taken);
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] double mean() const;  ///< |taken / modelled - 1|
  [[nodiscard]] double worst() const { return worst_; }
  [[nodiscard]] double mean_off_us() const;  ///< |taken - modelled|

 private:
  std::uint64_t transfers_ = 0;
  double sum_ = 0;
  double worst_ = 0;
  double off_ns_ = 0;
};

}  // namespace cuco::loopback
