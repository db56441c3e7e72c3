// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which parts of a program with main() go where when it becomes a workload: what is given, what is
/// set up once, what is repeated, what is left out. Made from the syntax tree, so it holds for
/// programs whose main() itself drives one GPU; of others it says what stands in the way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/communication_graph.h"
#include "base/result.h"

namespace cuco::cli {

enum class Role { Input, Output, InputAndOutput, Scratch };

/// What comes from the host is given, what goes there is wanted.
[[nodiscard]] Role role_of(const analysis::CommunicationGraph& graph, int buffer);

/// A buffer of one rank.
struct SplitBuffer {
  std::string name;             ///< The variable of main() that points to it.
  std::string type;             ///< Of the pointer, as written: "float *".
  std::string bytes, elements;  ///< As C++; as a formula of workload.toml.
  Role role = Role::Scratch;
};

[[nodiscard]] inline bool is_input(const SplitBuffer& buffer) {
  return buffer.role == Role::Input || buffer.role == Role::InputAndOutput;
}
[[nodiscard]] inline bool is_output(const SplitBuffer& buffer) {
  return buffer.role == Role::Output || buffer.role == Role::InputAndOutput;
}

/// A size that the program takes from its arguments, so that a shape can set it.
struct SplitParameter {
  std::string name, type;
  long long value = 0;  ///< Without arguments.
};

/// A local variable of main() that is made once: a stream or an event.
struct SplitHandle {
  std::string name, type;
  bool is_stream = false;
};

/// Replaces bytes [begin, end) of the program.
struct SplitEdit {
  std::size_t begin = 0, end = 0;
  std::string text;
};

struct SplitPlan {
  std::vector<analysis::Span> includes;  ///< Lines that name headers; none of MPI's.
  std::vector<analysis::Span> outside;   ///< What stands beside main(), without what only it needs.
  std::string rank, ranks, communicator;  ///< Variables of main() that are given; may be empty.
  std::vector<SplitParameter> parameters;
  std::vector<SplitBuffer> buffers;
  std::vector<SplitHandle> handles;       ///< More than one stream, and events.
  std::string stream;                     ///< The program's only stream; empty: see handles.
  std::vector<std::string> values;        ///< Statements that set-up and run need, in order.
  std::vector<std::string> pointers;      ///< The same, of what leads into buffers.
  std::vector<analysis::Span> made;       ///< Statements of set-up: they make scratch and handles.
  std::vector<analysis::Span> fills;      ///< Statements that run begins with.
  std::vector<analysis::Span> run;        ///< The repeated work.
  std::vector<SplitEdit> left_out;        ///< In `run`: copies to and from the host, waits, clocks.
  std::vector<SplitEdit> default_stream;  ///< Launches and calls that name no stream.
  std::vector<SplitEdit> on_host;         ///< Launches, as calls of the oracle.
};

/// InvalidInput: one sentence that says what stands in the way, with its line.
[[nodiscard]] Result<SplitPlan> plan_split(const analysis::CommunicationGraph& graph,
                                           std::string_view text);

/// The program's bytes [begin, end) with those edits that lie in them.
[[nodiscard]] std::string edited(std::string_view text,
                                 const analysis::Span& span,
                                 const std::vector<SplitEdit>& edits);

}  // namespace cuco::cli
