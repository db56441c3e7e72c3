// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/chunk_site.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/graph_flow.h"
#include "expert/chunks/tile_text.h"
#include "expert/forward/call_chain.h"
#include "expert/forward/forward_site.h"
#include "expert/kernels/reading/kernel_body.h"
#include "program/tokens.h"

namespace cuco::expert::chunks {
namespace {

using analysis::CommunicationGraph;
using analysis::Kernel;
using analysis::Operation;
using analysis::Site;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// A round has one launch that makes everything.
Result<void> check_launches(const CommunicationGraph& graph,
                            const Operation& exchange,
                            const std::set<int>& launches) {
  const auto operation = [&](int i) -> const Operation& {
    return graph.operations[static_cast<std::size_t>(i)];
  };
  for (const int i : launches) {
    if (!forward::is_in_loops_of(exchange, operation(i)))
      return no(fmt::format("{} is launched several times in a round", operation(i).name));
    for (const int k : launches) {
      if (i < k && !analysis::exclude_each_other(operation(i), operation(k)))
        return no(
            fmt::format("{} and {} both make what it sends", operation(i).name, operation(k).name));
    }
  }
  return {};
}

/// The one parameter through which the kernel writes what is sent.
Result<std::size_t> output_of(const CommunicationGraph& graph, const Site& site, int kernel) {
  const Kernel& made = graph.kernels[static_cast<std::size_t>(kernel)];
  std::vector<std::size_t> found;
  for (const auto& launch : graph.launches) {
    if (launch.kernel != kernel) continue;
    for (std::size_t i = 0; i < launch.buffers.size() && i < made.parameters.size(); ++i) {
      const bool sent = std::ranges::any_of(launch.buffers[i], [&](int buffer) {
        return std::ranges::find(site.send_buffers, buffer) != site.send_buffers.end();
      });
      if (sent && made.parameters[i].written && std::ranges::find(found, i) == found.end())
        found.push_back(i);
    }
  }
  if (found.size() == 1) return found.front();
  return no(found.empty()
                ? fmt::format("through which parameter {} writes it is not known", made.name)
                : fmt::format("{} writes it through several parameters", made.name));
}

/// What is said at the kernel's end is said in terms of its parameters.
Result<void> check_parameters(const CommunicationGraph& graph,
                              const Kernel& kernel,
                              const std::string& terms) {
  const auto names = program::identifiers(terms);
  for (const analysis::Function& function : graph.syntax.functions) {
    if (!(function.span == kernel.span) || !function.body) continue;
    const auto changed = kernels::assigned_in(*function.body);
    for (const int parameter : function.parameters) {
      const auto& name = graph.syntax.variables[static_cast<std::size_t>(parameter)].name;
      const bool is_named =
          std::ranges::find(names, name, &program::Identifier::name) != names.end();
      if (is_named && changed.contains(parameter))
        return no(fmt::format("{} changes its parameter '{}'", kernel.name, name));
    }
  }
  return {};
}

Result<ChunkProducer> producer_of(const CommunicationGraph& graph,
                                  std::span<const analysis::ObservedMap> maps,
                                  const Site& site,
                                  int kernel) {
  const Kernel& made = graph.kernels[static_cast<std::size_t>(kernel)];
  CUCO_TRY_ASSIGN(const std::size_t output, output_of(graph, site, kernel));
  // By its name: the graph may be that of another version of the program.
  const auto map = std::ranges::find_if(maps, [&](const analysis::ObservedMap& one) {
    return one.writes && one.inside == 0 && one.parameter == output &&
           one.kernel == made.name + made.arguments;
  });
  if (map == maps.end())
    return no(fmt::format("no run has shown which blocks of {} write it", made.name));
  CUCO_TRY_ASSIGN(std::string tiles, tile_text(*map));
  CUCO_TRY(check_parameters(graph, made, made.parameters[output].name + " " + tiles));
  return ChunkProducer{&made, made.parameters[output].name, std::move(tiles)};
}

}  // namespace

Result<ChunkSite> find_chunk_site(const CommunicationGraph& graph,
                                  std::span<const analysis::ObservedMap> maps,
                                  std::string_view text,
                                  const Site& site) {
  if (site.pattern != analysis::Pattern::AllGather || site.collectives.size() != 1)
    return no("it is no all-gather");
  CUCO_TRY_ASSIGN(forward::ForwardSite found,
                  forward::find_forward_site(graph, text, site, forward::Storer::Producers,
                                             forward::Order::SideBySide));
  const auto& call = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
  CUCO_TRY(check_launches(graph, graph.operations[static_cast<std::size_t>(call.operation)],
                          found.producers));
  ChunkSite made;
  for (const int kernel : found.kernels) {
    CUCO_TRY_ASSIGN(ChunkProducer producer, producer_of(graph, maps, site, kernel));
    made.producers.push_back(std::move(producer));
  }
  made.receivers.assign(found.receivers.begin(), found.receivers.end());
  made.launches = std::move(found.producers);
  made.plan_at = found.plan_at;
  made.calls = std::move(found.calls);
  return made;
}

}  // namespace cuco::expert::chunks
