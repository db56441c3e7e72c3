// SPDX-License-Identifier: Apache-2.0
// A graph in words, and its skeleton.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/communication_graph.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {

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

std::string_view phase_name(Phase phase) {
  return phase == Phase::SetUp ? "set-up" : phase == Phase::Run ? "run" : "teardown";
}

std::string names(const std::vector<int>& indices, const std::vector<Buffer>& buffers) {
  std::vector<std::string> list;
  for (const int index : indices)
    list.push_back(buffers[static_cast<std::size_t>(index)].name);
  return list.empty() ? "nothing" : join(list, ", ");
}

std::string nest_text(const Operation& operation) {
  std::string text;
  for (const auto& nest : operation.nest) {
    switch (nest.kind) {
      case NestKind::Loop:
        text += fmt::format(" in loop ({})", nest.text);
        break;
      case NestKind::If:
        text += fmt::format(" if ({})", nest.text);
        break;
      case NestKind::Else:
        text += fmt::format(" unless ({})", nest.text);
        break;
      case NestKind::Thread:
        text += " in a thread";
        break;
      case NestKind::Call:
        break;
    }
  }
  return text;
}

std::string title(const CommunicationGraph& graph, int number) {
  const auto& operation = graph.operations[static_cast<std::size_t>(number)];
  return fmt::format("{} (line {})", operation.name, operation.span.line);
}

std::string flows(const CommunicationGraph& graph,
                  const std::vector<Flow>& list,
                  std::string_view round) {
  std::vector<std::string> parts;
  for (const auto& flow : list) {
    parts.push_back(title(graph, flow.operation) +
                    (flow.next_round ? std::string(round) : std::string()));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string kernel_text(const CommunicationGraph& graph, const Kernel& kernel) {
  auto text = fmt::format("kernel {}{}, lines {}-{}\n", kernel.name, kernel.arguments,
                          kernel.span.line, kernel.span.end_line);
  for (const auto& parameter : kernel.parameters) {
    const bool touched = parameter.read || parameter.written;
    text += fmt::format("    {} {}", parameter.type, parameter.name);
    if (touched || parameter.is_pointer) {
      const auto* access = parameter.written ? (parameter.read ? "reads and writes" : "writes")
                           : parameter.read  ? "reads"
                                             : "unused";
      text += fmt::format(": {}", access);
      if (parameter.buffer >= 0) {
        text += " " + graph.buffers[static_cast<std::size_t>(parameter.buffer)].name;
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string_view name(Pattern pattern) {
  constexpr std::string_view kNames[] = {"all-gather", "all-reduce", "reduce-scatter", "broadcast",
                                         "reduce",     "all-to-all", "gather",         "scatter",
                                         "shift",      "transfer"};
  return kNames[static_cast<std::size_t>(pattern)];
}

std::string_view name(OperationKind kind) {
  constexpr std::string_view kNames[] = {
      "launch",    "communicate", "copy",          "fill",       "allocate", "release",
      "create",    "destroy",     "record",        "wait event", "wait",     "begin group",
      "end group", "graph",       "select device", "MPI",        "clock"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const CommunicationGraph& graph) {
  std::string text;
  for (const auto& buffer : graph.buffers) {
    text += fmt::format("buffer {}: {}", buffer.name, role_name(buffer.role));
    if (!buffer.allocator.empty()) {
      text += fmt::format(" from {}, line {}", buffer.allocator, buffer.allocated.line);
    }
    if (buffer.symmetric) text += ", symmetric";
    if (buffer.communicated && !buffer.symmetric) text += ", must become symmetric";
    text += "\n";
  }
  for (const auto& communicator : graph.communicators) {
    text += fmt::format("communicator {}", communicator.name);
    if (communicator.parent >= 0) {
      text += fmt::format(", split from {}",
                          graph.communicators[static_cast<std::size_t>(communicator.parent)].name);
    }
    text += "\n";
  }
  for (const auto& kernel : graph.kernels)
    text += kernel_text(graph, kernel);
  Phase phase = Phase::SetUp;
  bool any = false;
  for (const auto& operation : graph.operations) {
    if (!any || operation.phase != phase) text += fmt::format("{}:\n", phase_name(operation.phase));
    any = true;
    phase = operation.phase;
    text += fmt::format("    line {}: {}", operation.span.line, operation.name);
    if (operation.kind == OperationKind::Launch) {
      const auto& launch = operation.configuration;
      text += fmt::format("<<<{}, {}, {}, {}>>>", launch.grid, launch.block, launch.shared,
                          launch.stream);
    }
    if (!operation.reads.empty()) {
      text += fmt::format(" reads {}", names(operation.reads, graph.buffers));
    }
    if (!operation.writes.empty()) {
      text += fmt::format(" writes {}", names(operation.writes, graph.buffers));
    }
    if (operation.stream >= 0) {
      text += fmt::format(" on {}", graph.streams[static_cast<std::size_t>(operation.stream)].name);
    }
    text += nest_text(operation) + "\n";
  }
  for (const auto& site : graph.sites) {
    const auto& first = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
    text += fmt::format("site {}, lines {}-{} in {}{}\n", name(site.pattern), site.span.line,
                        site.span.end_line, site.function, first.in_place ? ", in place" : "");
    text += fmt::format("    sends {}, receives {}, count {}, type {}\n",
                        names(site.send_buffers, graph.buffers),
                        names(site.receive_buffers, graph.buffers), first.count, first.type);
    text += fmt::format("    made by {}; needed by {}\n",
                        flows(graph, site.producers, " of the round before"),
                        flows(graph, site.consumers, " of the next round"));
    std::vector<std::string> beside;
    for (const int number : site.independent)
      beside.push_back(title(graph, number));
    if (!beside.empty()) text += fmt::format("    independent of {}\n", join(beside, ", "));
  }
  if (graph.timed) text += fmt::format("timed by {}\n", graph.timed->clock);
  for (const auto& problem : graph.problems)
    text += fmt::format("problem {}\n", problem);
  return text;
}

std::string skeleton(const CommunicationGraph& graph) {
  std::map<int, std::size_t> numbers;
  const auto number = [&](int buffer) {
    return numbers.try_emplace(buffer, numbers.size()).first->second;
  };
  std::map<int, std::size_t> streams;
  std::string text;
  for (const auto& operation : graph.operations) {
    if (operation.kind == OperationKind::Mpi || operation.kind == OperationKind::Clock) continue;
    text += fmt::format("{} {}", phase_name(operation.phase), name(operation.kind));
    if (operation.kind != OperationKind::Launch) text += " " + operation.name;
    for (const auto* list : {&operation.reads, &operation.writes}) {
      std::vector<std::size_t> sorted;
      for (const int buffer : *list)
        sorted.push_back(number(buffer));
      std::ranges::sort(sorted);
      text += list == &operation.reads ? " r" : " w";
      for (const auto buffer : sorted)
        text += fmt::format(" {}", buffer);
    }
    if (operation.stream >= 0) {
      const auto stream = streams.try_emplace(operation.stream, streams.size()).first->second;
      text += fmt::format(" stream {}", stream);
    }
    for (const auto& nest : operation.nest) {
      if (nest.kind == NestKind::Loop) text += " loop";
      if (nest.kind == NestKind::If || nest.kind == NestKind::Else) text += " if";
      if (nest.kind == NestKind::Thread) text += " thread";
    }
    text += "\n";
  }
  for (const auto& site : graph.sites) {
    text += fmt::format("site {} makers {} users {} beside {}\n", name(site.pattern),
                        site.producers.size(), site.consumers.size(), site.independent.size());
  }
  return text;
}

}  // namespace cuco::analysis
