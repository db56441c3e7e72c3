// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/graph_flow.h"
#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/edit.h"
#include "expert/forward/forward_site.h"
#include "expert/forward/kernel_stores.h"
#include "expert/forward/shared_buffers.h"
#include "expert/standalone/nccl_names.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"
#include "program/tokens.h"

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Site;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// NCCL's names become those of the program's own functions.
std::string with_own_names(std::string_view text) {
  Edits edits(text);
  for (const program::Identifier& name : program::identifiers(text)) {
    if (const DropIn* call = drop_in_for(name.name))
      edits.replace(name.begin, name.begin + name.name.size(), fmt::format("cuco::{}", call->own));
  }
  return edits.apply();
}

/// What has to be done to the program for some of its exchanges.
Result<bool> edit(const CommunicationGraph& graph,
                  std::string_view text,
                  const std::vector<ForwardSite>& sites,
                  Edits& edits) {
  std::set<int> producers;
  std::vector<const analysis::Kernel*> kernels;
  std::vector<int> receivers;
  for (const ForwardSite& site : sites) {
    producers.insert(site.producers.begin(), site.producers.end());
    for (const int id : site.kernels) {
      const auto& kernel = graph.kernels[static_cast<std::size_t>(id)];
      const bool known = std::ranges::any_of(
          kernels, [&](const auto* other) { return other->span == kernel.span; });
      if (!known) kernels.push_back(&kernel);
    }
    receivers.insert(receivers.end(), site.receivers.begin(), site.receivers.end());
    const std::size_t line = text.rfind('\n', site.plan_at) + 1;
    const std::string margin(site.plan_at - line, ' ');
    // Further lines of the exchange are where they were in the block.
    edits.insert(site.plan_at, fmt::format("cuco::plan([&] {{\n{0}{1}\n{0}}});\n{0}", margin,
                                           indented(with_own_names(site.calls), 2)));
  }
  for (const auto* kernel : kernels) {
    CUCO_TRY(forward_stores(graph, text, *kernel, edits));
    CUCO_TRY(pass_forward(graph, text, *kernel, producers, edits));
  }
  return share_buffers(graph, text, receivers, edits);
}

std::string name_of(const Site& site) {
  return fmt::format("{} in line {}", analysis::name(site.pattern), site.span.line);
}

const analysis::Operation& first_call(const CommunicationGraph& graph, const Site& site) {
  const auto& call = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
  return graph.operations[static_cast<std::size_t>(call.operation)];
}

bool has_messages(const CommunicationGraph& graph, const Site& site) {
  const std::string& name = first_call(graph, site).name;
  return name == "ncclSend" || name == "ncclRecv";
}

/// Whether calls of the one may meet calls of the other on another rank.
bool may_meet(const CommunicationGraph& graph, const Site& a, const Site& b) {
  if (has_messages(graph, a) && has_messages(graph, b)) return true;
  return analysis::exclude_each_other(first_call(graph, a), first_call(graph, b));
}

struct Tried {
  const Site* site;
  ForwardSite found;
  std::string refused;  ///< Why it cannot; empty if it can.
};

Tried try_site(const CommunicationGraph& graph, std::string_view text, const Site& site) {
  auto found = find_forward_site(graph, text, site);
  if (!found) return {&site, {}, found.error().message()};
  Edits edits(text);
  const auto edited = edit(graph, text, {*found}, edits);
  return {&site, *std::move(found), edited ? "" : edited.error().message()};
}

/// Both sides of an exchange do it in the same way: who meets one that cannot, cannot.
void refuse_those_that_meet(const CommunicationGraph& graph, std::vector<Tried>& tried) {
  for (bool again = true; again;) {
    again = false;
    for (Tried& one : tried) {
      for (const Tried& other : tried) {
        if (!one.refused.empty() || other.refused.empty()) continue;
        if (!may_meet(graph, *one.site, *other.site)) continue;
        one.refused = fmt::format("it may meet the {}, which stays as it is", name_of(*other.site));
        again = true;
      }
    }
  }
}

/// What several calls of a function come to is one text.
void add_site(std::vector<ForwardSite>& sites, ForwardSite found) {
  const auto same = std::ranges::find(sites, found.plan_at, &ForwardSite::plan_at);
  if (same == sites.end()) {
    sites.push_back(std::move(found));
    return;
  }
  same->producers.insert(found.producers.begin(), found.producers.end());
  same->kernels.insert(found.kernels.begin(), found.kernels.end());
  same->receivers.insert(found.receivers.begin(), found.receivers.end());
}

std::vector<ForwardSite> usable_sites(const CommunicationGraph& graph,
                                      std::string_view text,
                                      std::vector<std::string>& refused) {
  std::vector<Tried> tried;
  for (const Site& site : graph.sites)
    tried.push_back(try_site(graph, text, site));
  refuse_those_that_meet(graph, tried);
  std::vector<ForwardSite> usable;
  for (Tried& one : tried) {
    if (one.refused.empty()) {
      add_site(usable, std::move(one.found));
    } else {
      refused.push_back(fmt::format("{}: {}", name_of(*one.site), one.refused));
    }
  }
  return usable;
}

}  // namespace

Result<Forwarded> forward_sends(const CommunicationGraph& graph, std::string_view text) {
  Forwarded result;
  const auto sites = usable_sites(graph, text, result.refused);
  if (sites.empty()) {
    return no(result.refused.empty() ? "the program does not communicate"
                                     : join(result.refused, "; "));
  }
  Additions additions{Edits(text)};
  CUCO_TRY_ASSIGN(additions.shares_outputs, edit(graph, text, sites, additions.edits));
  const OwnDesign design{.forwards = true};
  if (analysis::find_function(graph.syntax, "cuco_setup") != nullptr) {
    CUCO_TRY_ASSIGN(SplitStandalone made,
                    split_with_own_collectives(graph, text, design, &additions));
    result.program = std::move(made.program);
  } else {
    CUCO_TRY_ASSIGN(const Standalone made, with_own_collectives(text, design, &additions));
    result.program = as_one_file(made, made.program);
  }
  result.program = with_short_lines(result.program, text);
  result.sites = static_cast<int>(sites.size());
  return result;
}

}  // namespace cuco::expert::forward
