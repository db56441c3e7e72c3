// SPDX-License-Identifier: Apache-2.0
#include "expert/host_designs.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/state_home.h"

namespace cuco::expert {
namespace {

using analysis::OperationKind;
using analysis::Span;

/// Why a design does not apply to this program.
Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// How many pieces of work one run submits to the device, as far as the text shows.
std::ptrdiff_t count_device_work(const analysis::CommunicationGraph& graph) {
  return std::ranges::count_if(graph.operations, [](const analysis::Operation& operation) {
    const bool work =
        operation.kind == OperationKind::Launch || operation.kind == OperationKind::Communicate ||
        operation.kind == OperationKind::Copy || operation.kind == OperationKind::Fill;
    return work && operation.phase == analysis::Phase::Run;
  });
}

/// The first call that a graph capture would reject: waits, blocking copies, allocations.
std::optional<std::string> not_recordable(const analysis::CommunicationGraph& graph) {
  for (const auto& operation : graph.operations) {
    if (operation.phase != analysis::Phase::Run) continue;
    const bool waits = operation.kind == OperationKind::Wait || operation.name == "cudaMemcpy" ||
                       operation.kind == OperationKind::Allocate ||
                       operation.kind == OperationKind::Release;
    if (waits) return operation.name;
  }
  return std::nullopt;
}

}  // namespace

Result<void> add_replay(const analysis::CommunicationGraph& graph,
                        std::string_view text,
                        Edits& edits) {
  CUCO_TRY_ASSIGN(const StateHome home, find_state_home(graph));
  if (count_device_work(graph) < 2) return no("a run is already a single launch");
  if (const auto name = not_recordable(graph))
    return no(fmt::format("a run calls {}, which a graph cannot capture", *name));
  const auto& run = *home.run;
  if (run.parameters.size() != 3) return no("the run takes more than state, set and stream");
  const auto variable = [&](int id) -> const analysis::Variable& {
    return graph.syntax.variables[static_cast<std::size_t>(id)];
  };
  std::vector<std::string> recorded(3);  // how make_replays calls the original
  std::vector<std::string> passed;       // how the new run() does
  const auto& state = variable(run.parameters[home.state_parameter]);
  recorded[home.state_parameter] = state.reference ? "state" : "&state";
  recorded[home.set_parameter] = "set";
  recorded[home.stream_parameter] = "stream";
  for (const int parameter : run.parameters)
    passed.push_back(variable(parameter).name);
  const auto signature = text.substr(run.span.begin, run.body->span.begin - run.span.begin);
  const Values values{{"state", home.record->name},
                      {"context", home.context},
                      {"run", run.name},
                      {"recorded", join(recorded, ", ")},
                      {"passed", join(passed, ", ")},
                      {"signature", std::string(trim(signature))},
                      {"access", home.in_run},
                      {"set", home.set},
                      {"stream", home.stream}};

  edits.insert(home.record->span.begin, "constexpr int kReplays = 16;\n\n");
  edits.insert(home.record->span.end - 1, "  cudaGraphExec_t replays[kReplays] = {};\n");
  // The original gets another name, which the template records; the template's function replays.
  const std::size_t name_at = text.find(run.name + "(", run.span.begin);
  if (name_at == std::string_view::npos || name_at >= run.body->span.begin)
    return no("the name of the function that cuco_run calls is written by a macro");
  edits.insert(name_at + run.name.size(), "_once");
  edits.insert(run.span.end, "\n\n" + std::string(trim(filled("replay.cu", values))));
  // Set-up ends with the recording, for which the function must be known above it.
  const Span last = analysis::returns_in(*home.setup).back();
  if (text.substr(last.begin, last.end - last.begin).find('(') != std::string_view::npos)
    return no("set-up ends with a call, which the recording would have to follow");
  edits.replace(last.begin, last.end,
                fmt::format("return make_replays({});", object_before(home.in_setup)));
  edits.insert(home.setup->span.begin,
               fmt::format("int make_replays({}& state);\n\n", home.record->name));
  return {};
}

Result<std::string> replay_by_graph(const analysis::CommunicationGraph& graph,
                                    std::string_view text) {
  Edits edits(text);
  CUCO_TRY(add_replay(graph, text, edits));
  return with_short_lines(edits.apply(), text);
}

}  // namespace cuco::expert
