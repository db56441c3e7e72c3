// SPDX-License-Identifier: Apache-2.0
#include "analysis/graph_flow.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "analysis/syntax_query.h"

namespace cuco::analysis {
namespace {

bool is_work(const Operation& operation) {
  return operation.kind == OperationKind::Launch || operation.kind == OperationKind::Communicate;
}

bool moves_data(const Operation& operation) {
  return is_work(operation) || operation.kind == OperationKind::Copy ||
         operation.kind == OperationKind::Fill;
}

bool intersect(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int item) { return std::ranges::find(b, item) != b.end(); });
}

bool share_loop(const Operation& a, const Operation& b) {
  for (std::size_t i = 0; i < a.nest.size() && i < b.nest.size(); ++i) {
    if (!(a.nest[i].span == b.nest[i].span)) return false;
    if (a.nest[i].kind == NestKind::Loop && b.nest[i].kind == NestKind::Loop) return true;
  }
  return false;
}

// --- Phases
// ---------------------------------------------------------------------------------------

/// How much a region is worth: the work in it, communication first.
std::pair<int, int> worth(const CommunicationGraph& graph, int first, int last) {
  int communicated = 0;
  int launched = 0;
  for (int i = first; i <= last; ++i) {
    const auto kind = graph.operations[static_cast<std::size_t>(i)].kind;
    communicated += kind == OperationKind::Communicate ? 1 : 0;
    launched += kind == OperationKind::Launch ? 1 : 0;
  }
  return {communicated, launched};
}

/// Between the records of the two events whose difference is asked for.
std::optional<TimedRegion> timed_by_events(const CommunicationGraph& graph) {
  std::optional<TimedRegion> best;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const auto& asked = graph.operations[i];
    if (asked.name != "cudaEventElapsedTime" || asked.events.size() < 2) continue;
    TimedRegion region{.clock = "cudaEventRecord"};
    for (std::size_t j = 0; j < i; ++j) {
      const auto& recorded = graph.operations[j];
      if (recorded.kind != OperationKind::RecordEvent) continue;
      if (intersect(recorded.events, {asked.events[0]})) region.first = static_cast<int>(j) + 1;
      if (intersect(recorded.events, {asked.events[1]})) region.last = static_cast<int>(j) - 1;
    }
    if (region.first < 0 || region.last < region.first) continue;
    const auto value = worth(graph, region.first, region.last);
    if (value == std::pair(0, 0)) continue;
    if (!best || value > worth(graph, best->first, best->last)) best = region;
  }
  return best;
}

std::optional<TimedRegion> timed_by_clock(const CommunicationGraph& graph) {
  std::optional<TimedRegion> best;
  int before = -1;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const auto& asked = graph.operations[i];
    if (asked.kind != OperationKind::Clock || asked.name == "cudaEventElapsedTime") continue;
    const int here = static_cast<int>(i);
    if (before >= 0 && worth(graph, before + 1, here - 1) > std::pair(0, 0)) {
      const bool better =
          !best || worth(graph, before + 1, here - 1) > worth(graph, best->first, best->last);
      if (better) best = {asked.name, before + 1, here - 1};
    }
    before = here;
  }
  return best;
}

/// The outermost loop around communication, or around launches where there is none.
std::optional<TimedRegion> repeated_region(const CommunicationGraph& graph) {
  for (const auto kind : {OperationKind::Communicate, OperationKind::Launch}) {
    for (const auto& operation : graph.operations) {
      if (operation.kind != kind) continue;
      // A loop that starts threads repeats nothing.
      auto inside = operation.nest.begin();
      for (auto at = inside; at != operation.nest.end(); ++at) {
        if (at->kind == NestKind::Thread) inside = at;
      }
      const auto loop = std::find_if(inside, operation.nest.end(),
                                     [](const Nest& nest) { return nest.kind == NestKind::Loop; });
      if (loop == operation.nest.end()) continue;
      TimedRegion region{.clock = "loop"};
      for (std::size_t i = 0; i < graph.operations.size(); ++i) {
        const auto& other = graph.operations[i];
        if (std::ranges::find(other.nest, *loop) == other.nest.end()) continue;
        if (region.first < 0) region.first = static_cast<int>(i);
        region.last = static_cast<int>(i);
      }
      return region;
    }
  }
  TimedRegion region{.clock = "body"};
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    if (!is_work(graph.operations[i])) continue;
    if (region.first < 0) region.first = static_cast<int>(i);
    region.last = static_cast<int>(i);
  }
  if (region.first < 0) return std::nullopt;
  return region;
}

bool is_workload(const Syntax& syntax) {
  return find_function(syntax, "cuco_run") != nullptr && find_function(syntax, "main") == nullptr;
}

// --- Sites
// ----------------------------------------------------------------------------------------

constexpr std::array<std::pair<std::string_view, Pattern>, 9> kPatterns{{
    {"ncclAllGather", Pattern::AllGather},
    {"ncclAllReduce", Pattern::AllReduce},
    {"ncclReduceScatter", Pattern::ReduceScatter},
    {"ncclBroadcast", Pattern::Broadcast},
    {"ncclBcast", Pattern::Broadcast},
    {"ncclReduce", Pattern::Reduce},
    {"ncclAlltoAll", Pattern::AllToAll},
    {"ncclGather", Pattern::Gather},
    {"ncclScatter", Pattern::Scatter},
}};

std::size_t loops(const Operation& operation) {
  return static_cast<std::size_t>(std::ranges::count(operation.nest, NestKind::Loop, &Nest::kind));
}

/// Sends and receives: to all, if each round of a loop inside the group has another peer; between
/// some, if a condition tells who does what; else to neighbours.
Pattern pattern_of(const CommunicationGraph& graph, const Site& site, const Operation* begin) {
  const auto& first = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
  for (const auto& [name, pattern] : kPatterns) {
    if (first.name == name) return pattern;
  }
  bool conditional = false;
  for (const int index : site.collectives) {
    const auto& call = graph.collectives[static_cast<std::size_t>(index)];
    const auto& operation = graph.operations[static_cast<std::size_t>(call.operation)];
    const std::size_t outside = begin == nullptr ? 0 : loops(*begin);
    if (call.peer_varies && loops(operation) > outside) return Pattern::AllToAll;
    const std::size_t around = begin == nullptr ? 0 : begin->nest.size();
    for (std::size_t i = around; i < operation.nest.size(); ++i) {
      conditional |=
          operation.nest[i].kind == NestKind::If || operation.nest[i].kind == NestKind::Else;
    }
  }
  return conditional ? Pattern::Transfer : Pattern::Shift;
}

void add_unique(std::vector<int>& list, const std::vector<int>& more) {
  for (const int item : more) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
  }
}

bool conflict(const Operation& a, const Operation& b) {
  return intersect(a.writes, b.reads) || intersect(a.reads, b.writes) ||
         intersect(a.writes, b.writes);
}

/// What each operation touches; a group of sends and receives does so as one.
std::vector<Operation> joined_groups(const CommunicationGraph& graph) {
  auto operations = graph.operations;
  for (auto& operation : operations) {
    if (operation.kind != OperationKind::Communicate || operation.group < 0) continue;
    for (const auto& other : graph.operations) {
      if (other.group != operation.group || other.kind != operation.kind) continue;
      add_unique(operation.reads, other.reads);
      add_unique(operation.writes, other.writes);
    }
  }
  return operations;
}

/// Which operations come before or after which because of what they touch, within one round.
std::vector<std::vector<bool>> reachability(const CommunicationGraph& graph) {
  const auto count = graph.operations.size();
  const auto operations = joined_groups(graph);
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (std::size_t to = 0; to < count; ++to) {
    for (std::size_t from = to; from-- > 0;) {
      const auto& a = operations[from];
      const auto& b = operations[to];
      if (!moves_data(a) || !moves_data(b) || exclude_each_other(a, b)) continue;
      if (!conflict(a, b)) continue;
      reaches[from][to] = true;
      for (std::size_t before = 0; before < from; ++before) {
        if (reaches[before][from]) reaches[before][to] = true;
      }
    }
  }
  return reaches;
}

void find_flows(const CommunicationGraph& graph,
                const std::vector<std::vector<bool>>& reaches,
                Site& site) {
  std::set<int> own;
  for (const int index : site.collectives)
    own.insert(graph.collectives[static_cast<std::size_t>(index)].operation);
  const int first = *own.begin();
  const int last = *own.rbegin();
  const auto& here = graph.operations[static_cast<std::size_t>(first)];
  std::vector<Flow> before_set_up;
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i) {
    const auto& operation = graph.operations[static_cast<std::size_t>(i)];
    if (own.contains(i) || !moves_data(operation)) continue;
    const bool next_round = share_loop(operation, here);
    const bool same_phase = operation.phase == here.phase;
    if (intersect(operation.writes, site.send_buffers)) {
      if (i < first && same_phase) site.producers.push_back({i, false});
      if (i < first && !same_phase) before_set_up.push_back({i, false});
      if (i > last && next_round) site.producers.push_back({i, true});
    }
    if (intersect(operation.reads, site.receive_buffers)) {
      if (i > last) site.consumers.push_back({i, false});
      if (i < first && next_round) site.consumers.push_back({i, true});
    }
    const auto at = static_cast<std::size_t>(i);
    const bool tied = std::ranges::any_of(own, [&](int mine) {
      const auto m = static_cast<std::size_t>(mine);
      return reaches[at][m] || reaches[m][at];
    });
    const bool beside = same_phase && operation.kind != OperationKind::Communicate;
    if (beside && !tied && !exclude_each_other(operation, here)) site.independent.push_back(i);
  }
  // What set-up has written is sent by the first round only, unless nothing else writes it.
  if (site.producers.empty()) site.producers = before_set_up;
}

// --- Anchors
// --------------------------------------------------------------------------------------

/// The functions that an operation is called through, from the entry point down.
std::vector<const Nest*> calls_to(const Operation& operation) {
  std::vector<const Nest*> calls;
  for (const auto& nest : operation.nest) {
    if (nest.kind == NestKind::Call) calls.push_back(&nest);
  }
  return calls;
}

/// The statement of the function `depth` calls down that leads to the operation, not inside a loop
/// or condition.
Span outermost_at(const Operation& operation, std::size_t depth) {
  std::size_t passed = 0;
  for (const auto& nest : operation.nest) {
    if (passed == depth) return nest.span;
    if (nest.kind == NestKind::Call) ++passed;
  }
  return operation.outermost;
}

std::string_view entry_of(const CommunicationGraph& graph) {
  if (find_function(graph.syntax, "main") != nullptr) return "main";
  return "";
}

const Statement* last_return(const Statement& block) {
  const Statement* found = nullptr;
  for (const auto& statement : block.statements) {
    if (statement.kind == StatementKind::Return) found = &statement;
  }
  return found;
}

void find_workload_anchors(CommunicationGraph& graph) {
  if (const auto* setup = function_behind(graph.syntax, "cuco_setup");
      setup != nullptr && setup->body) {
    const auto* end = last_return(*setup->body);
    graph.set_up = end == nullptr
                       ? Anchor{setup->name, setup->body->span.end - 1, setup->body->span.end_line}
                       : Anchor{setup->name, end->span.begin, end->span.line};
  }
  if (const auto* teardown = function_behind(graph.syntax, "cuco_teardown");
      teardown != nullptr && teardown->body) {
    graph.tear_down =
        Anchor{teardown->name, teardown->body->span.begin + 1, teardown->body->span.line};
  }
}

}  // namespace

bool exclude_each_other(const Operation& a, const Operation& b) {
  for (std::size_t i = 0; i < a.nest.size() && i < b.nest.size(); ++i) {
    if (!(a.nest[i].span == b.nest[i].span)) return false;
    const bool sides = (a.nest[i].kind == NestKind::If && b.nest[i].kind == NestKind::Else) ||
                       (a.nest[i].kind == NestKind::Else && b.nest[i].kind == NestKind::If);
    if (sides) return true;
  }
  return false;
}

void find_phases(CommunicationGraph& graph) {
  if (is_workload(graph.syntax)) {
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
      if (graph.operations[i].phase != Phase::Run) continue;
      if (!graph.timed) graph.timed = TimedRegion{"cuco_run", static_cast<int>(i), 0};
      graph.timed->last = static_cast<int>(i);
    }
    return;
  }
  graph.timed = timed_by_events(graph);
  if (!graph.timed) graph.timed = timed_by_clock(graph);
  if (!graph.timed) graph.timed = repeated_region(graph);
  if (!graph.timed) return;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const int at = static_cast<int>(i);
    graph.operations[i].phase = at < graph.timed->first  ? Phase::SetUp
                                : at > graph.timed->last ? Phase::TearDown
                                                         : Phase::Run;
  }
}

void find_sites(CommunicationGraph& graph) {
  std::map<int, std::size_t> groups;
  for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
    const auto& call = graph.collectives[i];
    const int group = graph.operations[static_cast<std::size_t>(call.operation)].group;
    std::size_t at = graph.sites.size();
    if (group >= 0) at = groups.try_emplace(group, at).first->second;
    if (at == graph.sites.size()) {
      graph.sites.push_back({.span = call.statement, .function = call.function});
    }
    auto& site = graph.sites[at];
    site.collectives.push_back(static_cast<int>(i));
    add_unique(site.send_buffers, call.send_buffers);
    add_unique(site.receive_buffers, call.receive_buffers);
  }
  const auto reaches = reachability(graph);
  for (auto& site : graph.sites) {
    const Operation* begin = nullptr;
    const auto& first = graph.collectives[static_cast<std::size_t>(site.collectives.front())];
    const int group = graph.operations[static_cast<std::size_t>(first.operation)].group;
    for (const auto& operation : graph.operations) {
      if (group < 0 || operation.group != group || operation.function != site.function) continue;
      if (operation.kind == OperationKind::BeginGroup) {
        begin = &operation;
        site.span = operation.statement;
      }
      if (operation.kind == OperationKind::EndGroup && begin != nullptr) {
        site.span.end = operation.statement.end;
        site.span.end_line = operation.statement.end_line;
      }
    }
    site.pattern = pattern_of(graph, site, begin);
    find_flows(graph, reaches, site);
    for (const int index : site.collectives) {
      auto& call = graph.collectives[static_cast<std::size_t>(index)];
      for (const auto& [flows, kernels] : {std::pair{&site.producers, &call.producers},
                                           std::pair{&site.consumers, &call.consumers}}) {
        for (const auto& flow : *flows) {
          const auto& operation = graph.operations[static_cast<std::size_t>(flow.operation)];
          const auto& touched = kernels == &call.producers ? operation.writes : operation.reads;
          const auto& moved = kernels == &call.producers ? call.send_buffers : call.receive_buffers;
          if (operation.kernel >= 0 && intersect(touched, moved)) {
            add_unique(*kernels, {operation.kernel});
          }
        }
      }
      std::ranges::sort(call.producers);
      std::ranges::sort(call.consumers);
    }
  }
}

void find_anchors(CommunicationGraph& graph) {
  if (is_workload(graph.syntax)) return find_workload_anchors(graph);
  if (!graph.timed) return;
  // The deepest function that sees communicators and buffers come, be used, and go.
  std::vector<const Operation*> all;
  for (const auto& operation : graph.operations) {
    const bool life = operation.kind == OperationKind::Create ||
                      operation.kind == OperationKind::Allocate || is_work(operation);
    // What runs in threads is set up and torn down in them.
    const bool in_thread = std::ranges::any_of(
        operation.nest, [](const Nest& nest) { return nest.kind == NestKind::Thread; });
    if (life && in_thread == graph.threads) all.push_back(&operation);
  }
  if (all.empty()) return;
  std::size_t depth = calls_to(*all.front()).size();
  for (const auto* operation : all) {
    const auto a = calls_to(*all.front());
    const auto b = calls_to(*operation);
    std::size_t same = 0;
    while (same < a.size() && same < b.size() && *a[same] == *b[same])
      ++same;
    depth = std::min(depth, same);
  }
  const auto chain = calls_to(*all.front());
  const std::string function = depth > 0                 ? chain[depth - 1]->text
                               : entry_of(graph).empty() ? all.front()->function
                                                         : std::string(entry_of(graph));
  // Warm-up rounds are work as well: what is needed has to be there before the first.
  const auto first = std::ranges::find_if(graph.operations, is_work);
  if (first == graph.operations.end()) return;
  const auto begin = outermost_at(*first, depth);
  graph.set_up = Anchor{function, begin.begin, begin.line};
  const Operation* last = nullptr;
  for (const auto& operation : graph.operations) {
    if (moves_data(operation)) last = &operation;
  }
  const auto end = outermost_at(*last, depth);
  graph.tear_down = Anchor{function, end.end, end.end_line};
}

}  // namespace cuco::analysis
