// SPDX-License-Identifier: Apache-2.0
// A graph for programs: JSON and Graphviz.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/communication_graph.h"
#include "analysis/overlap.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {
using Json = nlohmann::ordered_json;

Json lines(const Span& span) {
  return {
      {"line", span.line}, {"end_line", span.end_line}, {"begin", span.begin}, {"end", span.end}};
}

std::string_view kind_name(NestKind kind) {
  constexpr std::string_view kNames[] = {"loop", "if", "else", "call", "thread"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view phase_name(Phase phase) {
  constexpr std::string_view kNames[] = {"set-up", "run", "teardown"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view role_name(BufferRole role) {
  constexpr std::string_view kNames[] = {"input", "output", "scratch", "unknown"};
  return kNames[static_cast<std::size_t>(role)];
}

Json buffers_of(const CommunicationGraph& graph) {
  auto list = Json::array();
  for (const auto& buffer : graph.buffers) {
    Json json{{"name", buffer.name},           {"role", role_name(buffer.role)},
              {"symmetric", buffer.symmetric}, {"communicated", buffer.communicated},
              {"aliases", buffer.aliases},     {"first_use", buffer.first_use},
              {"last_use", buffer.last_use}};
    if (!buffer.allocator.empty()) {
      json["allocator"] = buffer.allocator;
      json["bytes"] = buffer.bytes;
      json["allocated"] = lines(buffer.allocated);
    }
    if (buffer.released.end > 0) json["released"] = lines(buffer.released);
    list.push_back(std::move(json));
  }
  return list;
}

Json kernels_of(const CommunicationGraph& graph) {
  auto list = Json::array();
  for (const auto& kernel : graph.kernels) {
    Json json{{"name", kernel.name}, {"arguments", kernel.arguments}, {"at", lines(kernel.span)}};
    for (const auto& parameter : kernel.parameters) {
      json["parameters"].push_back({{"name", parameter.name},
                                    {"type", parameter.type},
                                    {"reads", parameter.read},
                                    {"writes", parameter.written},
                                    {"buffer", parameter.buffer}});
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json operations_of(const CommunicationGraph& graph) {
  auto list = Json::array();
  for (const auto& operation : graph.operations) {
    Json json{{"kind", name(operation.kind)},
              {"name", operation.name},
              {"phase", phase_name(operation.phase)},
              {"function", operation.function},
              {"at", lines(operation.span)},
              {"stream", operation.stream},
              {"reads", operation.reads},
              {"writes", operation.writes}};
    for (const auto& nest : operation.nest) {
      json["nest"].push_back(
          {{"kind", kind_name(nest.kind)}, {"text", nest.text}, {"line", nest.span.line}});
    }
    if (!operation.events.empty()) json["events"] = operation.events;
    if (!operation.communicators.empty()) json["communicators"] = operation.communicators;
    if (operation.group >= 0) json["group"] = operation.group;
    if (operation.kind == OperationKind::Launch) {
      const auto& launch = operation.configuration;
      json["kernel"] = operation.kernel;
      json["grid"] = launch.grid;
      json["block"] = launch.block;
      json["shared"] = launch.shared;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json flows_of(const std::vector<Flow>& flows) {
  auto list = Json::array();
  for (const auto& flow : flows)
    list.push_back({{"operation", flow.operation}, {"next_round", flow.next_round}});
  return list;
}

Json sites_of(const CommunicationGraph& graph) {
  auto list = Json::array();
  for (const auto& site : graph.sites) {
    Json json{{"pattern", name(site.pattern)},
              {"function", site.function},
              {"at", lines(site.span)},
              {"sends", site.send_buffers},
              {"receives", site.receive_buffers},
              {"producers", flows_of(site.producers)},
              {"consumers", flows_of(site.consumers)},
              {"independent", site.independent}};
    for (const int index : site.collectives) {
      const auto& call = graph.collectives[static_cast<std::size_t>(index)];
      json["calls"].push_back({{"name", call.name},
                               {"operation", call.operation},
                               {"send", call.send},
                               {"receive", call.receive},
                               {"count", call.count},
                               {"type", call.type},
                               {"reduction", call.reduction},
                               {"peer", call.peer},
                               {"in_place", call.in_place}});
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json handles_of(const std::vector<Handle>& handles) {
  auto list = Json::array();
  for (const auto& handle : handles) {
    Json json{{"name", handle.name}, {"maker", handle.maker}};
    if (handle.parent >= 0) json["parent"] = handle.parent;
    list.push_back(std::move(json));
  }
  return list;
}

std::string dot_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    if (c == '\n') {
      safe += "\\n";
    } else {
      safe += c;
    }
  }
  return "\"" + safe + "\"";
}

}  // namespace

std::string to_json(const CommunicationGraph& graph) {
  return to_json(graph, {});
}

std::string to_json(const CommunicationGraph& graph, const std::vector<Overlap>& overlaps) {
  Json json{{"buffers", buffers_of(graph)},
            {"streams", handles_of(graph.streams)},
            {"events", handles_of(graph.events)},
            {"communicators", handles_of(graph.communicators)},
            {"kernels", kernels_of(graph)},
            {"operations", operations_of(graph)},
            {"sites", sites_of(graph)},
            {"threads", graph.threads},
            {"mpi", graph.mpi},
            {"problems", graph.problems}};
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    json["sites"][i]["overlap"] = {{"communication_us", overlaps[i].communication_us},
                                   {"beside_us", overlaps[i].beside_us},
                                   {"gain_us", overlaps[i].gain_us}};
  }
  if (graph.timed) {
    json["timed"] = {
        {"clock", graph.timed->clock}, {"first", graph.timed->first}, {"last", graph.timed->last}};
  }
  const auto add = [&](const char* key, const std::optional<Anchor>& anchor) {
    if (anchor) json[key] = {{"function", anchor->function}, {"line", anchor->line}};
  };
  add("set_up", graph.set_up);
  add("tear_down", graph.tear_down);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Kernels and copies as boxes, communication as ovals, buffers on the arrows.
std::string to_dot(const CommunicationGraph& graph) {
  std::string text = "digraph communication {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  const auto node = [&](int number) {
    const auto& operation = graph.operations[static_cast<std::size_t>(number)];
    return dot_text(fmt::format("{} (line {})", operation.name, operation.span.line));
  };
  for (std::size_t i = 0; i < graph.sites.size(); ++i) {
    const auto& site = graph.sites[i];
    text += fmt::format("  site{} [shape=oval, style=filled, fillcolor=lightblue, label={}];\n", i,
                        dot_text(fmt::format("{}\nline {}", name(site.pattern), site.span.line)));
    const auto arrow = [&](const Flow& flow, bool made) {
      const auto& operation = graph.operations[static_cast<std::size_t>(flow.operation)];
      const auto& touched = made ? operation.writes : operation.reads;
      const auto& moved = made ? site.send_buffers : site.receive_buffers;
      std::vector<std::string> names;
      for (const int buffer : moved) {
        if (std::ranges::find(touched, buffer) != touched.end()) {
          names.push_back(graph.buffers[static_cast<std::size_t>(buffer)].name);
        }
      }
      const auto ends = made ? fmt::format("{} -> site{}", node(flow.operation), i)
                             : fmt::format("site{} -> {}", i, node(flow.operation));
      text += fmt::format("  {} [label={}{}];\n", ends, dot_text(join(names, ", ")),
                          flow.next_round ? ", style=dashed" : "");
    };
    for (const auto& flow : site.producers)
      arrow(flow, true);
    for (const auto& flow : site.consumers)
      arrow(flow, false);
    for (const int number : site.independent) {
      text += fmt::format("  {} -> site{} [dir=none, style=dotted, label=\"independent\"];\n",
                          node(number), i);
    }
  }
  for (const auto& launch : graph.launches)
    text += fmt::format("  {} [shape=box];\n", node(launch.operation));
  return text + "}\n";
}

}  // namespace cuco::analysis
