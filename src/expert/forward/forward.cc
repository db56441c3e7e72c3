// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analysis/graph_flow.h"
#include "analysis/syntax_query.h"
#include "base/text.h"
#include "expert/edit.h"
#include "expert/forward/forward_site.h"
#include "expert/forward/kernel_stores.h"
#include "expert/forward/shared_buffers.h"
#include "expert/host_designs.h"
#include "expert/lanes/lanes.h"
#include "expert/standalone/changeable.h"
#include "expert/standalone/nccl_names.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Site;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

using Kernels = std::vector<const analysis::Kernel*>;

/// What is done to some exchanges of a program.
struct Sites {
  std::vector<ForwardSite> list;

  [[nodiscard]] std::set<int> producers() const { return united(&ForwardSite::producers); }
  [[nodiscard]] std::set<int> openers() const { return united(&ForwardSite::openers); }
  [[nodiscard]] std::set<int> receivers() const { return united(&ForwardSite::receivers); }
  [[nodiscard]] Kernels kernels(const CommunicationGraph& graph) const {
    return kernels_of(graph, united(&ForwardSite::kernels));
  }
  /// That only open rounds.
  [[nodiscard]] Kernels opening_kernels(const CommunicationGraph& graph) const {
    std::set<int> ids;
    for (const int at : openers())
      ids.insert(graph.operations[static_cast<std::size_t>(at)].kernel);
    Kernels opening = kernels_of(graph, ids);
    for (const auto* sending : kernels(graph))
      std::erase_if(opening, [&](const auto* other) { return other->span == sending->span; });
    return opening;
  }

 private:
  /// Each text once, whatever it is instantiated with.
  static Kernels kernels_of(const CommunicationGraph& graph, const std::set<int>& ids) {
    Kernels found;
    for (const int id : ids) {
      const auto& kernel = graph.kernels[static_cast<std::size_t>(id)];
      const bool known =
          std::ranges::any_of(found, [&](const auto* other) { return other->span == kernel.span; });
      if (!known) found.push_back(&kernel);
    }
    return found;
  }
  [[nodiscard]] std::set<int> united(std::set<int> ForwardSite::* part) const {
    std::set<int> all;
    for (const ForwardSite& site : list)
      all.insert((site.*part).begin(), (site.*part).end());
    return all;
  }
};

Order order_of(const ForwardDesign& design) {
  return design.laned ? Order::SideBySide : Order::AsWritten;
}

/// Plans, and kernels that get them.
Result<void> edit_sends(const CommunicationGraph& graph,
                        std::string_view text,
                        const Sites& sites,
                        Order order,
                        Edits& edits) {
  for (const ForwardSite& site : sites.list) {
    const std::size_t line = text.rfind('\n', site.plan_at) + 1;
    const std::string margin(site.plan_at - line, ' ');
    // Further lines of the exchange are where they were in the block.
    edits.insert(site.plan_at, fmt::format("cuco::{2}([&] {{\n{0}{1}\n{0}}});\n{0}", margin,
                                           indented(with_own_names(site.calls), 2),
                                           site.leaves ? "plan_to_leave" : "plan"));
  }
  const PlannedLaunches launches{sites.producers(), sites.openers(), order == Order::SideBySide};
  for (const auto* kernel : sites.kernels(graph)) {
    CUCO_TRY(forward_stores(graph, text, *kernel, edits));
    CUCO_TRY(pass_forward(graph, text, *kernel, launches, edits));
  }
  for (const auto* kernel : sites.opening_kernels(graph)) {
    CUCO_TRY(open_first(text, *kernel, edits));
    CUCO_TRY(pass_forward(graph, text, *kernel, launches, edits));
  }
  return {};
}

Result<SharedBuffers> shared_by(const CommunicationGraph& graph,
                                std::string_view text,
                                const Sites& sites) {
  const std::set<int> receivers = sites.receivers();
  return share_buffers(graph, text, {receivers.begin(), receivers.end()});
}

/// Lanes, as producers and exchanges that receive straight ask for them.
Result<void> add_lanes_to(const CommunicationGraph& graph,
                          std::string_view text,
                          const Sites& sites,
                          std::map<std::size_t, std::string> names,
                          Additions& additions) {
  lanes::Beside beside{{}, std::move(names)};
  const std::set<int> producers = sites.producers();
  for (const auto& launch : graph.launches) {
    if (producers.contains(launch.operation)) beside.touches[launch.span.begin] = "cuco::sends()";
  }
  CUCO_TRY_ASSIGN(additions.header,
                  lanes::add_lanes(graph, text, {.forwards = true}, beside, additions.edits));
  const auto subject = analysis::find_function(graph.syntax, "cuco_run") != nullptr
                           ? lanes::Subject::SplitWorkload
                           : lanes::Subject::WholeProgram;
  for (const program::Identifier& name : program::identifiers(text)) {
    if (drop_in_for(name.name) != nullptr && !lanes::drop_in_for(name.name, subject).empty())
      additions.renamed.insert(name.begin);
  }
  return {};
}

/// All that is done to the program beside its own collectives.
Result<Additions> edit(const CommunicationGraph& graph,
                       std::string_view text,
                       const Sites& sites,
                       const ForwardDesign& design) {
  Additions additions{Edits(text)};
  CUCO_TRY(edit_sends(graph, text, sites, order_of(design), additions.edits));
  CUCO_TRY_ASSIGN(const SharedBuffers shared, shared_by(graph, text, sites));
  additions.shares_outputs = shared.outputs;
  auto names = drop_ins_for(shared, design.laned);
  if (design.recorded) CUCO_TRY(add_replay(graph, text, additions.edits));
  if (design.laned) {
    CUCO_TRY(add_lanes_to(graph, text, sites, std::move(names), additions));
    return additions;
  }
  for (const program::Identifier& name : program::identifiers(text)) {
    if (const auto other = names.find(name.begin); other != names.end())
      additions.edits.replace(name.begin, name.begin + name.name.size(), other->second);
  }
  return additions;
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

std::size_t place_of(const CommunicationGraph& graph, const Site& site) {
  return static_cast<std::size_t>(&site - graph.sites.data());
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

/// All of it, and where it may change.
bool can_edit(const CommunicationGraph& graph, std::string_view text, const Sites& sites) {
  Edits edits(text);
  auto regions = program::find_regions(text);
  if (!regions || !edit_sends(graph, text, sites, Order::AsWritten, edits)) return false;
  const Changeable changeable(*std::move(regions));
  return std::ranges::all_of(edits.places(), [&](std::size_t at) { return changeable.holds(at); });
}

Tried try_site(const CommunicationGraph& graph,
               std::string_view text,
               const Site& site,
               Storer storer,
               Order order) {
  auto found = find_forward_site(graph, text, site, storer, order);
  if (!found) return {&site, {}, found.error().message()};
  // Kernels that would only open its rounds are left out where their text cannot change.
  if (!found->openers.empty() && !can_edit(graph, text, {{*found}})) found->openers.clear();
  Edits edits(text);
  const Sites alone{{*found}};
  const auto edited = edit_sends(graph, text, alone, order, edits);
  if (!edited) return {&site, {}, edited.error().message()};
  const auto shared = shared_by(graph, text, alone);
  return {&site, *std::move(found), shared ? "" : shared.error().message()};
}

Tried try_site(const CommunicationGraph& graph,
               std::string_view text,
               const Site& site,
               const ForwardDesign& design,
               std::vector<std::string>& refused) {
  const Order order = order_of(design);
  if (!design.by_producers || design.kept_from_producers.contains(place_of(graph, site)))
    return try_site(graph, text, site, Storer::Exchange, order);
  Tried tried = try_site(graph, text, site, Storer::Producers, order);
  tried.found.leaves = tried.found.leaves && design.leaves;
  if (tried.refused.empty() || !design.straight) return tried;
  Tried straight = try_site(graph, text, site, Storer::Exchange, order);
  if (straight.refused.empty())
    refused.push_back(fmt::format("{} by its producers: {}", name_of(site), tried.refused));
  return straight;
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
void add_site(Sites& sites, ForwardSite found) {
  const auto same = std::ranges::find(sites.list, found.plan_at, &ForwardSite::plan_at);
  if (same == sites.list.end()) {
    sites.list.push_back(std::move(found));
    return;
  }
  same->producers.insert(found.producers.begin(), found.producers.end());
  same->kernels.insert(found.kernels.begin(), found.kernels.end());
  same->openers.insert(found.openers.begin(), found.openers.end());
  same->receivers.insert(found.receivers.begin(), found.receivers.end());
  same->leaves = same->leaves && found.leaves;
  same->sites.insert(found.sites.begin(), found.sites.end());
}

Sites usable_sites(const CommunicationGraph& graph,
                   std::string_view text,
                   const ForwardDesign& design,
                   std::vector<std::string>& refused) {
  std::vector<Tried> tried;
  for (const Site& site : graph.sites)
    tried.push_back(try_site(graph, text, site, design, refused));
  refuse_those_that_meet(graph, tried);
  Sites usable;
  for (Tried& one : tried) {
    one.found.sites = {place_of(graph, *one.site)};
    if (one.refused.empty()) {
      add_site(usable, std::move(one.found));
    } else {
      refused.push_back(fmt::format("{}: {}", name_of(*one.site), one.refused));
    }
  }
  return usable;
}

}  // namespace

Result<Forwarded> forward_sends(const CommunicationGraph& graph,
                                std::string_view text,
                                const ForwardDesign& design) {
  Forwarded result;
  const Sites sites = usable_sites(graph, text, design, result.refused);
  if (sites.list.empty()) {
    return no(result.refused.empty() ? "the program does not communicate"
                                     : join(result.refused, "; "));
  }
  CUCO_TRY_ASSIGN(const Additions additions, edit(graph, text, sites, design));
  constexpr int kShare = 4;  // an SM has room for the blocks of several kernels
  const OwnDesign own{
      .blocks = design.blocks, .share = design.laned ? kShare : 0, .forwards = true};
  if (analysis::find_function(graph.syntax, "cuco_setup") != nullptr) {
    CUCO_TRY_ASSIGN(SplitStandalone made, split_with_own_collectives(graph, text, own, &additions));
    result.program = std::move(made.program);
  } else {
    CUCO_TRY_ASSIGN(const Standalone made, with_own_collectives(text, own, &additions));
    result.program = as_one_file(made, made.program);
  }
  result.program = with_short_lines(result.program, text);
  for (const ForwardSite& site : sites.list) {
    ++(site.producers.empty() ? result.straight : result.sites);
    if (!site.producers.empty()) result.by_producers.push_back(site.sites);
    result.leaving += site.leaves ? 1 : 0;
  }
  return result;
}

}  // namespace cuco::expert::forward
