// SPDX-License-Identifier: Apache-2.0
/// \file
/// What communicates with what: the representation that designs are written against. Operations in
/// the order in which the host issues them; the buffers, streams, events and communicators they
/// use; for each piece of communication who makes what it sends and who needs what it brings; and
/// where set-up, the repeated work and teardown stand in the source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/syntax.h"
#include "analysis/walk/host_walk.h"
#include "base/result.h"
#include "design/rules.h"

namespace cuco::analysis {

enum class BufferRole {
  Input,    ///< Of the workload.
  Output,   ///< Of the workload.
  Scratch,  ///< Allocated by the program.
  Unknown,
};

struct Buffer {
  std::string name;  ///< "outputs[0]", "d_send", …
  BufferRole role = BufferRole::Unknown;
  std::string allocator;              ///< "cudaMalloc"; empty for what is given.
  std::string bytes;                  ///< As the allocation says it.
  bool symmetric = false;             ///< Can be registered as a window as it is.
  bool communicated = false;          ///< Must become symmetric for the device to communicate.
  std::vector<std::string> aliases;   ///< Variables and members that lead to it.
  Span allocated, released;           ///< The calls.
  int first_use = -1, last_use = -1;  ///< Operations.
};

/// A stream, an event or a communicator.
struct Handle {
  std::string name;
  std::string maker;  ///< The call that made it; empty for what is given.
  int parent = -1;    ///< The communicator that it was split from.
  Span created;
};

struct KernelParameter {
  std::string name;
  std::string type;
  bool is_pointer = false;
  bool read = false;
  bool written = false;
  int buffer = -1;  ///< In the first launch; -1 when it could not be followed.
  Span span;
};

struct Store {
  int parameter = -1;
  bool direct = false;  ///< The statement names the parameter itself, not an alias.
  Span statement;
};

struct Kernel {
  std::string name;
  std::string arguments;  ///< Of its template: "<float>".
  std::vector<KernelParameter> parameters;
  std::vector<Store> stores;
  std::vector<Span> returns;
  Span span;
  Span body;
};

/// Where in a program's life an operation stands.
enum class Phase { SetUp, Run, TearDown };

/// One thing the host does, with all that holds it.
struct Operation {
  OperationKind kind = OperationKind::Mpi;
  Phase phase = Phase::Run;
  std::string name;
  std::string function;  ///< That holds the call.
  Span span;
  Span statement;
  Span outermost;          ///< The statement of the function's own block around it.
  std::vector<Nest> nest;  ///< Loops, conditions, calls and threads around it, outermost first.
  std::vector<std::string> arguments;
  int stream = -1;  ///< -1 is the default stream.
  std::vector<int> events, communicators;
  std::vector<int> reads, writes;  ///< Buffers.
  int group = -1;                  ///< Number of the ncclGroup around it.
  int kernel = -1;
  LaunchConfiguration configuration;
};

struct Launch {
  int operation = -1;
  int kernel = 0;
  std::string function;
  LaunchConfiguration configuration;
  std::vector<std::string> arguments;
  /// Per argument, all buffers that it may lead to; none: not known, or no pointer.
  std::vector<std::vector<int>> buffers;
  Span span;
  Span outermost;
};

/// A call that communicates. Texts are as written; empty where it has no such part.
struct Collective {
  int operation = -1;
  std::string name;  ///< "ncclAllGather".
  std::string function;
  std::string send, receive, count, type, reduction, peer, communicator, stream;
  std::vector<int> send_buffers, receive_buffers;  ///< All that they may be.
  bool in_place = false;
  bool reduces = false;
  bool peer_varies = false;  ///< Another peer in each round of a loop.
  Span span;
  Span statement;
  std::vector<int> producers;  ///< Kernels that write what is sent.
  std::vector<int> consumers;  ///< Kernels that read what is received.
};

/// How the ranks of one site talk to each other.
enum class Pattern {
  AllGather,
  AllReduce,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  Gather,
  Scatter,
  Shift,     ///< To and from neighbours.
  Transfer,  ///< From some ranks to others.
};

/// An operation that makes or needs what a site moves.
struct Flow {
  int operation = -1;
  bool next_round = false;  ///< Through the loop around both, not in the same round.
  auto operator<=>(const Flow&) const = default;
};

/// One piece of communication: a collective, or a group of sends and receives.
struct Site {
  Pattern pattern = Pattern::AllGather;
  std::vector<int> collectives;
  Span span;  ///< Of the statements from the first to the last; empty if they have no common block.
  std::string function;
  std::vector<int> send_buffers, receive_buffers;
  std::vector<Flow> producers, consumers;
  std::vector<int> independent;  ///< Other work of a round that neither needs nor makes anything.
};

/// Where code can be put, as offsets into the file.
struct Anchor {
  std::string function;
  std::size_t at = 0;
  int line = 0;
};

struct TimedRegion {
  std::string clock;          ///< "cudaEventRecord", "MPI_Wtime", "cuco_run", …
  int first = -1, last = -1;  ///< Operations inside, both included.
};

struct CommunicationGraph {
  std::vector<Buffer> buffers;
  std::vector<Handle> streams, events, communicators;
  std::vector<Kernel> kernels;
  std::vector<Operation> operations;
  std::vector<Launch> launches;
  std::vector<Collective> collectives;
  std::vector<Site> sites;
  std::optional<TimedRegion> timed;
  std::optional<Anchor> set_up;     ///< Communicator and buffers exist here, nothing has run yet.
  std::optional<Anchor> tear_down;  ///< Everything has run, nothing is released yet.
  int state_record = -1;  ///< Of a workload: the record that lives from set-up to teardown.
  bool threads = false;   ///< Ranks are threads of one process.
  bool mpi = false;
  Syntax syntax;
  std::vector<std::string> problems;
};

[[nodiscard]] CommunicationGraph build_graph(Syntax syntax);

[[nodiscard]] std::string_view name(Pattern pattern);
[[nodiscard]] std::string_view name(OperationKind kind);

/// For people, prompts and golden tests; no byte offsets in it.
[[nodiscard]] std::string to_text(const CommunicationGraph& graph);

/// The same without names, lines and layout: equal for programs that do the same.
[[nodiscard]] std::string skeleton(const CommunicationGraph& graph);

[[nodiscard]] std::string to_json(const CommunicationGraph& graph);
[[nodiscard]] std::string to_dot(const CommunicationGraph& graph);

/// What the design rules need to know.
[[nodiscard]] design::ProgramFacts program_facts(const CommunicationGraph& graph);

}  // namespace cuco::analysis
