// SPDX-License-Identifier: Apache-2.0
#include "fabric/topology.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"

namespace cuco::fabric {
namespace {

constexpr double kPicosecondsPerMicrosecond = 1e6;

/// Reads typed keys of one table; the first problem is kept, with its line.
class TableReader {
 public:
  TableReader(std::string_view file, const toml::table& table, std::string path)
      : file_(file), table_(table), path_(std::move(path)) {}

  template <typename T>
  T get(std::string_view key, const T& fallback, bool required) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (required) fail(table_.source(), fmt::format("missing key: {}{}", path_, key));
      return fallback;
    }
    const std::optional<T> value = node->value<T>();
    if (!value) {
      fail(node->source(), fmt::format("key has the wrong type: {}{}", path_, key));
      return fallback;
    }
    return *value;
  }

  /// A number that must lie in [low, high].
  double number(std::string_view key, double low, double high, std::optional<double> fallback) {
    const double value = get<double>(key, fallback.value_or(low), !fallback);
    if (!(value >= low && value <= high)) {
      fail(line_of(key), fmt::format("{}{} must be in [{}, {}]: {}", path_, key, low, high, value));
      return low;
    }
    return value;
  }

  const toml::table* table(std::string_view key, bool required) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (required) fail(table_.source(), fmt::format("missing table: [{}{}]", path_, key));
      return nullptr;
    }
    if (!node->is_table()) fail(node->source(), fmt::format("not a table: {}{}", path_, key));
    return node->as_table();
  }

  /// Call last: a key that nobody asked for is a spelling mistake.
  void reject_unknown_keys() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::optional<std::string> meant = nearest(name, known_);
      fail(key.source(), fmt::format("unknown key: {}{}{}", path_, name,
                                     meant ? fmt::format(" (did you mean {})", *meant) : ""));
    }
  }

  void fail(const toml::source_region& where, const std::string& what) {
    if (!error_) error_ = fmt::format("{}:{}: {}", file_, where.begin.line, what);
  }
  [[nodiscard]] toml::source_region line_of(std::string_view key) const {
    const toml::node* node = table_.get(key);
    return node == nullptr ? table_.source() : node->source();
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  std::string_view file_;
  const toml::table& table_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<std::string> error_;
};

Result<Link> read_link(std::string_view file, const toml::table& table, const std::string& name) {
  TableReader reader(file, table, name + ".");
  const auto picoseconds = [&](std::string_view key, std::optional<double> fallback) {
    return static_cast<Time>(reader.number(key, 0, 1e6, fallback) * kPicosecondsPerMicrosecond);
  };
  Link link;
  link.kind = reader.get<std::string>("kind", name, false);
  link.gigabytes_per_second = reader.number("bandwidth_gb_s", 0.001, 1e6, std::nullopt);
  link.latency = picoseconds("latency_us", std::nullopt);
  link.message_gap = picoseconds("message_gap_us", 0.0);
  link.efficiency = reader.number("efficiency", 0.01, 1, 1.0);
  // These belong to the load_store table only; read_topology looks at them there.
  if (name == "load_store") {
    (void)reader.get<std::string>("domain", "node", false);
    (void)reader.get<bool>("multicast", false, false);
  }
  if (name == "nic") {  // As these do to the nic table: read_gin.
    (void)reader.get<std::string>("gin", "proxy", false);
    (void)reader.get<double>("gin_post_us", 0, false);
  }
  reader.reject_unknown_keys();
  if (reader.error()) return Error{ErrorKind::InvalidInput, *reader.error()};
  return link;
}

Result<Gin> read_gin(std::string_view file, const toml::table& nic) {
  TableReader reader(file, nic, "nic.");
  Gin gin;
  const auto path = reader.get<std::string>("gin", "proxy", false);
  if (path != "proxy" && path != "device") {
    reader.fail(reader.line_of("gin"), "nic.gin must be proxy or device: " + path);
  }
  gin.by_proxy = path == "proxy";
  const double usual = static_cast<double>(gin.post) / kPicosecondsPerMicrosecond;
  gin.post =
      static_cast<Time>(reader.number("gin_post_us", 0, 1e6, usual) * kPicosecondsPerMicrosecond);
  if (reader.error()) return Error{ErrorKind::InvalidInput, *reader.error()};
  return gin;
}

Result<Topology> read_topology(std::string_view file, const toml::table& root) {
  TableReader reader(file, root, "");
  Topology topology;
  topology.name = reader.get<std::string>("name", "", true);
  (void)reader.get<std::string>("description", "", false);
  topology.gpu = reader.get<std::string>("gpu", "", true);
  topology.nodes = static_cast<int>(reader.number("nodes", 1, 1024, std::nullopt));
  topology.gpus_per_node = static_cast<int>(reader.number("gpus_per_node", 1, 72, std::nullopt));
  const toml::table* load_store = reader.table("load_store", true);
  const toml::table* nic = reader.table("nic", false);
  const toml::table* host = reader.table("host", false);
  if (load_store != nullptr) {
    TableReader inner(file, *load_store, "load_store.");
    topology.multicast = inner.get<bool>("multicast", false, false);
    const auto domain = inner.get<std::string>("domain", "node", false);
    const std::array<std::pair<std::string_view, LoadStoreDomain>, 3> words = {
        {{"gpu", LoadStoreDomain::Gpu},
         {"node", LoadStoreDomain::Node},
         {"world", LoadStoreDomain::World}}};
    bool found = false;
    for (const auto& [word, value] : words) {
      if (domain != word) continue;
      topology.domain = value;
      found = true;
    }
    if (!found) {
      reader.fail(inner.line_of("domain"),
                  "load_store.domain must be gpu, node or world: " + domain);
    }
    if (inner.error()) return Error{ErrorKind::InvalidInput, *inner.error()};
  }
  reader.reject_unknown_keys();
  if (reader.error()) return Error{ErrorKind::InvalidInput, *reader.error()};
  CUCO_TRY_ASSIGN(topology.load_store, read_link(file, *load_store, "load_store"));
  if (nic != nullptr) {
    CUCO_TRY_ASSIGN(topology.nic, read_link(file, *nic, "nic"));
    CUCO_TRY_ASSIGN(topology.gin, read_gin(file, *nic));
  }
  topology.host = single_node(1).host;
  if (host != nullptr) {
    CUCO_TRY_ASSIGN(topology.host, read_link(file, *host, "host"));
  }
  return topology;
}

}  // namespace

int Topology::domain_size() const {
  switch (domain) {
    case LoadStoreDomain::Gpu:
      return 1;
    case LoadStoreDomain::Node:
      return gpus_per_node;
    case LoadStoreDomain::World:
      return gpus();
  }
  return 1;
}

bool Topology::same_domain(int a, int b) const {
  return a / domain_size() == b / domain_size();
}

Result<Topology> parse_topology(std::string_view text, std::string_view file_name) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file_name));
  return read_topology(file_name, table);
}

Topology single_node(int gpus) {
  Topology topology;
  topology.name = "single-node";
  topology.gpu = "h200";
  topology.gpus_per_node = gpus;
  topology.multicast = true;
  topology.load_store = {450, 700'000, 0, "nvlink", 0.86};
  topology.nic = Link{50, 2'500'000, 50'000, "infiniband", 0.94};
  topology.host = {55, 1'500'000, 0, "pcie"};
  return topology;
}

Result<Topology> restrict_to(Topology topology, int ranks, int per_node) {
  const auto no = [&](const std::string& reason) {
    return Error{ErrorKind::InvalidInput, fmt::format("topology {} {}", topology.name, reason)};
  };
  if (ranks > topology.gpus()) {
    return no(
        fmt::format("has {} GPUs, too few for the requested ranks: {}", topology.gpus(), ranks));
  }
  if (per_node > topology.gpus_per_node) {
    return no(fmt::format("has {} GPUs per node, fewer than requested: {}", topology.gpus_per_node,
                          per_node));
  }
  if (per_node == 0) per_node = std::min(ranks, topology.gpus_per_node);
  if (ranks % per_node != 0) {
    return no(
        fmt::format("with {} GPUs of each node: all nodes must have the same number of ranks, "
                    "but there are {}",
                    per_node, ranks));
  }
  if (ranks / per_node > topology.nodes) {
    return no(fmt::format("has {} nodes, too few for {} ranks with {} per node", topology.nodes,
                          ranks, per_node));
  }
  topology.nodes = ranks / per_node;
  topology.gpus_per_node = per_node;
  return topology;
}

Topology divided(Topology topology, double by) {
  const auto divide = [by](Link& link) {
    link.gigabytes_per_second /= by;
    link.message_gap = static_cast<Time>(static_cast<double>(link.message_gap) * by);
  };
  divide(topology.load_store);
  divide(topology.host);
  if (topology.nic) divide(*topology.nic);
  return topology;
}

}  // namespace cuco::fabric
