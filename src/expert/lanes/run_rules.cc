// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/run_rules.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "analysis/walk/known_calls.h"
#include "expert/kernels/reading/visit.h"
#include "expert/lanes/lanes_header.h"

namespace cuco::expert::lanes {
namespace {

using analysis::CommunicationGraph;
using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Operation;
using analysis::OperationKind;
using analysis::Phase;
using analysis::Syntax;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool is_work(const Operation& operation) {
  return operation.kind == OperationKind::Launch || operation.kind == OperationKind::Communicate ||
         operation.kind == OperationKind::Copy || operation.kind == OperationKind::Fill;
}

/// What a run may call besides giving work to its stream.
bool is_harmless(OperationKind kind) {
  return kind == OperationKind::BeginGroup || kind == OperationKind::EndGroup ||
         kind == OperationKind::SelectDevice;
}

Result<void> check_work(const Operation& operation, Subject subject) {
  const int line = operation.span.line;
  const bool called =
      operation.kind == OperationKind::Launch && operation.configuration.grid.empty();
  const bool replaced =
      operation.kind == OperationKind::Launch || !drop_in_for(operation.name, subject).empty();
  if (called || !replaced || operation.name.starts_with("cudaLaunch"))
    return no(fmt::format("there is no lane for {} in line {}", operation.name, line));
  if (operation.group >= 0 && operation.kind != OperationKind::Communicate)
    return no(fmt::format("{} in line {} is inside a group of NCCL's", operation.name, line));
  return {};
}

Result<void> check_operation(const Operation& operation) {
  if (is_harmless(operation.kind)) return {};
  if (is_work(operation)) return check_work(operation, Subject::SplitWorkload);
  return no(fmt::format("a run calls {} in line {}: it orders its work itself", operation.name,
                        operation.span.line));
}

/// Functions that an entry point leads to, by any name in them.
void add_reachable(const Syntax& syntax, int id, std::set<int>& reached) {
  if (id < 0 || !reached.insert(id).second) return;
  const Function& function = syntax.functions[static_cast<std::size_t>(id)];
  if (!function.body || function.kind != analysis::FunctionKind::Host) return;
  kernels::for_each_expression(*function.body, [&](const Expression& part) {
    add_reachable(syntax, part.function, reached);
  });
}

/// Of CUDA and its libraries; they give no work to the device.
bool only_asks(std::string_view name) {
  constexpr std::array<std::string_view, 8> kPrefixes = {
      "cudaGet",     "cudaPeek",   "cudaFuncSet", "cudaFuncGet",
      "cudaOccupan", "ncclGetErr", "ncclGetLast", "cudaDeviceGet"};
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); }) ||
         name == "cudaEventQuery" || name == "ncclGetUniqueId" || name == "ncclCommCount" ||
         name == "ncclCommUserRank" || name == "cudaCreateChannelDesc";
}

/// A call in a run that may give work to the device without the analysis knowing.
std::optional<std::string> unknown_call(const Syntax& syntax, std::string_view entry) {
  std::set<int> reached;
  for (std::size_t i = 0; i < syntax.functions.size(); ++i) {
    if (syntax.functions[i].name == entry) add_reachable(syntax, static_cast<int>(i), reached);
  }
  std::optional<std::string> found;
  for (const int id : reached) {
    const Function& function = syntax.functions[static_cast<std::size_t>(id)];
    if (!function.body || function.kind != analysis::FunctionKind::Host) continue;
    kernels::for_each_expression(*function.body, [&](const Expression& part) {
      if (part.kind != ExpressionKind::Call || analysis::known_call(part.name) != nullptr) return;
      const bool has_body =
          part.function >= 0 &&
          syntax.functions[static_cast<std::size_t>(part.function)].body.has_value();
      if (has_body || only_asks(part.name)) return;
      const bool of_cuda = part.name.starts_with("cu") || part.name.starts_with("nccl");
      const bool takes_stream = std::ranges::any_of(part.operands, [](const Expression& operand) {
        return operand.type.starts_with("CUstream_st");
      });
      if (of_cuda || takes_stream) found = part.name;
    });
  }
  return found;
}

}  // namespace

Result<void> check_run(const CommunicationGraph& graph) {
  std::set<int> streams;
  int work = 0;
  for (const Operation& operation : graph.operations) {
    if (operation.phase != Phase::Run) continue;
    CUCO_TRY(check_operation(operation));
    if (!is_work(operation)) continue;
    ++work;
    streams.insert(operation.stream);
  }
  if (work < 2) return no("a run gives the GPU one piece of work: there is nothing beside it");
  if (streams.size() > 1) return no("a run uses several streams: it orders its work itself");
  if (graph.threads) return no("several threads give work to the GPU");
  if (const auto name = unknown_call(graph.syntax, "cuco_run"))
    return no(fmt::format("what {} gives to the GPU is not known", *name));
  return {};
}

Result<void> check_program(const CommunicationGraph& graph) {
  std::set<int> streams;
  int work = 0, devices = 0;
  for (const Operation& operation : graph.operations) {
    const bool in_loop = std::ranges::any_of(operation.nest, [](const analysis::Nest& nest) {
      return nest.kind == analysis::NestKind::Loop;
    });
    if (operation.kind == OperationKind::SelectDevice) devices += in_loop ? 2 : 1;
    if (operation.kind == OperationKind::Graph)
      return no(fmt::format("it records graphs itself: {} in line {}", operation.name,
                            operation.span.line));
    const bool ordered =
        operation.kind == OperationKind::Allocate || operation.kind == OperationKind::Release;
    if (ordered && operation.name.ends_with("Async"))
      return no(
          fmt::format("there is no lane for {} in line {}", operation.name, operation.span.line));
    if (!is_work(operation)) continue;
    CUCO_TRY(check_work(operation, Subject::WholeProgram));
    ++work;
    // Lanes are joined before a copy that the host waits for.
    const auto* call = analysis::known_call(operation.name);
    if (call == nullptr || call->stream >= 0) streams.insert(operation.stream);
  }
  if (work < 2) return no("it gives the GPU one piece of work: there is nothing beside it");
  if (graph.threads) return no("several threads give work to the GPU");
  if (devices > 1) return no("one thread gives work to several GPUs");
  // Streams wait for the default one without a word, and lanes would not.
  if (streams.size() > 1 && streams.contains(-1))
    return no("it uses the default stream beside others, which wait for each other");
  if (const auto name = unknown_call(graph.syntax, "main"))
    return no(fmt::format("what {} gives to the GPU is not known", *name));
  return {};
}

}  // namespace cuco::expert::lanes
