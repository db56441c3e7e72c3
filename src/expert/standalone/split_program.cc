// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/split_program.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "expert/edit.h"
#include "expert/standalone/changeable.h"
#include "expert/standalone/header_place.h"
#include "expert/state_home.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::expert {
namespace {

using analysis::Function;
using analysis::Syntax;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The workload's communicator in terms of a function's parameters; empty if it is not given it.
std::string communicator_in(const Syntax& syntax, const Function& function) {
  const std::string context = access_through(syntax, function.parameters, "cuco_context");
  if (!context.empty()) return context + "comm";
  const std::string comm = access_through(syntax, function.parameters, "ncclComm");
  return comm.ends_with("->") && !comm.starts_with("(") ? comm.substr(0, comm.size() - 2) : "";
}

/// A statement that opens the communicator. What a function that returns no number would say of a
/// failure is not known: the first call says it then.
std::string opening(std::string_view text, const Function& function, const std::string& comm) {
  const auto& body = function.body->span;
  const auto head =
      program::tokens(text.substr(function.span.begin, body.begin - function.span.begin));
  const auto name = std::ranges::find(head, function.name);
  const bool returns_number = name != head.begin() && name != head.end() && *(name - 1) == "int";
  if (!returns_number) return fmt::format("\n  (void)cuco::comm_open({});", comm);
  return fmt::format("\n  if (const int failed = cuco::comm_open({})) return failed;", comm);
}

/// Adds the opening and the closing.
Result<void> add_infrastructure(const analysis::CommunicationGraph& graph,
                                std::string_view text,
                                const Changeable& changeable,
                                bool shares_outputs,
                                Edits& edits) {
  const Syntax& syntax = graph.syntax;
  const Function* setup =
      changeable.function_for(syntax, "cuco_setup", [&](const Function& function) {
        const bool given = !access_through(syntax, function.parameters, "cuco_context").empty();
        return !communicator_in(syntax, function).empty() && (given || !shares_outputs);
      });
  if (setup == nullptr) {
    return no(
        "no function of set-up that may change is given the workload's context or its "
        "communicator");
  }
  const Function* teardown =
      changeable.function_for(syntax, "cuco_teardown", [](const Function&) { return true; });
  if (teardown == nullptr) return no("no function of teardown may change");
  edits.insert(setup->body->span.begin + 1, opening(text, *setup, communicator_in(syntax, *setup)));
  if (shares_outputs) {
    const std::string context = access_through(syntax, setup->parameters, "cuco_context");
    edits.insert(setup->body->span.begin + 1,
                 fmt::format("\n  for (int i = 0; i < {0}sets * {0}n_outputs; ++i) {{\n"
                             "    (void)cuco::comm_share({0}comm, {0}outputs[i], "
                             "{0}output_bytes[i % {0}n_outputs]);\n  }}",
                             context));
  }
  edits.insert(teardown->body->span.begin + 1,
               "\n  (void)cuco::comm_close_all();  // the ranks meet, and nothing is on its way");
  return {};
}

}  // namespace

Result<SplitStandalone> split_with_own_collectives(const analysis::CommunicationGraph& graph,
                                                   std::string_view text,
                                                   const OwnDesign& design,
                                                   const Additions* additions) {
  const auto names = program::identifiers(text);
  CUCO_TRY_ASSIGN(const Uses uses, uses_of(text));
  CUCO_TRY_ASSIGN(auto regions, program::find_regions(text));
  const Changeable changeable(std::move(regions));
  SplitStandalone result;
  Edits prepared(text);
  Edits replaced = additions == nullptr ? Edits(text) : additions->edits;
  std::size_t first_use = text.size();
  for (const std::size_t at : replaced.places()) {
    if (!changeable.holds(at))
      return no(fmt::format("line {} is outside the evolve regions", line_of(text, at)));
    first_use = std::min(first_use, at);
  }
  for (const program::Identifier& name : names) {
    const DropIn* call = drop_in_for(name.name);
    if (call == nullptr) continue;
    if (!changeable.holds(name.begin)) {
      return no(fmt::format("{} in line {} is outside the evolve regions", name.name,
                            line_of(text, name.begin)));
    }
    first_use = std::min(first_use, name.begin);
    if (additions == nullptr || !additions->renamed.contains(name.begin)) {
      replaced.replace(name.begin, name.begin + name.name.size(),
                       fmt::format("cuco::{}", call->own));
    }
    ++result.replaced[std::string(name.name)];
  }
  CUCO_TRY_ASSIGN(const std::size_t place, changeable.place_of_header(text, names, first_use));
  CUCO_TRY_ASSIGN(const std::string header,
                  collectives_header(uses, design, Caller::SplitWorkload, additions));
  std::string headers = headers_as_text(header);
  // Where nothing is marked, what was generated is: it may change.
  if (changeable.regions().empty()) headers = program::as_region("collectives", headers);
  for (Edits* edits : {&prepared, &replaced}) {
    edits->insert(place, "\n" + headers);
    const bool shares = edits == &replaced && additions != nullptr && additions->shares_outputs;
    CUCO_TRY(add_infrastructure(graph, text, changeable, shares, *edits));
  }
  result.infrastructure = prepared.apply();
  result.program = replaced.apply();
  return result;
}

}  // namespace cuco::expert
