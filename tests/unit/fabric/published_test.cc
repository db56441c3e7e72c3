// SPDX-License-Identifier: Apache-2.0
// The model of collectives against times that others have published: tests/data/collectives.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "fabric/collective_cost.h"
#include "fabric/fabric.h"
#include "hardware/accuracy.h"
#include "hardware/gpu_description.h"

namespace cuco::fabric {
namespace {

struct Row {
  std::string table, operation, gpu, driver, forced;
  int nodes = 0;
  int gpus_per_node = 0;
  std::uint64_t bytes = 0;
  double microseconds = 0;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<Row> read_rows() {
  std::ifstream file(std::string(CUCO_SOURCE_DIR) + "/tests/data/collectives/published.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    EXPECT_EQ(cells.size(), 10U) << line;
    if (cells.size() != 10) continue;
    rows.push_back({cells[0], cells[1], cells[2], cells[5], cells[6], std::stoi(cells[3]),
                    std::stoi(cells[4]), std::stoull(cells[7]), std::stod(cells[8])});
  }
  return rows;
}

hardware::NcclCosts costs_of(const std::string& gpu) {
  static std::map<std::string, hardware::NcclCosts> known;
  if (!known.contains(gpu)) {
    const auto description = hardware::load_gpu_description(gpu, CUCO_SOURCE_DIR);
    EXPECT_TRUE(description) << gpu;
    if (description) known[gpu] = description->nccl;
  }
  return known[gpu];
}

Topology topology_of(const Row& row) {
  const std::string name = row.gpu == "a100" ? "roce2x4" : "ib2x8";
  std::ifstream file(std::string(CUCO_SOURCE_DIR) + "/topology/" + name + ".toml");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Topology topology = *parse_topology(text, name);
  topology.nodes = row.nodes;
  topology.gpus_per_node = row.gpus_per_node;
  return topology;
}

/// From nccl-tests' bytes to those of one rank's part.
struct Operation {
  Pattern pattern;
  bool divided;
};
const std::map<std::string, Operation> kOperations = {
    {"all_reduce", {Pattern::AllReduce, false}},
    {"all_gather", {Pattern::AllGather, true}},
    {"reduce_scatter", {Pattern::ReduceScatter, true}},
    {"all_to_all", {Pattern::AllToAll, true}}};

Time device_time(const Row& row, const CollectiveMachine& machine) {
  const int ranks = row.nodes * row.gpus_per_node;
  if (row.operation == "send_receive") {
    const SendCost cost = send_cost(machine, ranks, true, row.bytes);
    return cost.setup + machine.topology.load_store.latency +
           serialisation_time(static_cast<double>(row.bytes), cost.gigabytes_per_second);
  }
  std::vector<int> gpus(static_cast<std::size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  const Operation& operation = kOperations.at(row.operation);
  const std::uint64_t bytes =
      operation.divided ? row.bytes / static_cast<std::uint64_t>(ranks) : row.bytes;
  if (row.forced.empty() || row.forced == "symmetric") {
    return collective_cost(machine, operation.pattern, gpus, bytes, !row.forced.empty()).duration;
  }
  for (const CollectiveCost& way : collective_options(machine, operation.pattern, gpus, bytes)) {
    if (fmt::format("{} {}", way.algorithm, way.protocol) == row.forced) return way.duration;
  }
  ADD_FAILURE() << "no such way: " << row.forced;
  return 0;
}

/// One of many in a row: the host and the device work side by side.
double predict(const Row& row) {
  const hardware::NcclCosts costs = costs_of(row.gpu);
  const Topology topology = topology_of(row);
  const bool in_graph = row.driver == "graph";
  const Time device = device_time(row, {topology, costs}) + queue_gap(costs, in_graph);
  const std::size_t driven =
      row.driver == "thread" ? static_cast<std::size_t>(row.gpus_per_node) : 1;
  const Time host = in_graph ? 0 : host_time(costs, driven);
  return static_cast<double>(std::max(host, device)) * 1e-6;
}

TEST(Published, CollectivesAreAsMeasured) {
  std::map<std::string, std::vector<double>> squares;
  for (const Row& row : read_rows()) {
    const double ratio = predict(row) / row.microseconds;
    EXPECT_TRUE(ratio >= 0.6 && ratio <= 1.6) << fmt::format(
        "{}: {} of {} bytes, {} x {}, {}: predicted {:.1f}, published {}", row.table, row.operation,
        row.bytes, row.nodes, row.gpus_per_node, row.driver, predict(row), row.microseconds);
    squares[row.table].push_back((ratio - 1) * (ratio - 1));
  }
  EXPECT_GE(squares.size(), 30U);
  // What is said beside predicted times is what is tested here.
  std::ifstream file(std::string(CUCO_SOURCE_DIR) + "/hardware/h200.toml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto said = hardware::parse_accuracy(text, "h200.toml");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->collectives, read_rows().size());
  for (const auto& [table, of_rows] : squares) {
    const double sum = std::accumulate(of_rows.begin(), of_rows.end(), 0.0);
    const double rms = std::sqrt(sum / static_cast<double>(of_rows.size()));
    EXPECT_LE(rms, said->collectives_within) << table;
    RecordProperty("rms_" + table, fmt::format("{:.3f}", rms));
  }
}

TEST(Published, MoreBytesAreNeverFaster) {
  const hardware::NcclCosts costs = costs_of("h200");
  for (const int nodes : {1, 2, 4}) {
    Topology topology = single_node(8);
    topology.nodes = nodes;
    std::vector<int> gpus(static_cast<std::size_t>(8 * nodes));
    std::iota(gpus.begin(), gpus.end(), 0);
    for (int pattern = 0; pattern <= static_cast<int>(Pattern::Scatter); ++pattern) {
      Time last = 0;
      for (double bytes = 1; bytes < 4e9; bytes *= 1.3) {
        const auto size = static_cast<std::uint64_t>(bytes);
        const Time now =
            collective_cost({topology, costs}, static_cast<Pattern>(pattern), gpus, size).duration;
        EXPECT_GE(now, last) << pattern << " of " << size;
        last = now;
      }
    }
    Time last = 0;
    for (double bytes = 1; bytes < 4e9; bytes *= 1.3) {
      const SendCost cost =
          send_cost({topology, costs}, 8 * nodes, nodes == 1, static_cast<std::uint64_t>(bytes));
      const Time now = cost.setup + serialisation_time(bytes, cost.gigabytes_per_second);
      EXPECT_GE(now, last) << "send of " << bytes;
      last = now;
    }
  }
}

// A machine that is k times narrower takes as long for a k-th of the bytes.
TEST(Published, ScalesWithTheLinks) {
  const hardware::NcclCosts costs = costs_of("h200");
  Topology topology = single_node(8);
  topology.nodes = 2;
  Topology narrow = topology;
  narrow.load_store.gigabytes_per_second /= 4;
  narrow.nic->gigabytes_per_second /= 4;
  std::vector<int> gpus(16);
  std::iota(gpus.begin(), gpus.end(), 0);
  for (const Pattern pattern : {Pattern::AllReduce, Pattern::AllGather, Pattern::Broadcast}) {
    const Time whole = collective_cost({topology, costs}, pattern, gpus, 64U << 20U).duration;
    const Time part = collective_cost({narrow, costs}, pattern, gpus, 16U << 20U).duration;
    EXPECT_NEAR(static_cast<double>(part), static_cast<double>(whole), 10);
  }
}

}  // namespace
}  // namespace cuco::fabric
