// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/lanes_header.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "analysis/walk/known_calls.h"
#include "base/text.h"
#include "expert/edit.h"
#include "expert/standalone/header_place.h"

namespace cuco::expert::lanes {
namespace {

using analysis::KnownCall;
using analysis::OperationKind;

/// Functions of the runtime, whose drop-ins are in lane_calls.cuh under the same name.
struct RuntimeCall {
  std::string_view name, drop_in;
  bool looks = false;  ///< At a stream: lanes are joined first.
};
constexpr auto kRuntimeCalls = std::to_array<RuntimeCall>({
    {"cudaMalloc", "known_malloc"},
    {"cudaFree", "known_free"},
    {"cudaMemcpyAsync", "lane_copy"},
    {"cudaMemsetAsync", "lane_fill"},
    {"cudaStreamSynchronize", "lane_synchronize", true},
    {"cudaStreamDestroy", "lane_destroy", true},
    {"cudaEventRecord", "lane_record", true},
    {"cudaStreamWaitEvent", "lane_wait_event", true},
    {"cudaMemcpy", "lane_copy_now", true},
    {"cudaMemset", "lane_fill_now", true},
});

/// "ncclAllGather" is "all_gather".
std::string snake(std::string_view nccl) {
  std::string result;
  for (const char c : nccl.substr(std::string_view("nccl").size())) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !result.empty()) result += '_';
    result += static_cast<char>(upper ? c - 'A' + 'a' : c);
  }
  return result;
}

/// A function that makes one call of a communicator an operation.
std::string exchange(const KnownCall& call, const Design& design) {
  std::vector<std::string> parameters, names;
  const auto add = [&](std::string_view type, std::string_view name) {
    parameters.push_back(fmt::format("{} {}", type, name));
    names.emplace_back(name);
  };
  if (call.read >= 0) add("const void*", "from");
  if (call.written >= 0) add("void*", "to");
  add("size_t", "count");
  add("ncclDataType_t", "type");
  if (call.operation >= 0) add("ncclRedOp_t", "op");
  if (call.peer >= 0) add("int", "peer");
  add("ncclComm_t", "comm");
  const bool is_message = call.read < 0 || call.written < 0;
  const bool broadcasts = call.name == "ncclBcast";
  std::string touches;
  if (call.read >= 0) touches += "touches.add(from, false);\n  ";
  if (broadcasts) touches += "touches.add(to, false);\n  ";
  if (call.written >= 0) touches += "touches.add(to, true);\n  ";
  if (design.forwards) touches += "touches.list.push_back({Exchanges::order(), true});\n  ";
  return fmt::format(
      "inline ncclResult_t lane_{}({}, cudaStream_t stream) {{\n"
      "  Touches touches;\n  {}"
      "return Exchanges::all().add(stream, touches, {{comm, {}, {}}}, [=](cudaStream_t lane) "
      "{{\n"
      "    return {}({}, lane);\n  }});\n}}\n",
      snake(call.name), join(parameters, ", "), touches, is_message && !broadcasts ? "peer" : "-1",
      call.written < 0 ? "true" : "false", call.name, join(names, ", "));
}

/// The part of a template between "// begin NAME" and "// end".
std::string part(std::string_view text, std::string_view name) {
  const std::string begin = fmt::format("// begin {}\n", name);
  const std::size_t at = text.find(begin) + begin.size();
  return std::string(text.substr(at, text.find("// end\n", at) - at));
}

}  // namespace

std::string drop_in_for(std::string_view name, Subject subject) {
  const auto* runtime = std::ranges::find(kRuntimeCalls, name, &RuntimeCall::name);
  if (runtime != kRuntimeCalls.end()) {
    // A workload's run is joined as a whole, and its set-up never left the stream.
    const bool stays = runtime->looks && subject == Subject::SplitWorkload;
    return stays ? "" : fmt::format("cuco::{}", runtime->drop_in);
  }
  const KnownCall* call = analysis::known_call(name);
  const bool exchanges = call != nullptr && (call->kind == OperationKind::Communicate ||
                                             call->kind == OperationKind::BeginGroup ||
                                             call->kind == OperationKind::EndGroup);
  return exchanges ? fmt::format("cuco::lane_{}", snake(name)) : "";
}

std::string lanes_header(const std::set<std::string_view>& calls,
                         const Design& design,
                         Subject subject) {
  const bool exchanges =
      std::ranges::any_of(calls, [](std::string_view name) { return name.starts_with("nccl"); });
  std::string text = filled("cuco_lanes.cuh", {});
  if (exchanges) text += "\n#include <functional>\n";
  text += "\nnamespace cuco {\n\n";
  if (exchanges) {
    text += filled("lane_exchanges.cuh",
                   {{"how", design.in_rounds
                                ? "what is there leaves first. The messages between two ranks\n"
                                  "// keep their order; round n has the n-th of every pair, so the "
                                  "ranks agree on what is in\n// it if they group what they send "
                                  "each other alike."
                                : "a group is one operation."},
                    {"round", design.in_rounds
                                  ? "    int round = 0;\n"
                                    "    for (const Waiting& one : waiting_) round += one.pair == "
                                    "pair ? 1 : 0;\n"
                                    "    return pair.peer < 0 ? 0 : round;"
                                  : "    (void)pair;\n    return 0;"}});
  }
  const std::string runtime = filled("lane_calls.cuh", {});
  for (const std::string_view name : calls) {
    const KnownCall* call = analysis::known_call(name);
    const bool communicates = call != nullptr && call->kind == OperationKind::Communicate;
    text += communicates ? exchange(*call, design) : part(runtime, name);
  }
  if (design.forwards) text += part(runtime, "sends");
  if (subject == Subject::SplitWorkload) text += part(runtime, "given buffers");
  // A whole program joins where it looks at its streams.
  if (subject == Subject::WholeProgram) {
    replace_once(text, "bool active_ = false;", "bool active_ = true;");
    replace_once(text, "    active_ = false;\n", "");
  }
  replace_once(text, "#pragma once\n\n", "");
  return with_short_lines(text + "\n}  // namespace cuco\n");
}

}  // namespace cuco::expert::lanes
