// SPDX-License-Identifier: Apache-2.0
#include "loopback/network.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace cuco::loopback {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// A copy inside one GPU: the rate only has to be far above any wire.
constexpr NetworkLink kLocal{1.5e12, 500, 0};
// Two nodes without NICs still have sockets; a host-driven program may use them.
constexpr NetworkLink kSocket{5e9, 30'000, 1'000};
constexpr std::int64_t kPicosecondsPerNanosecond = 1000;

Values split_lines(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    values[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  return values;
}

/// Reads numbers out of the values, and remembers the first key that is none.
class Reader {
 public:
  explicit Reader(const Values& values) : values_(values) {}

  std::int64_t number(const std::string& key) {
    const auto found = values_.find(key);
    std::int64_t value = 0;
    if (found != values_.end()) {
      const std::string& text = found->second;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc{} && end == text.data() + text.size() && value >= 0) return value;
    }
    if (problem.empty()) problem = "network: no number '" + key + "'";
    return 0;
  }

  NetworkLink link(const std::string& name) {
    NetworkLink link;
    link.bytes_per_second = static_cast<double>(number(name + "_bytes_per_s"));
    link.latency = number(name + "_latency_ps") / kPicosecondsPerNanosecond;
    if (link.bytes_per_second <= 0 && problem.empty())
      problem = "network: '" + name + "' has no rate";
    return link;
  }

  std::string problem;

 private:
  const Values& values_;
};

Nanoseconds wire_time(std::uint64_t bytes, const NetworkLink& link) {
  return std::llround(std::ceil(static_cast<double>(bytes) * 1e9 / link.bytes_per_second));
}

}  // namespace

int Network::domain_of(int gpu) const {
  switch (domain) {
    case Domain::Gpu:
      return gpu;
    case Domain::Node:
      return gpu / gpus_per_node;
    case Domain::World:
      return 0;
  }
  return 0;
}

std::optional<Network> parse_network(std::string_view text, std::string* problem) {
  const Values values = split_lines(text);
  Reader reader(values);
  Network network;
  const auto word = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  network.name = word("name");
  network.nodes = static_cast<int>(reader.number("nodes"));
  network.gpus_per_node = static_cast<int>(reader.number("gpus_per_node"));
  const std::string domain = word("domain");
  if (domain == "gpu") {
    network.domain = Network::Domain::Gpu;
  } else if (domain == "world") {
    network.domain = Network::Domain::World;
  } else if (domain != "node" && reader.problem.empty()) {
    reader.problem = "network: domain must be gpu, node or world: '" + domain + "'";
  }
  network.load_store = reader.link("load_store");
  if (reader.number("nic") != 0) {
    network.nic = reader.link("nic");
    network.nic->gap = reader.number("nic_gap_ps") / kPicosecondsPerNanosecond;
    network.gin_post = reader.number("gin_post_ps") / kPicosecondsPerNanosecond;
  }
  if (reader.problem.empty() && (network.nodes < 1 || network.gpus_per_node < 1)) {
    reader.problem = "network: it has no GPUs";
  }
  if (reader.problem.empty()) return network;
  *problem = reader.problem;
  return std::nullopt;
}

Pacer::Pacer(Network network)
    : network_(std::move(network)),
      nics_(static_cast<std::size_t>(network_.gpus())),
      load_stores_(static_cast<std::size_t>(network_.gpus())) {}

Nanoseconds Pacer::transfer(int source, int destination, std::uint64_t bytes, Nanoseconds start) {
  if (source == destination) return start + kLocal.latency + wire_time(bytes, kLocal);
  const bool near = network_.domain_of(source) == network_.domain_of(destination);
  const NetworkLink& link = near ? network_.load_store : (network_.nic ? *network_.nic : kSocket);
  std::vector<Port>& ports = near ? load_stores_ : nics_;
  Port& from = ports[static_cast<std::size_t>(source)];
  Port& to = ports[static_cast<std::size_t>(destination)];
  const Nanoseconds wire = wire_time(bytes, link);
  const Nanoseconds leaves = std::max(start, from.out);
  from.out = leaves + std::max(wire, link.gap);
  const Nanoseconds enters = std::max(leaves + link.latency, to.in);
  to.in = enters + wire;
  return enters + wire;
}

Nanoseconds Pacer::put(int source, int destination, std::uint64_t bytes, Nanoseconds now) {
  return transfer(source, destination, bytes, now + network_.gin_post);
}

Nanoseconds Pacer::message(int source, int destination, std::uint64_t bytes, Nanoseconds now) {
  return transfer(source, destination, bytes, now);
}

// Every GPU sends `bytes` to its neighbour, in `steps` pieces of which each waits for the one
// before: the wires are busy all the time, and every step pays the latency of the slowest hop.
Nanoseconds Pacer::ring(const std::vector<int>& gpus,
                        std::uint64_t bytes,
                        int steps,
                        Nanoseconds now) {
  Nanoseconds done = now;
  Nanoseconds slowest = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const int from = gpus[i];
    const int to = gpus[(i + 1) % gpus.size()];
    done = std::max(done, transfer(from, to, bytes, now));
    const bool near = network_.domain_of(from) == network_.domain_of(to);
    const NetworkLink& link = near ? network_.load_store : (network_.nic ? *network_.nic : kSocket);
    slowest = std::max(slowest, link.latency);
  }
  return done + std::max(steps - 1, 0) * slowest;
}

Nanoseconds Pacer::collective(nccl_core::Kind kind,
                              const std::vector<int>& gpus,
                              int root,
                              std::uint64_t block,
                              Nanoseconds now) {
  using nccl_core::Kind;
  const auto n = static_cast<std::uint64_t>(gpus.size());
  if (n < 2) return now;
  const int hops = static_cast<int>(n) - 1;
  const auto rooted = static_cast<std::size_t>(root);
  Nanoseconds done = now;
  switch (kind) {
    case Kind::AllReduce:
      return ring(gpus, 2 * (n - 1) * ((block + n - 1) / n), 2 * hops, now);
    case Kind::AllGather:
    case Kind::ReduceScatter:
      return ring(gpus, (n - 1) * block, hops, now);
    case Kind::Broadcast:
    case Kind::Reduce:
      return ring(gpus, block, hops, now);
    case Kind::AllToAll:
      // Each in another order, so that no receiver is asked by all at once.
      for (std::size_t step = 1; step < n; ++step) {
        for (std::size_t i = 0; i < n; ++i)
          done = std::max(done, transfer(gpus[i], gpus[(i + step) % n], block, now));
      }
      return done;
    case Kind::Gather:
    case Kind::Scatter:
      for (std::size_t i = 0; i < n; ++i) {
        if (i == rooted) continue;
        const bool gathers = kind == Kind::Gather;
        done = std::max(done, transfer(gathers ? gpus[i] : gpus[rooted],
                                       gathers ? gpus[rooted] : gpus[i], block, now));
      }
      return done;
    case Kind::Send:
    case Kind::Recv:
      break;
  }
  return done;
}

std::uint64_t wire_bytes(nccl_core::Kind kind, int ranks, bool is_root, std::uint64_t block) {
  using nccl_core::Kind;
  const auto n = static_cast<std::uint64_t>(ranks);
  switch (kind) {
    case Kind::AllReduce:
      return 2 * (n - 1) * ((block + n - 1) / n);
    case Kind::AllGather:
    case Kind::ReduceScatter:
    case Kind::AllToAll:
      return (n - 1) * block;
    case Kind::Broadcast:
    case Kind::Reduce:
    case Kind::Send:
      return block;
    case Kind::Gather:
      return is_root ? 0 : block;
    case Kind::Scatter:
      return is_root ? (n - 1) * block : 0;
    case Kind::Recv:
      return 0;
  }
  return 0;
}

void PacingError::add(Nanoseconds modelled, Nanoseconds taken) {
  if (modelled <= 0) return;
  const double error = std::abs(static_cast<double>(taken) / static_cast<double>(modelled) - 1);
  ++transfers_;
  sum_ += error;
  worst_ = std::max(worst_, error);
  off_ns_ += std::abs(static_cast<double>(taken - modelled));
}

double PacingError::mean() const {
  return transfers_ == 0 ? 0 : sum_ / static_cast<double>(transfers_);
}

double PacingError::mean_off_us() const {
  return transfers_ == 0 ? 0 : off_ns_ / static_cast<double>(transfers_) / 1e3;
}

}  // namespace cuco::loopback
