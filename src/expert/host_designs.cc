// SPDX-License-Identifier: Apache-2.0
#include "expert/host_designs.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"

namespace cuco::expert {
namespace {

using analysis::Function;
using analysis::Span;

/// Why a design does not apply to this program.
Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

const Function* find(const std::vector<Function>& functions, std::string_view name) {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : &*found;
}

/// The function that does an entry point's work.
const Function* behind(const std::vector<Function>& functions, std::string_view entry) {
  const Function* function = find(functions, entry);
  if (function == nullptr) return nullptr;
  for (const auto& call : function->calls) {
    if (const Function* target = find(functions, call.callee)) return target;
  }
  return nullptr;
}

std::string parameter_of_type(const Function& function, std::string_view type) {
  for (const auto& parameter : function.parameters) {
    if (parameter.type.find(type) != std::string::npos) return parameter.name;
  }
  return {};
}

/// How many pieces of work one call of `function` submits to the device, as far as the text shows.
int count_device_work(const analysis::CommunicationGraph& graph, const Function& function) {
  int count = 0;
  for (const auto& call : function.calls) {
    const std::string_view name = call.callee;
    if (call.launch || name.starts_with("cudaMemcpy") || name.starts_with("cudaMemset") ||
        (name.starts_with("nccl") && !name.starts_with("ncclGroup"))) {
      ++count;
    } else if (const Function* called = find(graph.functions, name);
               called != nullptr && called != &function) {
      count += count_device_work(graph, *called);
    }
  }
  return count;
}

/// The first call that a graph capture would reject: waits, blocking copies, allocations.
std::optional<std::string> not_recordable(const analysis::CommunicationGraph& graph,
                                          const Function& function) {
  for (const auto& call : function.calls) {
    for (const char* name : {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpy",
                             "cudaEventSynchronize", "cudaMalloc", "cudaFree"}) {
      if (call.callee == name) return std::string(name);
    }
    const Function* called = find(graph.functions, call.callee);
    if (called == nullptr || called == &function) continue;
    if (auto name = not_recordable(graph, *called)) return name;
  }
  return std::nullopt;
}

/// The second of the four arguments between <<< and >>>.
std::optional<Span> block_argument(std::string_view text, const Span& launch) {
  std::size_t at = text.find("<<<", launch.begin);
  if (at == std::string_view::npos || at >= launch.end) return std::nullopt;
  int depth = 0;
  std::size_t begin = 0;
  for (at += 3; at < launch.end && text.substr(at, 3) != ">>>"; ++at) {
    if (text[at] == '(' || text[at] == '{') ++depth;
    if (text[at] == ')' || text[at] == '}') --depth;
    if (text[at] != ',' || depth != 0) continue;
    if (begin != 0) return Span{begin, at};
    begin = at + 1;
  }
  return begin != 0 ? std::optional(Span{begin, at}) : std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Result<std::string> replay_by_graph(const analysis::CommunicationGraph& graph,
                                    std::string_view text) {
  const Function* setup = behind(graph.functions, "cuco_setup");
  const Function* run = behind(graph.functions, "cuco_run");
  if (setup == nullptr || run == nullptr || setup->returns.empty())
    return no("the entry points do not call functions of the program");
  if (count_device_work(graph, *run) < 2) return no("a run is already a single launch");
  if (const auto name = not_recordable(graph, *run))
    return no(fmt::format("a run calls {}, which a graph cannot capture", *name));
  const auto state = std::ranges::find_if(graph.records, [](const analysis::Record& record) {
    return record.name == "State" &&
           std::ranges::find(record.fields, "context") != record.fields.end();
  });
  if (state == graph.records.end()) return no("there is no struct State with a context");
  const std::string made = parameter_of_type(*setup, "State **");
  if (made.empty() || run->parameters.size() != 3 ||
      run->parameters[0].type.find("State &") == std::string::npos)
    return no("set-up does not take a State**, or run() does not take State&, set and stream");

  Edits edits(text);
  edits.insert(state->span.begin, "constexpr int kReplays = 16;\n\n");
  edits.insert(state->span.end - 1, "  cudaGraphExec_t replays[kReplays] = {};\n");
  const std::size_t name_at = text.find("run(", run->span.begin);
  if (run->name != "run" || name_at == std::string_view::npos || name_at >= run->body.begin)
    return no("the function that cuco_run calls is not named run");
  // The original becomes run_once(), which the template records; the template's run() replays.
  edits.replace(name_at, name_at + 3, "run_once");
  edits.insert(run->span.end, "\n\n" + std::string(trim(filled("replay.cu", {}))));
  // Set-up ends with the recording, for which the function must be known above it.
  const Span last = setup->returns.back();
  edits.replace(last.begin, last.end, fmt::format("return make_replays(**{});", made));
  edits.insert(setup->span.begin, "int make_replays(State& state);\n\n");
  return with_short_lines(edits.apply());
}

Result<std::string> with_block_size(const analysis::CommunicationGraph& graph,
                                    std::string_view text,
                                    int threads) {
  Edits edits(text);
  int changed = 0;
  for (const analysis::Launch& launch : graph.launches) {
    const analysis::Kernel& kernel = graph.kernels[static_cast<std::size_t>(launch.kernel)];
    const std::string_view body =
        text.substr(kernel.span.begin, kernel.span.end - kernel.span.begin);
    // A kernel that does not read its block size has it built in.
    if (body.find("blockDim.x") == std::string_view::npos) continue;
    const auto block = block_argument(text, launch.span);
    if (!block) continue;
    const std::string_view now = trim(text.substr(block->begin, block->end - block->begin));
    // A named block size may be used elsewhere, too; a literal is only the launch's.
    if (!is_number(now) || now == std::to_string(threads)) continue;
    edits.replace(block->begin, block->end, fmt::format(" {}", threads));
    ++changed;
  }
  if (changed == 0) return no("no launch passes a block size that its kernel reads");
  return edits.apply();
}

}  // namespace cuco::expert
