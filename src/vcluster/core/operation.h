// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a stream or a graph node does, as a value.
///
/// A call parses its message into an Operation; then it is handed to a stream, captured, or put in
/// a graph, all the same way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "shims/wire/messages_module.h"
#include "shims/wire/messages_nccl.h"
#include "shims/wire/messages_stream.h"
#include "shims/wire/view.h"
#include "vcluster/core/stream.h"
#include "vcluster/core/work.h"

namespace cuco::vcluster {

class Allocations;
class BlockTrace;
class Devices;
class GraphMemory;
class Ids;
class NcclWorld;
class Processes;
class RunCheck;
class Session;
class Sessions;
struct Function;
struct Graph;

struct KernelOperation {
  std::shared_ptr<Function> function;  // shared with the process: a module may be unloaded early
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_smem = 0;
  bool cooperative = false;
  std::int32_t priority = 0;  ///< Of the stream that it is launched on, also in a graph.
  std::vector<std::byte> arguments;
};

struct CopyOperation {
  wire::CopyEnd to;
  wire::CopyEnd from;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  std::uint32_t session = 0;  ///< Whose bounce buffer is meant.
  std::uint64_t call = 0;     ///< Its place in the order of calls, where copies are logged.
  bool is_input = false;      ///< See varied_inputs.h.
  /// Source bytes taken at the call, when the thread does not wait.
  std::shared_ptr<const std::vector<std::byte>> staged;

  [[nodiscard]] std::uint64_t bytes() const { return width * height * depth; }
};

struct FillOperation {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
  std::uint64_t width = 0;  ///< Elements.
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;

  [[nodiscard]] std::uint64_t bytes() const { return width * element_bytes * height * depth; }
};

struct HostOperation {
  std::uint64_t function = 0;
  std::uint64_t argument = 0;
  std::uint64_t stream = 0;
  bool is_stream_callback = false;
};

struct RecordOperation {
  EventPtr event;
};

struct WaitOperation {
  EventPtr event;
};

/// The memory of an allocation node: see graph_memory.h.
struct AllocateOperation {
  std::shared_ptr<GraphMemory> memory;  // shared by the copies of the node
};

/// Memory that a stream's cudaMallocAsync has given: checked runs have it used only after this
/// piece.
struct ClaimOperation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct FreeOperation {
  std::uint64_t address = 0;
};

/// A graph inside a graph; a copy taken when the node was made.
struct ChildOperation {
  std::shared_ptr<Graph>
      graph;  // shared with the handle that cudaGraphChildGraphNodeGetGraph gives
};

/// NCCL calls of one rank in one group. Each replay of a graph posts them anew, so that ranks match
/// by the order of their graph launches.
struct CollectiveOperation {
  std::vector<wire::NcclOperation> calls;
};

using Operation = std::variant<std::monostate,
                               KernelOperation,
                               CopyOperation,
                               FillOperation,
                               HostOperation,
                               RecordOperation,
                               WaitOperation,
                               ClaimOperation,
                               FreeOperation,
                               ChildOperation,
                               CollectiveOperation,
                               AllocateOperation>;

/// An operation read from a message, or the CUDA error of the call.
struct Parsed {
  std::int32_t status = 0;
  Operation operation;
};

/// "kernel saxpy", "copy of 4096 bytes".
[[nodiscard]] std::string describe(const Operation& operation);

/// The parts of the cluster that operations are carried out with.
struct OperationParts {
  Timeline& timeline;
  WorkGraph& works;
  Devices& devices;
  Allocations& allocations;
  const Sessions& sessions;
  Processes& processes;
  NcclWorld& nccl;
  Ids& ids;
  RunCheck* check = nullptr;    ///< Null: an ordinary run.
  BlockTrace* trace = nullptr;  ///< Null: nobody asks which blocks touch what.
};

/// Reads operations from messages, and hands them to streams.
class Operations {
 public:
  explicit Operations(const OperationParts& parts) : parts_(parts) {}
  // Works in flight refer to the parts.
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  // One per message that can be in a stream or a graph; each validates everything it reads.
  [[nodiscard]] Parsed parse_copy(Session& session, const wire::Copy& request) const;
  [[nodiscard]] Parsed parse_fill(const Process& process, const wire::Fill& request) const;
  [[nodiscard]] Parsed parse_launch(Session& session,
                                    const wire::Launch& request,
                                    wire::Bytes arguments) const;
  /// A message that is a node's content: `type` and payload.
  [[nodiscard]] Parsed parse(Session& session, std::uint32_t type, wire::Bytes payload) const;

  /// Makes the piece of work that does the operation in the context. Not for children: see
  /// cuda_graph.h.
  [[nodiscard]] WorkPtr make_work(Context& context, Operation operation) const;

  /// Hands an operation to a stream, or to the graph the stream is captured into (then work is
  /// null).
  struct Enqueued {
    std::int32_t status = 0;
    WorkPtr work;
  };
  Enqueued enqueue(Stream& stream, Operation operation) const;

 private:
  const OperationParts parts_;
};

}  // namespace cuco::vcluster
