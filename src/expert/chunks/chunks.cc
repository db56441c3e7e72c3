// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/chunks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/chunks/chunk_site.h"
#include "expert/edit.h"
#include "expert/forward/kernel_stores.h"
#include "expert/forward/shared_buffers.h"
#include "expert/host_designs.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"
#include "program/tokens.h"

namespace cuco::expert::chunks {
namespace {

using analysis::CommunicationGraph;
using analysis::Kernel;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The kernel gets one more parameter; its blocks say when they begin and when they are done.
Result<void> send_from(const ChunkProducer& producer, std::string_view text, Edits& edits) {
  const Kernel& kernel = *producer.kernel;
  CUCO_TRY(forward::add_forward_parameter(text, kernel, edits));
  // What returns early returns from the closure: all threads reach the end of the kernel.
  const bool returns = !kernel.returns.empty();
  edits.insert(kernel.body.begin + 1,
               fmt::format("\n  cuco::ChunkSender<cuco::kPath, cuco::kIssuer> "
                           "cuco_sender(cuco_forward);{}",
                           returns ? "\n  [&] {" : ""));
  edits.insert(kernel.body.end - 1,
               fmt::format("{}\n  cuco_sender.block_done({}, {});\n", returns ? "  }();" : "",
                           producer.output, producer.tiles));
  return {};
}

/// Instantiations of a template are one text.
Result<void> add_producers(const ChunkSite& site,
                           std::string_view text,
                           std::vector<ChunkProducer>& done,
                           Edits& edits) {
  for (const ChunkProducer& producer : site.producers) {
    const auto same = std::ranges::find_if(done, [&](const ChunkProducer& other) {
      return other.kernel->span == producer.kernel->span;
    });
    if (same == done.end()) {
      CUCO_TRY(send_from(producer, text, edits));
      done.push_back(producer);
    } else if (same->tiles != producer.tiles || same->output != producer.output) {
      return no(fmt::format("instantiations of {} write tiles of different sizes",
                            producer.kernel->name));
    }
  }
  return {};
}

/// What has to be done to the program for some of its all-gathers.
Result<bool> edit(const CommunicationGraph& graph,
                  std::string_view text,
                  const std::vector<ChunkSite>& sites,
                  Edits& edits) {
  std::vector<ChunkProducer> producers;
  forward::PlannedLaunches launches;
  std::vector<int> receivers;
  for (const ChunkSite& site : sites) {
    CUCO_TRY(add_producers(site, text, producers, edits));
    launches.producers.insert(site.launches.begin(), site.launches.end());
    receivers.insert(receivers.end(), site.receivers.begin(), site.receivers.end());
    const std::string margin(site.plan_at - (text.rfind('\n', site.plan_at) + 1), ' ');
    edits.insert(site.plan_at, fmt::format("cuco::plan([&] {{\n{0}{1}\n{0}}});\n{0}", margin,
                                           indented(with_own_names(site.calls), 2)));
  }
  for (const ChunkProducer& producer : producers)
    CUCO_TRY(forward::pass_forward(graph, text, *producer.kernel, launches, edits));
  CUCO_TRY_ASSIGN(const auto shared, forward::share_buffers(graph, text, receivers));
  const auto names = forward::drop_ins_for(shared, /*laned=*/false);
  for (const program::Identifier& name : program::identifiers(text)) {
    if (const auto other = names.find(name.begin); other != names.end())
      edits.replace(name.begin, name.begin + name.name.size(), other->second);
  }
  return shared.outputs;
}

std::vector<ChunkSite> usable_sites(const CommunicationGraph& graph,
                                    std::span<const analysis::ObservedMap> maps,
                                    std::string_view text,
                                    std::vector<std::string>& refused) {
  std::vector<ChunkSite> usable;
  for (const analysis::Site& site : graph.sites) {
    auto found = find_chunk_site(graph, maps, text, site);
    Edits edits(text);
    const auto edited = found ? edit(graph, text, {*found}, edits) : Result<bool>(found.error());
    if (!edited) {
      refused.push_back(fmt::format("{} in line {}: {}", analysis::name(site.pattern),
                                    site.span.line, edited.error().message()));
    } else if (std::ranges::find(usable, found->plan_at, &ChunkSite::plan_at) == usable.end()) {
      usable.push_back(*std::move(found));
    }
  }
  return usable;
}

}  // namespace

Result<Chunked> gather_in_producers(const CommunicationGraph& graph,
                                    std::span<const analysis::ObservedMap> maps,
                                    std::string_view text,
                                    const ChunkDesign& design) {
  Chunked result;
  const auto sites = usable_sites(graph, maps, text, result.refused);
  if (sites.empty()) {
    return no(result.refused.empty() ? "the program does not communicate"
                                     : join(result.refused, "; "));
  }
  Additions additions{Edits(text)};
  CUCO_TRY_ASSIGN(additions.shares_outputs, edit(graph, text, sites, additions.edits));
  if (design.recorded) CUCO_TRY(add_replay(graph, text, additions.edits));
  const OwnDesign own{.backend = design.backend, .chunks = design.knobs};
  if (analysis::find_function(graph.syntax, "cuco_setup") != nullptr) {
    CUCO_TRY_ASSIGN(SplitStandalone made, split_with_own_collectives(graph, text, own, &additions));
    result.program = std::move(made.program);
  } else {
    CUCO_TRY_ASSIGN(const Standalone made, with_own_collectives(text, own, &additions));
    result.program = as_one_file(made, made.program);
  }
  result.program = with_short_lines(result.program, text);
  result.sites = static_cast<int>(sites.size());
  return result;
}

}  // namespace cuco::expert::chunks
