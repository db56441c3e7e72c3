// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/graph_flow.h"

namespace cuco::analysis {
namespace {

bool has_star(std::string_view type) {
  return type.find('*') != std::string_view::npos;
}

/// Turns what the walk saw into the graph's own lists.
class Builder {
 public:
  explicit Builder(Syntax syntax) {
    graph_.syntax = std::move(syntax);
    walk_ = walk_host(graph_.syntax);
  }

  CommunicationGraph build() {
    add_kernels();
    for (const auto& operation : walk_.operations)
      add_operation(operation);
    find_phases(graph_);
    for (std::size_t i = 0; i < walk_.operations.size(); ++i)
      add_details(static_cast<int>(i));
    find_sites(graph_);
    find_anchors(graph_);
    graph_.state_record = walk_.state_record;
    graph_.problems = graph_.syntax.problems;
    if (!walk_.complete) {
      graph_.problems.emplace_back("0: the program is too large to be followed to its end");
    }
    return std::move(graph_);
  }

 private:
  const Object& object(int id) const { return walk_.memory.at(id); }

  void add_kernels() {
    for (const auto& [id, use] : walk_.kernels) {
      const auto& function = graph_.syntax.functions[static_cast<std::size_t>(id)];
      Kernel kernel{.name = function.name,
                    .arguments = function.arguments,
                    .returns = use.returns,
                    .span = function.span,
                    .body = function.body ? function.body->span : function.span};
      for (const int parameter : function.parameters) {
        const auto& variable = graph_.syntax.variables[static_cast<std::size_t>(parameter)];
        kernel.parameters.push_back({.name = variable.name,
                                     .type = variable.type,
                                     .is_pointer = has_star(variable.canonical),
                                     .span = variable.span});
      }
      for (const auto& access : use.accesses) {
        const int parameter = parameter_behind(use, access.object);
        if (parameter < 0) continue;
        auto& known = kernel.parameters[static_cast<std::size_t>(parameter)];
        known.read |= access.read;
        known.written |= access.written;
      }
      for (const auto& store : use.stores)
        kernel.stores.push_back({store.parameter, store.direct, store.statement});
      kernel_index_[id] = static_cast<int>(graph_.kernels.size());
      graph_.kernels.push_back(std::move(kernel));
    }
  }

  /// Through which parameter the kernel came to an object.
  int parameter_behind(const KernelUse& use, int id) const {
    for (int depth = 0; depth < 4; ++depth) {
      const auto& origin = object(id).origin;
      if (origin.empty()) return -1;
      id = origin.begin()->object;
      const auto found = std::ranges::find(use.parameters, id);
      if (found != use.parameters.end()) return static_cast<int>(found - use.parameters.begin());
    }
    return -1;
  }

  /// Device memory, and what may be: not variables of the host.
  std::optional<int> buffer_of(int id) {
    const auto& known = object(id);
    if (known.kind == ObjectKind::Window) {
      if (known.origin.empty()) return std::nullopt;
      return buffer_of(known.origin.begin()->object);
    }
    const bool device_variable =
        known.kind == ObjectKind::Variable && known.global &&
        graph_.syntax.variables[static_cast<std::size_t>(known.variable)].device;
    if (known.kind != ObjectKind::DeviceMemory && known.kind != ObjectKind::Unknown &&
        !device_variable) {
      return std::nullopt;
    }
    const auto [found, added] = buffers_.try_emplace(id, static_cast<int>(graph_.buffers.size()));
    if (added) graph_.buffers.push_back(make_buffer(known));
    return found->second;
  }

  static Buffer make_buffer(const Object& known) {
    Buffer buffer{.name = known.name,
                  .allocator = known.allocator,
                  .bytes = known.bytes,
                  .symmetric = known.allocator == "ncclMemAlloc" || !known.role.empty(),
                  .aliases = known.names,
                  .allocated = known.allocator.empty() ? Span{} : known.span};
    buffer.role = known.role == "input"                ? BufferRole::Input
                  : known.role == "output"             ? BufferRole::Output
                  : !known.allocator.empty()           ? BufferRole::Scratch
                  : known.kind == ObjectKind::Variable ? BufferRole::Scratch
                                                       : BufferRole::Unknown;
    return buffer;
  }

  int handle_of(const Place& place, std::vector<Handle>& list, std::map<Place, int>& index) {
    const auto [found, added] = index.try_emplace(place, static_cast<int>(list.size()));
    if (!added) return found->second;
    const auto& known = object(place.object);
    auto name = known.name;
    // "streams[]" and "[1]": one of many.
    if (!place.path.empty()) name.replace(name.size() - 2, 2, place.path);
    list.push_back({.name = name,
                    .maker = known.allocator,
                    .created = known.allocator.empty() ? Span{} : known.span});
    if (known.kind == ObjectKind::Communicator && !known.origin.empty()) {
      const int parent = handle_of(*known.origin.begin(), list, index);
      list[static_cast<std::size_t>(found->second)].parent = parent;
    }
    return found->second;
  }

  void add_operation(const HostOperation& seen) {
    Operation operation{.kind = seen.kind,
                        .name = seen.name,
                        .function = function_name(seen.function),
                        .span = seen.span,
                        .statement = seen.statement,
                        .outermost = seen.outermost,
                        .nest = seen.nest,
                        .arguments = seen.arguments,
                        .configuration = seen.configuration};
    operation.phase = seen.entry == "cuco_setup"      ? Phase::SetUp
                      : seen.entry == "cuco_teardown" ? Phase::TearDown
                                                      : Phase::Run;
    for (const auto& place : seen.streams)
      operation.stream = handle_of(place, graph_.streams, streams_);
    for (const auto& place : seen.events)
      operation.events.push_back(handle_of(place, graph_.events, events_));
    for (const auto& place : seen.communicators)
      operation.communicators.push_back(handle_of(place, graph_.communicators, communicators_));
    for (const auto& access : seen.accesses) {
      const auto buffer = buffer_of(access.object);
      if (!buffer) continue;
      if (access.read) operation.reads.push_back(*buffer);
      if (access.written) operation.writes.push_back(*buffer);
    }
    if (seen.kind == OperationKind::BeginGroup) group_ = groups_++;
    operation.group = group_;
    if (seen.kind == OperationKind::EndGroup) group_ = -1;
    if (seen.kind == OperationKind::Clock) {
      for (const auto& place : seen.used)
        operation.events.push_back(handle_of(place, graph_.events, events_));
    }
    graph_.mpi |= seen.kind == OperationKind::Mpi || seen.name == "MPI_Wtime";
    graph_.threads |= std::ranges::any_of(
        seen.nest, [](const Nest& nest) { return nest.kind == NestKind::Thread; });
    if (seen.kernel >= 0) operation.kernel = kernel_index_.at(seen.kernel);
    const int number = static_cast<int>(graph_.operations.size());
    for (const auto* list : {&operation.reads, &operation.writes}) {
      for (const int buffer : *list) {
        auto& used = graph_.buffers[static_cast<std::size_t>(buffer)];
        if (used.first_use < 0) used.first_use = number;
        used.last_use = number;
      }
    }
    for (const auto& place : seen.used) {
      if (seen.kind != OperationKind::Release) break;
      if (const auto buffer = buffers_.find(place.object); buffer != buffers_.end()) {
        graph_.buffers[static_cast<std::size_t>(buffer->second)].released = seen.span;
      }
    }
    graph_.operations.push_back(std::move(operation));
  }

  std::string function_name(int id) const {
    return id < 0 ? "" : graph_.syntax.functions[static_cast<std::size_t>(id)].name;
  }

  void add_details(int number) {
    const auto& seen = walk_.operations[static_cast<std::size_t>(number)];
    if (seen.kind == OperationKind::Launch && seen.kernel >= 0) add_launch(number, seen);
    if (seen.kind == OperationKind::Communicate) add_collective(number, seen);
  }

  void add_launch(int number, const HostOperation& seen) {
    const auto& operation = graph_.operations[static_cast<std::size_t>(number)];
    graph_.launches.push_back({.operation = number,
                               .kernel = operation.kernel,
                               .function = operation.function,
                               .configuration = seen.configuration,
                               .arguments = seen.arguments,
                               .buffers = buffers_behind(seen),
                               .span = seen.span,
                               .outermost = seen.outermost});
    auto& parameters = graph_.kernels[static_cast<std::size_t>(operation.kernel)].parameters;
    for (std::size_t i = 0; i < parameters.size() && i < seen.values.size(); ++i) {
      auto& parameter = parameters[i];
      if (!parameter.is_pointer || parameter.buffer >= 0) continue;
      for (const auto& place : seen.values[i]) {
        const auto found = buffers_.find(place.object);
        if (found != buffers_.end() && parameter.buffer < 0) parameter.buffer = found->second;
      }
    }
  }

  /// Of a walk that ended early, or of a pointer that came from elsewhere, nothing is known.
  std::vector<std::vector<int>> buffers_behind(const HostOperation& seen) const {
    std::vector<std::vector<int>> behind(seen.values.size());
    for (std::size_t i = 0; i < seen.values.size() && walk_.complete; ++i) {
      for (const auto& place : seen.values[i]) {
        const auto found = buffers_.find(place.object);
        const bool known =
            found != buffers_.end() &&
            graph_.buffers[static_cast<std::size_t>(found->second)].role != BufferRole::Unknown;
        if (!known) {
          behind[i].clear();
          break;
        }
        behind[i].push_back(found->second);
      }
    }
    return behind;
  }

  void add_collective(int number, const HostOperation& seen) {
    const auto& call = *seen.call;
    const auto text = [&](int index) {
      const auto at = static_cast<std::size_t>(index);
      return index >= 0 && at < seen.arguments.size() ? seen.arguments[at] : std::string();
    };
    const auto buffers = [&](int index) {
      std::vector<int> found;
      const auto at = static_cast<std::size_t>(index);
      if (index < 0 || at >= seen.values.size()) return found;
      for (const auto& place : seen.values[at]) {
        if (const auto buffer = buffer_of(place.object)) found.push_back(*buffer);
      }
      return found;
    };
    const auto& operation = graph_.operations[static_cast<std::size_t>(number)];
    Collective collective{.operation = number,
                          .name = seen.name,
                          .function = operation.function,
                          .send = text(call.read),
                          .receive = text(call.written),
                          .count = text(call.count),
                          .type = text(call.type),
                          .reduction = text(call.operation),
                          .peer = text(call.peer),
                          .communicator = text(call.communicator),
                          .stream = text(call.stream),
                          .send_buffers = buffers(call.read),
                          .receive_buffers = buffers(call.written),
                          .reduces = call.operation >= 0,
                          .span = seen.span,
                          .statement = seen.statement};
    const auto peer = static_cast<std::size_t>(call.peer);
    collective.peer_varies = call.peer >= 0 && peer < seen.varies.size() && seen.varies[peer];
    if (seen.name == "ncclBcast") {
      collective.send = collective.receive;
      collective.send_buffers = collective.receive_buffers;
    }
    collective.in_place =
        !collective.send_buffers.empty() && collective.send_buffers == collective.receive_buffers;
    for (const auto* list : {&collective.send_buffers, &collective.receive_buffers}) {
      for (const int buffer : *list)
        graph_.buffers[static_cast<std::size_t>(buffer)].communicated = true;
    }
    graph_.collectives.push_back(std::move(collective));
  }

  HostWalk walk_;
  CommunicationGraph graph_;
  std::map<int, int> kernel_index_, buffers_;
  std::map<Place, int> streams_, events_, communicators_;
  int group_ = -1;
  int groups_ = 0;
};

}  // namespace

CommunicationGraph build_graph(Syntax syntax) {
  return Builder(std::move(syntax)).build();
}

design::ProgramFacts program_facts(const CommunicationGraph& graph) {
  design::ProgramFacts facts;
  facts.has_collective = !graph.collectives.empty();
  facts.kernels = static_cast<int>(graph.launches.size());
  facts.sends_to_all = std::ranges::any_of(graph.sites, [](const Site& site) {
    return site.pattern != Pattern::AllToAll && site.pattern != Pattern::Shift &&
           site.pattern != Pattern::Transfer;
  });
  for (const auto& collective : graph.collectives) {
    facts.reduces = facts.reduces || collective.reduces;
    facts.has_producer = facts.has_producer || !collective.producers.empty();
    facts.has_consumer = facts.has_consumer || !collective.consumers.empty();
    for (const auto* list : {&collective.send_buffers, &collective.receive_buffers}) {
      for (const int index : *list) {
        facts.symmetric_buffers =
            facts.symmetric_buffers && graph.buffers[static_cast<std::size_t>(index)].symmetric;
      }
    }
  }
  return facts;
}

}  // namespace cuco::analysis
