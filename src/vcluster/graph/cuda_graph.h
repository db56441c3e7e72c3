// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA graphs: operations with explicit order, made by hand or captured from streams.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "vcluster/core/operation.h"

namespace cuco::vcluster {

/// The parts of the cluster that graphs and their memory are made with.
struct GraphParts {
  const Operations& operations;
  Processes& processes;
  Allocations& allocations;
  WorkGraph& works;
  Ids& ids;
  RunCheck* check = nullptr;  ///< Null: an ordinary run.
};

struct GraphNode {
  Operation operation;
  std::int32_t device = 0;
  bool enabled = true;
  std::vector<std::uint64_t> after;
  std::uint64_t cloned_from = 0;
};

/// Nodes by number; a number is never used twice in the cluster.
struct Graph {
  std::uint64_t id = 0;
  std::map<std::uint64_t, GraphNode> nodes;

  /// Nodes with every node after those it depends on, lowest number first; nullopt: a cycle.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> order() const;
};

/// What cudaGraphInstantiate makes: a copy that keeps the node numbers, so that it can be updated.
struct GraphExec {
  std::uint64_t id = 0;
  std::uint64_t flags = 0;
  Graph graph;
  WorkPtr last;  ///< End of the last launch: launches of one executable graph do not overlap.
};

/// Streams being recorded together.
struct Capture {
  enum class Mode : std::uint8_t { Global, ThreadLocal, Relaxed };
  std::uint64_t id = 0;
  std::shared_ptr<Graph> graph;  // the process's, once the capture ends
  Stream* origin = nullptr;
  Mode mode = Mode::Global;
  std::uint32_t thread = 0;
  bool invalid = false;
  std::vector<Stream*> streams;            ///< All that joined, the origin first.
  std::vector<std::uint64_t> left_behind;  ///< Last nodes of streams that were destroyed since.
  Ids* ids = nullptr;                      ///< For its nodes.
};

/// Records an operation of a capturing stream as a node; waits and records only move edges.
[[nodiscard]] std::int32_t capture_operation(Stream& stream, Operation operation);
/// A stream that waits for an event of a capture joins it; false: the event is of none.
bool join_capture(Stream& stream, const Event& event);
/// Calls that a capture forbids break it.
void invalidate(Capture& capture);
/// The stream is about to be destroyed. What it has captured must still be joined; without its
/// origin a capture ends.
void leave_capture(Stream& stream);
/// Ends the capture for all its streams.
void release(Capture& capture);
/// A global capture of the process, which forbids waiting calls in any of its threads.
[[nodiscard]] Capture* forbidding_capture(Process& process, std::uint32_t thread);

/// All nodes that `ends` come after, themselves included.
[[nodiscard]] std::set<std::uint64_t> ancestors(const Graph& graph,
                                                std::vector<std::uint64_t> ends);

/// Hands all nodes to the stream as one piece and returns it.
WorkPtr launch_graph(const GraphParts& parts, Stream& stream, GraphExec& exec);

[[nodiscard]] Parsed parse_child(Ids& ids, const Process& process, std::uint64_t graph);
/// The message an operation would be, for reading a node back: type and payload.
[[nodiscard]] std::pair<std::uint32_t, std::vector<std::byte>> serialise(const Operation& operation,
                                                                         std::int32_t device);
/// A copy with new node numbers.
[[nodiscard]] std::shared_ptr<Graph> clone(Ids& ids, const Graph& graph);

}  // namespace cuco::vcluster
