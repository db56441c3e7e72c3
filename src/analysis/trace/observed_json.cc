// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/observed_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::analysis {
namespace {

constexpr std::array<const char*, kQuantities> kNames = {
    "row",      "row_x",    "row_y", "row_z",   "column", "column_x",
    "column_y", "column_z", "rows",  "columns", "pitch"};

Json ranges_json(const ObservedMap& map) {
  Json blocks = Json::array();
  for (const auto& ranges : map.last_ranges) {
    Json block = Json::array();
    for (const auto& [begin, end] : ranges)
      block.push_back({begin, end});
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::string dot_label(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

}  // namespace

Json to_json(const ObservedMap& map) {
  Json out = {{"kernel", map.kernel},
              {"parameter", map.parameter},
              {"name", map.name},
              {"buffer", map.buffer},
              {"writes", map.writes},
              {"form", name(map.form)},
              {"text", to_text(map)},
              {"basis", basis(map)},
              {"verified", map.is_verified},
              {"element_bytes", map.element_bytes},
              {"clipped", map.is_clipped},
              {"one_block_per_byte", map.one_each},
              {"exact", map.is_exact},
              {"launches", map.launches},
              {"grid", map.last.grid}};
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const SeenQuantity& seen = map.quantities[i];
    if (!seen.last) continue;
    out["quantities"][kNames[i]] = {{"last", *seen.last}};
    if (seen.formula) out["quantities"][kNames[i]]["formula"] = to_text(*seen.formula);
    if (seen.in_kernel) out["quantities"][kNames[i]]["in_kernel"] = to_text(*seen.in_kernel);
  }
  if (map.form == TileForm::Other || map.form == TileForm::Tiles) out["ranges"] = ranges_json(map);
  if (!map.writes) {
    out["origins"] = {{"own_block", map.origins.own},
                      {"other_blocks", map.origins.others},
                      {"arrived", map.origins.arrived},
                      {"given", map.origins.given},
                      {"block_local", map.origins.is_block_local()}};
  }
  return out;
}

Json to_json(const ObservedOverlap& overlap) {
  return {{"seen", overlap.seen},
          {"communication_us", overlap.communication_us},
          {"makers_us", overlap.producers_us},
          {"half_final_us", overlap.half_final_us},
          {"behind_makers_us", overlap.behind_producers_us},
          {"behind_users_us", overlap.behind_consumers_us},
          {"gain_us", overlap.gain_us}};
}

// Graphviz takes what is said of a node last.
std::string to_dot(const CommunicationGraph& graph,
                   const std::vector<ObservedMap>& maps,
                   const std::vector<ObservedOverlap>& overlaps) {
  std::string text = to_dot(graph);
  text.erase(text.rfind('}'));
  for (const Launch& launch : graph.launches) {
    const Operation& operation = graph.operations[static_cast<std::size_t>(launch.operation)];
    const auto node = fmt::format("{} (line {})", operation.name, operation.span.line);
    std::string label = node;
    for (const ObservedMap& map : maps) {
      if (map.graph_kernel == launch.kernel)
        label +=
            fmt::format("\n{} {}: {}", map.writes ? "writes" : "reads", map.name, to_text(map));
    }
    if (label != node) text += fmt::format("  {} [label={}];\n", dot_label(node), dot_label(label));
  }
  for (std::size_t i = 0; i < overlaps.size() && i < graph.sites.size(); ++i) {
    if (overlaps[i].seen == 0) continue;
    text += fmt::format(
        "  site{} [label={}];\n", i,
        dot_label(fmt::format("{}\nline {}\nup to {:.1f} of {:.1f} us could hide (predicted)",
                              name(graph.sites[i].pattern), graph.sites[i].span.line,
                              overlaps[i].gain_us, overlaps[i].communication_us)));
  }
  return text + "}\n";
}

}  // namespace cuco::analysis
