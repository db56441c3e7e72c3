// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/lanes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "expert/edit.h"
#include "expert/lanes/launch_touches.h"
#include "expert/lanes/run_rules.h"
#include "expert/standalone/changeable.h"
#include "expert/state_home.h"
#include "program/tokens.h"

namespace cuco::expert::lanes {
namespace {

using analysis::CommunicationGraph;
using analysis::Function;
using analysis::Syntax;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The name of the parameter that is the run's stream; empty if there is none.
std::string stream_of(const Syntax& syntax, const Function& function) {
  const std::string access = access_through(syntax, function.parameters, "CUstream_st");
  return access.ends_with("->") && !access.starts_with("(") ? access.substr(0, access.size() - 2)
                                                            : "";
}

/// Behind the brace that opens the function.
void insert_first(Edits& edits, const Function& function, const std::string& statement) {
  edits.insert(function.body->span.begin + 1, "\n  " + statement);
}

/// What does not fit into the line begins a new one.
std::string on_its_line(std::string_view text, const StreamEdit& edit) {
  constexpr std::size_t kWidth = 100;
  const std::size_t begin = text.rfind('\n', edit.begin) + 1;
  const std::size_t end = std::min(text.find('\n', edit.end), text.size());
  const std::string_view line = text.substr(begin, end - begin);
  if (line.size() - (edit.end - edit.begin) + edit.text.size() <= kWidth ||
      edit.text.starts_with(","))
    return edit.text;
  const std::size_t indent = line.find_first_not_of(' ') + 4;
  return "\n" + std::string(indent, ' ') + edit.text;
}

/// Lanes are opened in set-up, joined at the end of a run, and closed in teardown.
Result<void> add_frame(const Syntax& syntax, const Changeable& changeable, Edits& edits) {
  const auto context_in = [&](const Function& function) {
    return access_through(syntax, function.parameters, "cuco_context");
  };
  const Function* setup = changeable.function_for(
      syntax, "cuco_setup",
      [&](const Function& function) { return !context_in(function).empty(); });
  if (setup == nullptr)
    return no("no function of set-up that may change is given the workload's context");
  const Function* run = changeable.function_for(syntax, "cuco_run", [&](const Function& function) {
    return !stream_of(syntax, function).empty();
  });
  if (run == nullptr) return no("no function of the run that may change is given its stream");
  const Function* teardown =
      changeable.function_for(syntax, "cuco_teardown", [](const Function&) { return true; });
  if (teardown == nullptr) return no("no function of teardown may change");
  insert_first(edits, *setup,
               fmt::format("cuco::lanes_open({});", object_before(context_in(*setup))));
  insert_first(edits, *run, fmt::format("const cuco::Joined joined({});", stream_of(syntax, *run)));
  insert_first(edits, *teardown, "cuco::lanes_close();");
  return {};
}

}  // namespace

Result<std::string> add_lanes(const CommunicationGraph& graph,
                              std::string_view text,
                              const Design& design,
                              const Beside& beside,
                              Edits& edits) {
  const bool split = analysis::find_function(graph.syntax, "cuco_run") != nullptr;
  const Subject subject = split ? Subject::SplitWorkload : Subject::WholeProgram;
  CUCO_TRY(split ? check_run(graph) : check_program(graph));
  CUCO_TRY_ASSIGN(auto regions, program::find_regions(text));
  const Changeable changeable(std::move(regions));
  if (split) CUCO_TRY(add_frame(graph.syntax, changeable, edits));
  CUCO_TRY_ASSIGN(const auto launches, lanes_of_launches(graph, beside.touches));
  for (const StreamEdit& launch : launches) {
    if (!changeable.holds(launch.begin)) {
      return no(fmt::format("the launch in line {} is outside the evolve regions",
                            line_of(text, launch.begin)));
    }
    const std::string lane = on_its_line(text, launch);
    const bool behind_blank = lane.starts_with('\n') && text[launch.begin - 1] == ' ';
    edits.replace(launch.begin - (behind_blank ? 1 : 0), launch.end, lane);
  }
  std::set<std::string_view> calls;
  for (const program::Identifier& name : program::identifiers(text)) {
    const auto other = beside.names.find(name.begin);
    const std::string drop_in =
        other != beside.names.end() ? other->second : drop_in_for(name.name, subject);
    if (drop_in.empty()) continue;
    if (!changeable.holds(name.begin)) {
      return no(fmt::format("{} in line {} is outside the evolve regions", name.name,
                            line_of(text, name.begin)));
    }
    calls.insert(name.name);
    edits.replace(name.begin, name.begin + name.name.size(), drop_in);
  }
  return lanes_header(calls, design, subject);
}

Result<std::string> with_lanes(const CommunicationGraph& graph,
                               std::string_view text,
                               const Design& design) {
  Edits edits(text);
  CUCO_TRY_ASSIGN(const std::string header, add_lanes(graph, text, design, {}, edits));
  CUCO_TRY_ASSIGN(auto regions, program::find_regions(text));
  std::size_t first_use = text.size();
  for (const std::size_t place : edits.places())
    first_use = std::min(first_use, place);
  CUCO_TRY_ASSIGN(
      const std::size_t place,
      Changeable(std::move(regions)).place_of_header(text, program::identifiers(text), first_use));
  edits.insert(place, "\n" + header);
  return with_short_lines(edits.apply(), text);
}

}  // namespace cuco::expert::lanes
