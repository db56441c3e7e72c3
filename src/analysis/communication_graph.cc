// SPDX-License-Identifier: Apache-2.0
// Buffers are followed by name: every variable points into whatever it was initialised with or
// assigned, every parameter into whatever it was passed. The end of such a chain (a workload
// buffer, an allocated pointer) is a buffer. Flow-insensitive: a variable that is reused for two
// buffers stands for both, so a kernel may wrongly count as a producer or consumer.
#include "analysis/communication_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::analysis {
namespace {

/// Argument positions of a collective; -1 where it has no such argument.
struct Signature {
  std::string_view name;
  int send, receive, count, type, operation, root, communicator, stream;
};

constexpr std::array kSignatures{
    Signature{"ncclAllGather", 0, 1, 2, 3, -1, -1, 4, 5},
    Signature{"ncclAllReduce", 0, 1, 2, 3, 4, -1, 5, 6},
    Signature{"ncclReduceScatter", 0, 1, 2, 3, 4, -1, 5, 6},
    Signature{"ncclBroadcast", 0, 1, 2, 3, -1, 4, 5, 6},
    Signature{"ncclReduce", 0, 1, 2, 3, 4, 5, 6, 7},
    Signature{"ncclAlltoAll", 0, 1, 2, 3, -1, -1, 4, 5},
    Signature{"ncclGather", 0, 1, 2, 3, -1, 4, 5, 6},
    Signature{"ncclScatter", 0, 1, 2, 3, -1, 4, 5, 6},
    Signature{"ncclSend", 0, -1, 1, 2, -1, 3, 4, 5},
    Signature{"ncclRecv", -1, 0, 1, 2, -1, 3, 4, 5},
};

const Signature* signature_of(const std::string& callee) {
  const auto* found = std::find_if(kSignatures.begin(), kSignatures.end(),
                                   [&](const Signature& known) { return known.name == callee; });
  return found == kSignatures.end() ? nullptr : found;
}

/// "T *__restrict" and "T *" are pointers. "T **" is no device buffer, but counting it is harmless.
bool is_pointer(const std::string& type) {
  return type.find('*') != std::string::npos;
}

class Builder {
 public:
  explicit Builder(const Facts& facts) : facts_(facts) {}

  CommunicationGraph build() {
    collect_aliases();
    add_kernels();
    add_launches();
    add_collectives();
    link_flow();
    for (const auto& function : facts_.functions) {
      if (function.kind == FunctionKind::Host) graph_.functions.push_back(function);
    }
    graph_.records = facts_.records;
    graph_.problems = facts_.problems;
    return std::move(graph_);
  }

 private:
  /// "a may point into b": assignments, and arguments that are passed to functions of the program.
  void collect_aliases() {
    for (const auto& function : facts_.functions) {
      for (const auto& variable : function.variables) {
        if (!variable.root.empty()) aliases_["var:" + variable.id].insert(variable.root);
      }
      for (const auto& call : function.calls)
        collect_call(call);
    }
  }

  void collect_call(const Call& call) {
    const bool allocates = call.callee == "cudaMalloc" || call.callee == "ncclMemAlloc" ||
                           call.callee == "cudaMallocAsync";
    if (allocates && !call.arguments.empty()) {
      allocations_[call.arguments.front().root] = call.callee;
    }
    const auto* callee = find_function(call.callee);
    if (callee == nullptr) return;
    const auto count = std::min(call.arguments.size(), callee->parameters.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto& root = call.arguments[i].root;
      if (!root.empty()) aliases_["var:" + callee->parameters[i].id].insert(root);
    }
  }

  const Function* find_function(const std::string& name) const {
    for (const auto& function : facts_.functions) {
      if (function.name == name) return &function;
    }
    return nullptr;
  }

  /// The ends of all alias chains from `root`.
  std::set<Root> ends(const Root& root) const {
    std::set<Root> found;
    std::set<Root> seen;
    std::vector<Root> open{root};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      if (at.empty() || !seen.insert(at).second) continue;
      const auto next = aliases_.find(at);
      if (next == aliases_.end()) {
        found.insert(at);
      } else {
        open.insert(open.end(), next->second.begin(), next->second.end());
      }
    }
    return found;
  }

  /// The buffer a pointer leads to, made when first met; -1 if it leads nowhere.
  int buffer_of(const Root& root) {
    const auto all = ends(root);
    if (all.empty()) return -1;
    const auto& end = *all.begin();
    const auto [known, added] = buffer_index_.try_emplace(end, graph_.buffers.size());
    if (added) graph_.buffers.push_back(make_buffer(end));
    return static_cast<int>(known->second);
  }

  /// Names of variables carry "@" and their position, those of fields their struct.
  Buffer make_buffer(const Root& end) const {
    if (end == "field:cuco_context::inputs") return {"inputs", BufferRole::Input, true};
    if (end == "field:cuco_context::outputs") return {"outputs", BufferRole::Output, true};
    auto name = end.substr(end.find(':') + 1);
    name = name.substr(0, name.find('@'));
    if (const auto colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
    const auto allocated = allocations_.find(end);
    if (allocated == allocations_.end()) return {name, BufferRole::Unknown, false};
    return {name, BufferRole::Scratch, allocated->second == "ncclMemAlloc"};
  }

  void add_kernels() {
    for (const auto& function : facts_.functions) {
      if (function.kind != FunctionKind::Kernel) continue;
      Kernel kernel{.name = function.name,
                    .returns_early = !function.returns.empty(),
                    .span = function.span,
                    .body = function.body};
      for (const auto& parameter : function.parameters) {
        kernel.parameters.push_back({.name = parameter.name,
                                     .type = parameter.type,
                                     .is_pointer = is_pointer(parameter.type),
                                     .read = touches(function.reads, parameter.id),
                                     .span = parameter.span});
      }
      for (const auto& store : function.stores)
        add_store(function, store, kernel);
      graph_.kernels.push_back(std::move(kernel));
    }
  }

  /// Inside the kernel: does any of the roots lead to the parameter?
  bool touches(const std::vector<Root>& roots, const std::string& id) const {
    return std::any_of(roots.begin(), roots.end(),
                       [&](const Root& root) { return leads_to(root, "var:" + id); });
  }

  bool leads_to(const Root& from, const Root& to) const {
    std::set<Root> seen;
    std::vector<Root> open{from};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      if (at == to) return true;
      if (!seen.insert(at).second) continue;
      if (const auto next = aliases_.find(at); next != aliases_.end()) {
        open.insert(open.end(), next->second.begin(), next->second.end());
      }
    }
    return false;
  }

  void add_store(const Function& function, const Store& store, Kernel& kernel) const {
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const auto& parameter = function.parameters[i];
      if (!kernel.parameters[i].is_pointer || !leads_to(store.root, "var:" + parameter.id))
        continue;
      kernel.parameters[i].written = true;
      const bool direct = store.direct && store.root == "var:" + parameter.id;
      kernel.stores.push_back({parameter.name, direct, store.statement});
    }
  }

  int kernel_index(const std::string& name) const {
    for (std::size_t i = 0; i < graph_.kernels.size(); ++i) {
      if (graph_.kernels[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  void add_launches() {
    for (const auto& function : facts_.functions) {
      for (const auto& call : function.calls) {
        const int kernel = call.launch ? kernel_index(call.callee) : -1;
        if (kernel < 0) continue;
        Launch launch{.kernel = kernel,
                      .function = function.name,
                      .configuration = *call.launch,
                      .span = call.span,
                      .outermost = call.outermost};
        auto& parameters = graph_.kernels[static_cast<std::size_t>(kernel)].parameters;
        for (std::size_t i = 0; i < call.arguments.size(); ++i) {
          launch.arguments.push_back(call.arguments[i].text);
          // The first launch names the buffer; others of the same kernel are not told apart.
          if (i < parameters.size() && parameters[i].is_pointer && parameters[i].buffer < 0) {
            parameters[i].buffer = buffer_of(call.arguments[i].root);
          }
        }
        graph_.launches.push_back(std::move(launch));
      }
    }
  }

  void add_collectives() {
    for (const auto& function : facts_.functions) {
      for (const auto& call : function.calls) {
        const auto* known = signature_of(call.callee);
        if (known == nullptr) continue;
        const auto text = [&](int index) {
          const auto at = static_cast<std::size_t>(index);
          return index >= 0 && at < call.arguments.size() ? call.arguments[at].text : std::string();
        };
        const auto buffer = [&](int index) {
          const auto at = static_cast<std::size_t>(index);
          return index >= 0 && at < call.arguments.size() ? buffer_of(call.arguments[at].root) : -1;
        };
        Collective collective{.name = call.callee,
                              .function = function.name,
                              .send = text(known->send),
                              .receive = text(known->receive),
                              .count = text(known->count),
                              .type = text(known->type),
                              .operation = text(known->operation),
                              .root = text(known->root),
                              .communicator = text(known->communicator),
                              .stream = text(known->stream),
                              .send_buffer = buffer(known->send),
                              .receive_buffer = buffer(known->receive),
                              .reduces = known->operation >= 0,
                              .span = call.span,
                              .statement = call.statement};
        collective.in_place =
            collective.send_buffer >= 0 && collective.send_buffer == collective.receive_buffer;
        graph_.collectives.push_back(std::move(collective));
      }
    }
  }

  /// Where in `function` the launch happens, directly or through a call; nothing when not there.
  std::optional<std::size_t> position_in(const std::string& function, const Launch& launch) const {
    if (launch.function == function) return launch.span.begin;
    const auto* host = find_function(function);
    if (host == nullptr) return std::nullopt;
    for (const auto& call : host->calls) {
      if (call.callee == launch.function) return call.span.begin;
    }
    return std::nullopt;
  }

  /// A kernel produces what a collective sends if it writes the buffer in a launch before it, and
  /// consumes likewise after it. A launch whose place is unknown may be either.
  void link_flow() {
    for (auto& collective : graph_.collectives) {
      std::set<int> producers;
      std::set<int> consumers;
      for (const auto& launch : graph_.launches) {
        const auto position = position_in(collective.function, launch);
        const bool before = !position || *position < collective.span.begin;
        const bool after = !position || *position > collective.span.begin;
        for (const auto& parameter :
             graph_.kernels[static_cast<std::size_t>(launch.kernel)].parameters) {
          if (parameter.buffer < 0) continue;
          if (before && parameter.written && parameter.buffer == collective.send_buffer) {
            producers.insert(launch.kernel);
          }
          if (after && parameter.read && parameter.buffer == collective.receive_buffer) {
            consumers.insert(launch.kernel);
          }
        }
      }
      collective.producers.assign(producers.begin(), producers.end());
      collective.consumers.assign(consumers.begin(), consumers.end());
    }
  }

  const Facts& facts_;
  CommunicationGraph graph_;
  std::map<Root, std::set<Root>> aliases_;
  std::map<Root, std::string> allocations_;
  std::map<Root, std::size_t> buffer_index_;
};

std::string_view role_name(BufferRole role) {
  switch (role) {
    case BufferRole::Input:
      return "workload input";
    case BufferRole::Output:
      return "workload output";
    case BufferRole::Scratch:
      return "scratch";
    case BufferRole::Unknown:
      return "unknown origin";
  }
  return "?";
}

std::string names(const std::vector<int>& indices, const std::vector<Kernel>& kernels) {
  std::vector<std::string> list;
  for (const int index : indices)
    list.push_back(kernels[static_cast<std::size_t>(index)].name);
  return list.empty() ? "none" : join(list, ", ");
}

std::string parameter_text(const KernelParameter& parameter, const std::vector<Buffer>& buffers) {
  auto text = fmt::format("    {} {}", parameter.type, parameter.name);
  if (!parameter.is_pointer) return text + "\n";
  const auto* access = parameter.written ? (parameter.read ? "reads and writes" : "writes")
                       : parameter.read  ? "reads"
                                         : "unused";
  const auto buffer =
      parameter.buffer < 0 ? "?" : buffers[static_cast<std::size_t>(parameter.buffer)].name;
  return text + fmt::format(": {} {}\n", access, buffer);
}

}  // namespace

CommunicationGraph build_graph(const Facts& facts) {
  return Builder(facts).build();
}

std::string to_text(const CommunicationGraph& graph) {
  std::string text;
  for (const auto& buffer : graph.buffers) {
    text += fmt::format("buffer {}: {}{}\n", buffer.name, role_name(buffer.role),
                        buffer.symmetric ? ", symmetric" : "");
  }
  for (const auto& kernel : graph.kernels) {
    text += fmt::format("kernel {}, lines {}-{}\n", kernel.name, kernel.span.line,
                        kernel.span.end_line);
    for (const auto& parameter : kernel.parameters) {
      text += parameter_text(parameter, graph.buffers);
    }
    for (const auto& store : kernel.stores) {
      text += fmt::format("    line {}: stores to {}{}\n", store.statement.line, store.root,
                          store.direct ? "" : " through an alias");
    }
  }
  for (const auto& launch : graph.launches) {
    const auto& configuration = launch.configuration;
    text += fmt::format("launch {}<<<{}, {}, {}, {}>>> in {}, line {}\n",
                        graph.kernels[static_cast<std::size_t>(launch.kernel)].name,
                        configuration.grid, configuration.block, configuration.shared,
                        configuration.stream, launch.function, launch.span.line);
  }
  for (const auto& collective : graph.collectives) {
    text += fmt::format("collective {} in {}, line {}{}\n", collective.name, collective.function,
                        collective.span.line, collective.in_place ? ", in place" : "");
    text += fmt::format("    send {}, receive {}, count {}, type {}, stream {}\n", collective.send,
                        collective.receive, collective.count, collective.type, collective.stream);
    text += fmt::format("    producers: {}; consumers: {}\n",
                        names(collective.producers, graph.kernels),
                        names(collective.consumers, graph.kernels));
  }
  for (const auto& problem : graph.problems)
    text += fmt::format("problem {}\n", problem);
  return text;
}

design::ProgramFacts program_facts(const CommunicationGraph& graph) {
  design::ProgramFacts facts;
  facts.has_collective = !graph.collectives.empty();
  for (const auto& collective : graph.collectives) {
    facts.reduces = facts.reduces || collective.reduces;
    facts.has_producer = facts.has_producer || !collective.producers.empty();
    facts.has_consumer = facts.has_consumer || !collective.consumers.empty();
    for (const int index : {collective.send_buffer, collective.receive_buffer}) {
      if (index < 0) continue;
      facts.symmetric_buffers =
          facts.symmetric_buffers && graph.buffers[static_cast<std::size_t>(index)].symmetric;
    }
  }
  return facts;
}

}  // namespace cuco::analysis
