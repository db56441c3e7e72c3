// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/programs/split/split_lines.h"

namespace cuco::cli {
namespace {

using analysis::Span;

/// cudaMemset(…) and cudaMemcpy(…) on the stream that everything is on.
std::string on_stream(std::string text, std::string_view stream) {
  for (const char* name : {"cudaMemset", "cudaMemcpy"}) {
    const std::string call = fmt::format("{}(", name);
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      int depth = 0;
      std::size_t end = at + call.size() - 1;
      for (; end < text.size(); ++end) {
        if (text[end] == '(') ++depth;
        if (text[end] == ')' && --depth == 0) break;
      }
      if (end == text.size()) break;
      text.insert(end, fmt::format(", {}", stream));
      text.insert(at + call.size() - 1, "Async");
    }
  }
  return text;
}

std::string state_of(const SplitPlan& plan) {
  std::string text = "struct State {\n  cuco_context context;\n";
  for (const SplitBuffer& buffer : plan.buffers) {
    if (buffer.role == Role::Scratch)
      text += line(fmt::format("{}{} = nullptr;", buffer.type, buffer.name));
  }
  for (const SplitHandle& handle : plan.handles)
    text += line(fmt::format("{} {} = nullptr;", handle.type, handle.name));
  const bool forks = std::ranges::any_of(plan.handles, &SplitHandle::is_stream);
  if (forks) text += line("cudaEvent_t cuco_between = nullptr;  // to and from the judge's stream");
  return text + "};\n\n";
}

/// Names of what the state keeps, as the program calls them.
std::string state_names(const SplitPlan& plan, std::string_view state) {
  std::string text;
  for (const SplitBuffer& buffer : plan.buffers) {
    if (buffer.role == Role::Scratch)
      text += line(fmt::format("[[maybe_unused]] auto& {0} = {1}{0};", buffer.name, state));
  }
  for (const SplitHandle& handle : plan.handles)
    text += line(fmt::format("[[maybe_unused]] auto& {0} = {1}{0};", handle.name, state));
  return text;
}

std::string setup_of(const SplitPlan& plan, std::string_view text) {
  std::string made =
      "int setup(const cuco_context& context, State** made) {\n"
      "  auto* state = new State{context};\n  *made = state;\n";
  made += given_lines(plan, "context.rank", "context.ranks", "context.comm", "context.params");
  made += state_names(plan, "state->");
  for (const Span& span : plan.made)
    made += line(edited(text, span, {}));
  if (std::ranges::any_of(plan.handles, &SplitHandle::is_stream)) {
    made += line(
        "if (cudaEventCreateWithFlags(&state->cuco_between, cudaEventDisableTiming) != "
        "cudaSuccess) return 1;");
  }
  return made + "  return cudaGetLastError() == cudaSuccess ? 0 : 1;\n}\n\n";
}

std::string buffers_of_run(const SplitPlan& plan) {
  std::string text;
  int inputs = 0;
  int outputs = 0;
  for (const SplitBuffer& buffer : plan.buffers) {
    if (is_output(buffer)) {
      text += line(fmt::format("{0}{1} = ({0})context.outputs[set * context.n_outputs + {2}];",
                               buffer.type, buffer.name, outputs));
    } else if (is_input(buffer)) {
      text += line(fmt::format("{0}{1} = ({0})context.inputs[set * context.n_inputs + {2}];",
                               buffer.type, buffer.name, inputs));
    }
    if (buffer.role == Role::InputAndOutput) {
      text +=
          line(fmt::format("cudaMemcpyAsync({0}, context.inputs[set * context.n_inputs + {1}], "
                           "context.output_bytes[{2}], cudaMemcpyDeviceToDevice, cuco_stream);",
                           buffer.name, inputs, outputs));
    }
    inputs += is_input(buffer) ? 1 : 0;
    outputs += is_output(buffer) ? 1 : 0;
  }
  return text;
}

std::string run_of(const SplitPlan& plan, std::string_view text) {
  std::vector<SplitEdit> edits = plan.left_out;
  edits.insert(edits.end(), plan.default_stream.begin(), plan.default_stream.end());
  std::string made =
      "int run(State& state, int set, cudaStream_t cuco_stream) {\n"
      "  const cuco_context& context = state.context;\n";
  made += given_lines(plan, "context.rank", "context.ranks", "context.comm", "context.params");
  if (!plan.stream.empty())
    made += line(fmt::format("const cudaStream_t {} = cuco_stream;", plan.stream));
  made += state_names(plan, "state.");
  made += buffers_of_run(plan);
  for (const std::string& pointer : plan.pointers)
    made += line(pointer);
  std::string fork, join;
  for (const SplitHandle& handle : plan.handles) {
    if (!handle.is_stream) continue;
    fork += line(fmt::format("cudaStreamWaitEvent({}, state.cuco_between, 0);", handle.name));
    join += line(fmt::format("cudaEventRecord(state.cuco_between, {});", handle.name));
    join += line("cudaStreamWaitEvent(cuco_stream, state.cuco_between, 0);");
  }
  for (const Span& span : plan.fills)
    made += line(on_stream(edited(text, span, edits), "cuco_stream"));
  if (!fork.empty()) made += line("cudaEventRecord(state.cuco_between, cuco_stream);") + fork;
  for (const Span& span : plan.run)
    made += line(on_stream(edited(text, span, edits), "cuco_stream"));
  return made + join + "  return cudaGetLastError() == cudaSuccess ? 0 : 1;\n}\n\n";
}

std::string teardown_of(const SplitPlan& plan) {
  std::string text = "void teardown(State* state) {\n";
  for (const SplitBuffer& buffer : plan.buffers) {
    if (buffer.role == Role::Scratch)
      text += line(fmt::format("cudaFree(state->{});", buffer.name));
  }
  bool forks = false;
  for (const SplitHandle& handle : plan.handles) {
    forks = forks || handle.is_stream;
    text += line(fmt::format("cuda{}Destroy(state->{});", handle.is_stream ? "Stream" : "Event",
                             handle.name));
  }
  if (forks) text += line("cudaEventDestroy(state->cuco_between);");
  return text + "  delete state;\n}\n\n";
}

}  // namespace

std::string split_program(const SplitPlan& plan,
                          std::string_view text,
                          const SplitSubject& subject) {
  std::string made = fmt::format(
      "// {}, split by `cuco init`. Candidates may change only what is between \"evolve begin\" "
      "and\n"
      "// \"evolve end\".\n// cuco: evolve begin includes\n",
      subject.program);
  std::string includes;
  for (const Span& span : plan.includes)
    includes += edited(text, span, {});
  for (const char* needed : {"#include <cstdlib>\n", "#include <cuda_runtime.h>\n"}) {
    if (includes.find(std::string_view(needed).substr(9, 8)) == std::string::npos)
      includes += needed;
  }
  made += includes + "// cuco: evolve end\n\n#include \"cuco/workload.h\"\n\n";
  made += "// cuco: evolve begin program\n\n" + shim(text) +
          outside_of(plan, text, plan.default_stream);
  made += "\nnamespace {\n\n" + state_of(plan) + setup_of(plan, text) + run_of(plan, text) +
          teardown_of(plan) + "}  // namespace\n\n// cuco: evolve end\n\n";
  return made +
         "extern \"C\" int cuco_setup(const cuco_context* context, void** state) {\n"
         "  return setup(*context, (State**)state);\n}\n\n"
         "extern \"C\" int cuco_run(void* state, int set, cudaStream_t stream) {\n"
         "  return run(*(State*)state, set, stream);\n}\n\n"
         "extern \"C\" void cuco_teardown(void* state) {\n  teardown((State*)state);\n}\n";
}

}  // namespace cuco::cli
