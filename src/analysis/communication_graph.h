// SPDX-License-Identifier: Apache-2.0
/// \file
/// The communication graph of a program: kernels, collectives, buffers, and who writes what before
/// whom.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts.h"
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
  std::string name;  ///< "outputs", "d_send", …
  BufferRole role = BufferRole::Unknown;
  bool symmetric = false;  ///< Can be registered as a window.
};

struct KernelParameter {
  std::string name;
  std::string type;
  bool is_pointer = false;
  bool read = false;
  bool written = false;
  int buffer = -1;  ///< Index into buffers; -1 when it could not be followed.
  Span span;
};

struct Kernel {
  std::string name;
  std::vector<KernelParameter> parameters;
  std::vector<Store> stores;  ///< Roots are parameter names here.
  bool returns_early = false;
  Span span;
  Span body;
};

struct Launch {
  int kernel = 0;  ///< Index into kernels.
  std::string function;
  LaunchConfiguration configuration;
  std::vector<std::string> arguments;
  Span span;
  Span outermost;  ///< The statement of the function's own block around it.
};

/// A call of an NCCL collective. Texts are as written; empty where the collective has no such part.
struct Collective {
  std::string name;  ///< "ncclAllGather".
  std::string function;
  std::string send, receive, count, type, operation, root, communicator, stream;
  int send_buffer = -1;
  int receive_buffer = -1;
  bool in_place = false;
  bool reduces = false;
  Span span;
  Span statement;
  std::vector<int> producers;  ///< Kernels that write the send buffer.
  std::vector<int> consumers;  ///< Kernels that read the receive buffer.
};

struct CommunicationGraph {
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  std::vector<Collective> collectives;
  std::vector<Function> functions;  ///< Host functions.
  std::vector<Record> records;
  std::vector<std::string> problems;
};

/// Follows buffers through variables, parameters and calls.
[[nodiscard]] CommunicationGraph build_graph(const Facts& facts);

/// For people, prompts and golden tests; no byte offsets in it.
[[nodiscard]] std::string to_text(const CommunicationGraph& graph);

/// What the design rules need to know.
[[nodiscard]] design::ProgramFacts program_facts(const CommunicationGraph& graph);

}  // namespace cuco::analysis
