// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/call_chain.h"

#include <algorithm>

namespace cuco::expert::forward {
namespace {

using analysis::CommunicationGraph;
using analysis::Function;
using analysis::Nest;
using analysis::NestKind;
using analysis::Operation;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool contains(const Span& outer, const Span& inner) {
  return !outer.elsewhere && outer.begin <= inner.begin && inner.end <= outer.end;
}

std::vector<const Nest*> calls_to(const Operation& operation) {
  std::vector<const Nest*> calls;
  for (const Nest& nest : operation.nest) {
    if (nest.kind == NestKind::Call || nest.kind == NestKind::Thread) calls.push_back(&nest);
  }
  return calls;
}

/// The statement that leads to the operation in the function `depth` calls down.
Span statement_at(const Operation& operation, std::size_t depth) {
  const auto calls = calls_to(operation);
  return depth < calls.size() ? calls[depth]->span : operation.statement;
}

const Function* function_around(const CommunicationGraph& graph, const Span& span) {
  const Function* innermost = nullptr;
  for (const Function& function : graph.syntax.functions) {
    if (!function.body || !contains(function.body->span, span)) continue;
    if (innermost == nullptr || contains(innermost->body->span, function.body->span))
      innermost = &function;
  }
  return innermost;
}

/// The innermost block that holds all of them.
const Statement* block_around(const Statement& statement, const std::vector<Span>& spans) {
  const bool holds =
      std::ranges::all_of(spans, [&](const Span& span) { return contains(statement.span, span); });
  if (!holds) return nullptr;
  for (const Statement& part : statement.statements) {
    if (const Statement* inner = block_around(part, spans)) return inner;
  }
  return statement.kind == StatementKind::Block ? &statement : nullptr;
}

}  // namespace

bool is_in_loops_of(const Operation& operation, const Operation& other) {
  return std::ranges::all_of(other.nest, [&](const Nest& nest) {
    return nest.kind != NestKind::Loop ||
           std::ranges::find(operation.nest, nest) != operation.nest.end();
  });
}

Result<CommonBlock> common_block(const CommunicationGraph& graph,
                                 const std::vector<int>& operations) {
  const auto operation = [&](int i) -> const Operation& {
    return graph.operations[static_cast<std::size_t>(i)];
  };
  const auto first = calls_to(operation(operations.front()));
  std::size_t depth = first.size();
  for (const int i : operations) {
    const auto calls = calls_to(operation(i));
    std::size_t same = 0;
    while (same < calls.size() && same < first.size() && *calls[same] == *first[same])
      ++same;
    depth = std::min(depth, same);
  }
  std::vector<Span> spans;
  for (const int i : operations)
    spans.push_back(statement_at(operation(i), depth));
  for (const Span& span : spans) {
    if (span.elsewhere) return no("the program does it in a header");
  }
  CommonBlock common;
  common.function = function_around(graph, spans.front());
  if (common.function != nullptr) common.block = block_around(*common.function->body, spans);
  if (common.block == nullptr) return no("no block of the program holds both");
  for (const Span& span : spans) {
    const auto& parts = common.block->statements;
    const auto part = std::ranges::find_if(
        parts, [&](const Statement& statement) { return contains(statement.span, span); });
    if (part == parts.end()) return no("a macro writes the statement that does it");
    common.statements.push_back(static_cast<std::size_t>(part - parts.begin()));
  }
  return common;
}

}  // namespace cuco::expert::forward
