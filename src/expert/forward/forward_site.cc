// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward_site.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "analysis/graph_flow.h"
#include "expert/forward/call_chain.h"
#include "expert/forward/plan_text.h"
#include "expert/lanes/launch_touches.h"

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Operation;
using analysis::OperationKind;
using analysis::Pattern;
using analysis::Site;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool intersect(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int item) { return std::ranges::find(b, item) != b.end(); });
}

/// Only moves bytes: what arrives is what was stored.
bool moves_bytes(Pattern pattern) {
  constexpr auto kMoving = std::to_array({Pattern::AllGather, Pattern::Broadcast, Pattern::AllToAll,
                                          Pattern::Shift, Pattern::Transfer});
  return std::ranges::find(kMoving, pattern) != kMoving.end();
}

/// With the begin and the end of its group.
std::vector<int> operations_of(const CommunicationGraph& graph, const Site& site) {
  std::vector<int> found;
  std::set<int> groups;
  for (const int index : site.collectives) {
    const int at = graph.collectives[static_cast<std::size_t>(index)].operation;
    found.push_back(at);
    groups.insert(graph.operations[static_cast<std::size_t>(at)].group);
  }
  groups.erase(-1);
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    const bool border =
        operation.kind == OperationKind::BeginGroup || operation.kind == OperationKind::EndGroup;
    if (border && groups.contains(operation.group)) found.push_back(static_cast<int>(i));
  }
  std::ranges::sort(found);
  return found;
}

class Finder {
 public:
  Finder(const CommunicationGraph& graph,
         std::string_view text,
         const Site& site,
         Storer storer,
         Order order)
      : graph_(graph),
        text_(text),
        site_(site),
        storer_(storer),
        order_(order),
        own_(operations_of(graph, site)) {}

  Result<ForwardSite> find() {
    found_.receivers.insert(site_.receive_buffers.begin(), site_.receive_buffers.end());
    if (!moves_bytes(site_.pattern)) return no("it reduces, or has no messages of its own");
    if (site_.send_buffers.empty() && site_.receive_buffers.empty())
      return no("what it sends and receives is not known");
    CUCO_TRY(check_sides());
    if (storer_ == Storer::Producers) CUCO_TRY(find_producers());
    CUCO_TRY(check_streams());
    if (storer_ == Storer::Producers) CUCO_TRY(check_between());
    CUCO_TRY(place_plan());
    found_.leaves = storer_ == Storer::Producers && is_only_sent();
    return std::move(found_);
  }

 private:
  const Operation& operation(int i) const { return graph_.operations[static_cast<std::size_t>(i)]; }

  /// Messages meet those of the same text on other ranks.
  Result<void> check_sides() const {
    bool sends = false;
    bool receives = false;
    for (const int index : site_.collectives) {
      const std::string& name = graph_.collectives[static_cast<std::size_t>(index)].name;
      sends = sends || name != "ncclRecv";
      receives = receives || name != "ncclSend";
    }
    if (!sends || !receives) return no("its other side is another call");
    return {};
  }

  /// Launches of the same round that write what is sent.
  Result<void> find_producers() {
    const Operation& begin = operation(own_.front());
    for (const auto& flow : site_.producers) {
      const Operation& made = operation(flow.operation);
      if (flow.next_round || !is_in_loops_of(made, begin)) continue;
      if (made.kind != OperationKind::Launch) continue;
      if (made.kernel < 0) return no(fmt::format("the text of {} is not known", made.name));
      found_.producers.insert(flow.operation);
      found_.kernels.insert(made.kernel);
    }
    if (found_.producers.empty()) return no("no kernel of the same round makes what it sends");
    return {};
  }

  /// Peers may write when the first producer starts: all that is at the memory must be before it.
  Result<void> check_streams() const {
    const auto& call = graph_.collectives[static_cast<std::size_t>(site_.collectives.front())];
    const int stream = operation(call.operation).stream;
    const analysis::Phase phase = operation(call.operation).phase;
    for (const Operation& other : graph_.operations) {
      const bool works = other.kind == OperationKind::Launch || other.kind == OperationKind::Copy ||
                         other.kind == OperationKind::Fill ||
                         other.kind == OperationKind::Communicate;
      const bool touches = intersect(other.reads, site_.receive_buffers) ||
                           intersect(other.writes, site_.receive_buffers) ||
                           intersect(other.writes, site_.send_buffers);
      if (works && touches && other.phase == phase && other.stream != stream)
        return no(fmt::format("{} in line {} is on another stream than the exchange", other.name,
                              other.span.line));
    }
    return {};
  }

  /// From the first producer to the exchange.
  Result<void> check_between() const {
    for (int i = *found_.producers.begin(); i < own_.front(); ++i) {
      const Operation& other = operation(i);
      const auto refuse = [&](std::string_view what) {
        return no(fmt::format("{} in line {} {}", other.name, other.span.line, what));
      };
      if (other.kind == OperationKind::Communicate)
        return refuse("is another exchange between the kernels and this one");
      if (intersect(other.reads, site_.receive_buffers))
        return refuse("reads what may be received by then");
      const bool writes = intersect(other.writes, site_.receive_buffers) ||
                          intersect(other.writes, site_.send_buffers);
      // A kernel that makes what is sent knows what is received, and leaves it alone.
      if (writes && !found_.producers.contains(i))
        return refuse("writes what is sent or received, and is no kernel that can send it");
    }
    return {};
  }

  /// The kernels alone make it, each time, and only the exchange reads it.
  bool is_only_sent() const {
    const bool ours = std::ranges::all_of(site_.send_buffers, [&](int buffer) {
      return graph_.buffers[static_cast<std::size_t>(buffer)].role == analysis::BufferRole::Scratch;
    });
    for (std::size_t i = 0; ours && i < graph_.operations.size(); ++i) {
      if (std::ranges::find(own_, static_cast<int>(i)) != own_.end()) continue;
      const Operation& other = graph_.operations[i];
      const bool makes = found_.producers.contains(static_cast<int>(i));
      if (intersect(other.reads, site_.send_buffers)) return false;
      if (!makes && intersect(other.writes, site_.send_buffers)) return false;
    }
    return ours;
  }

  Result<void> place_plan() {
    std::vector<int> all(found_.producers.begin(), found_.producers.end());
    const std::size_t producers = all.size();
    all.insert(all.end(), own_.begin(), own_.end());
    CUCO_TRY_ASSIGN(const CommonBlock common, common_block(graph_, all));
    const auto middle = common.statements.begin() + static_cast<std::ptrdiff_t>(producers);
    const auto [begin, end] = std::minmax_element(middle, common.statements.end());
    std::size_t first = *begin;
    if (producers > 0) {
      const auto [least, most] = std::minmax_element(common.statements.begin(), middle);
      if (*most >= *begin) return no("one statement both makes the data and sends it");
      first = *least;
    }
    const PlannedStatements planned{common.block, first, *begin, *end + 1};
    CUCO_TRY(check_exchange(common, planned));
    CUCO_TRY(plan(planned));
    if (producers > 0 && order_ == Order::AsWritten) plan_earlier(std::move(all), planned);
    return {};
  }

  Result<void> plan(const PlannedStatements& planned) {
    const auto& span = planned.block->statements[planned.first].span;
    if (span.from_macro) return no("a macro writes the statement before which it is planned");
    CUCO_TRY_ASSIGN(found_.calls, plan_text(graph_, text_, planned));
    found_.plan_at = span.begin;
    return {};
  }

  /// Before kernels that have nothing to do with what is received, so that these open the round:
  /// as far up as straight code and such kernels go.
  void plan_earlier(std::vector<int> all, PlannedStatements planned) {
    int first = *found_.producers.begin();
    while (first > 0 && may_open(first - 1))
      --first;
    for (int i = own_.front() - 1; i >= first; --i) {
      if (found_.producers.contains(i) || !may_open(i) || is_behind_a_producer(i)) continue;
      all.push_back(i);
      const auto common = common_block(graph_, all);
      all.pop_back();
      if (!common || common->block != planned.block) continue;
      const std::size_t at = common->statements.back();
      if (at < planned.first) {
        PlannedStatements earlier = planned;
        earlier.first = at;
        if (!is_straight(planned, at) || !plan(earlier)) return;
        planned = earlier;
      }
      found_.openers.insert(i);
    }
  }

  bool is_behind_a_producer(int i) const {
    return std::ranges::any_of(found_.producers, [&](int producer) {
      return producer < i && !analysis::exclude_each_other(operation(producer), operation(i));
    });
  }

  /// A kernel on the same stream, of which it is known that it does not touch what is received.
  bool may_open(int i) const {
    const Operation& other = operation(i);
    const auto& call = graph_.collectives[static_cast<std::size_t>(site_.collectives.front())];
    const Operation& own = operation(call.operation);
    if (other.kind != OperationKind::Launch || other.kernel < 0) return false;
    const auto& kernel = graph_.kernels[static_cast<std::size_t>(other.kernel)];
    return lanes::is_seen_by_arguments(graph_, kernel) && other.phase == own.phase &&
           other.stream == own.stream && !intersect(other.reads, site_.receive_buffers) &&
           !intersect(other.writes, site_.receive_buffers);
  }

  /// Whether there are only launches and declarations from a statement to the plan: what is planned
  /// before them comes.
  static bool is_straight(const PlannedStatements& planned, std::size_t from) {
    const auto& statements = planned.block->statements;
    return std::all_of(
        statements.begin() + static_cast<std::ptrdiff_t>(from),
        statements.begin() + static_cast<std::ptrdiff_t>(planned.first),
        [](const analysis::Statement& statement) {
          return statement.kind == analysis::StatementKind::Declare ||
                 (statement.value && statement.value->kind == analysis::ExpressionKind::Launch);
        });
  }

  /// The statements of the exchange do nothing else.
  Result<void> check_exchange(const CommonBlock& common, const PlannedStatements& planned) const {
    const std::size_t begin = common.block->statements[planned.begin].span.begin;
    const std::size_t end = common.block->statements[planned.end - 1].span.end;
    for (int i = own_.front(); i <= own_.back(); ++i) {
      if (std::ranges::find(own_, i) != own_.end()) continue;
      const Operation& other = operation(i);
      return no(fmt::format("{} in line {} stands in the middle of the exchange", other.name,
                            other.span.line));
    }
    for (const Operation& other : graph_.operations) {
      const bool inside = std::ranges::any_of(other.nest, [&](const analysis::Nest& nest) {
        return nest.kind == analysis::NestKind::Call && nest.span.begin >= begin &&
               nest.span.end <= end;
      });
      const bool calls = other.kind == OperationKind::Communicate ||
                         other.kind == OperationKind::BeginGroup ||
                         other.kind == OperationKind::EndGroup;
      if (inside && !calls)
        return no(fmt::format("the function of the exchange also calls {} in line {}", other.name,
                              other.span.line));
    }
    return {};
  }

  const CommunicationGraph& graph_;
  std::string_view text_;
  const Site& site_;
  Storer storer_;
  Order order_;
  std::vector<int> own_;
  ForwardSite found_;
};

}  // namespace

Result<ForwardSite> find_forward_site(const CommunicationGraph& graph,
                                      std::string_view text,
                                      const Site& site,
                                      Storer storer,
                                      Order order) {
  return Finder(graph, text, site, storer, order).find();
}

}  // namespace cuco::expert::forward
