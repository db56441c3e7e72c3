// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/geometry.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "expert/kernels/reading/callee.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

const Polynomial kBlock{{Product{"blockDim.x"}, 1}};
const Polynomial kThread{{Product{"threadIdx.x"}, 1}};

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

bool within(const Span& inner, const Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

Result<void> check_free(const KernelFacts& facts, std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    if (facts.builtins.contains(name)) return no(fmt::format("the kernel uses {} itself", name));
  }
  return {};
}

/// Splits what a kernel does outside of its loops into what every block may do, and what one does.
class Guards {
 public:
  explicit Guards(const KernelReading& reading) : reading_(reading) {}

  Result<std::vector<Replacement>> make() {
    CUCO_TRY(guard_parts(reading_.kernel.body()));
    return std::move(made_);
  }

 private:
  Result<void> guard_parts(const Statement& block) {
    for (const auto& statement : block.statements)
      CUCO_TRY(guard(statement));
    return {};
  }

  Result<void> guard(const Statement& statement) {
    for (const auto& found : reading_.loops.loops) {
      if (found.loop.statement == &statement) return {};
      if (within(found.loop.replaced, statement.span)) return guard_parts(statement);
    }
    if (!stores(statement)) return {};
    const auto own = declared_in(statement);
    const auto changed = assigned_in(statement);
    if (!std::ranges::all_of(changed, [&](int id) { return own.contains(id); }))
      return no("a statement both stores and changes a variable that all blocks need");
    const bool condition = statement.kind == StatementKind::If &&
                           statement.statements.size() == 1 && statement.header.empty() &&
                           statement.value && !statement.value->span.from_macro;
    if (condition) {
      const auto& span = statement.value->span;
      made_.push_back({span.begin, span.begin, "blockIdx.y == 0 && ("});
      made_.push_back({span.end, span.end, ")"});
    } else if (statement.kind == StatementKind::Declare) {
      return no("a declaration stores something");
    } else {
      made_.push_back({statement.span.begin, statement.span.begin, "if (blockIdx.y == 0) "});
    }
    return {};
  }

  /// To memory, or through a function that is given an address.
  static bool stores(const Statement& statement) {
    bool found = false;
    for_each_expression(statement, [&](const Expression& expression) {
      const bool changes = expression.kind == ExpressionKind::Assign ||
                           (expression.kind == ExpressionKind::Unary &&
                            (expression.name == "++" || expression.name == "--"));
      if (changes && assigned_variable(expression) < 0) found = true;
      if (expression.kind == ExpressionKind::Call &&
          std::ranges::find(expression.writes, true) != expression.writes.end())
        found = true;
    });
    return found;
  }

  const KernelReading& reading_;
  std::vector<Replacement> made_;
};

/// Looks for what a kernel does with the number of its thread, or the number of threads, apart from
/// sharing loops and reducing: that counts on the size of the block.
class SizeUses {
 public:
  SizeUses(const KernelReading& reading, const MovesBefore& before) : reading_(reading) {
    for (const auto& tree : reading.trees)
      known_.push_back(tree.replaced);
    for (const auto& found : reading.loops.loops) {
      // A bounds check counts on a grid that has a thread for each element.
      if (found.loop.form != LoopForm::Guarded || before.strided.contains(&found.loop))
        add(found.loop);
    }
  }

  [[nodiscard]] std::string find() {
    visit(reading_.kernel.body(),
          {[&](const Expression& expression) { return see(expression); },
           [&](const Statement& statement) {
             for (const auto& declared : statement.declared) {
               // Another name for the number of the thread.
               if (declared.value && polynomial(reading_.kernel, *declared.value) == kThread)
                 known_.push_back(declared.value->span);
             }
             return true;
           }});
    return found_;
  }

 private:
  void add(const ElementLoop& loop) {
    known_.push_back(loop.start->span);
    for (const auto& part : loop.statement->header)
      known_.push_back(part.span);
    if (loop.form == LoopForm::While)
      known_.push_back({.begin = loop.body_text.end, .end = loop.statement->span.end});
  }

  bool see(const Expression& expression) {
    if (std::ranges::any_of(known_,
                            [&](const Span& span) { return within(expression.span, span); }))
      return false;
    if (is_first_thread(expression)) return false;
    const bool size = builtin_name(expression) == "blockDim.x";
    const bool number =
        expression.kind != ExpressionKind::Variable
            ? builtin_name(expression) == "threadIdx.x"
            : reading_.kernel.is_made_of(expression, "threadIdx.x") && !is_index(expression);
    const bool talk = expression.kind == ExpressionKind::Call && talks(expression);
    if ((size || number || talk) && found_.empty()) found_ = expression.text;
    return true;
  }

  /// In other ways than by waiting for all others.
  bool talks(const Expression& call) const {
    if (call.name == "__syncthreads" || call.name.starts_with("atomic")) return false;
    if (talks_to_other_threads(call.name)) return true;
    if (call.function < 0) return !call.callee.empty() && !is_conversion(call);
    const auto& functions = reading_.kernel.syntax().functions;
    return side_effect(reading_.kernel.syntax(), functions[static_cast<std::size_t>(call.function)])
        .has_value();
  }

  bool is_index(const Expression& variable) const {
    return std::ranges::any_of(reading_.loops.loops, [&](const FoundLoop& found) {
      return found.loop.index == variable.variable && within(variable.span, found.loop.replaced);
    });
  }

  /// "threadIdx.x == 0" or "!threadIdx.x".
  bool is_first_thread(const Expression& expression) const {
    const auto thread = [&](const Expression& part) {
      return polynomial(reading_.kernel, part) == kThread;
    };
    const auto zero = [](const Expression& part) {
      return part.kind == ExpressionKind::Literal && part.value == 0;
    };
    if (expression.kind == ExpressionKind::Unary && expression.name == "!")
      return thread(expression.operands[0]);
    if (expression.kind != ExpressionKind::Binary || expression.name != "==") return false;
    return (thread(expression.operands[0]) && zero(expression.operands[1])) ||
           (zero(expression.operands[0]) && thread(expression.operands[1]));
  }

  const KernelReading& reading_;
  std::vector<Span> known_;
  std::string found_;
};

}  // namespace

Result<void> check_launches(const KernelReading& reading) {
  if (reading.launches.empty()) return no("no launch of the kernel is visible");
  for (const auto& launch : reading.launches) {
    if (!launch.flat) return no("its grid or block is a dim3");
    if (!launch.repeatable) return no("its grid cannot be evaluated twice");
  }
  return {};
}

Result<std::vector<Replacement>> split_rows(const KernelReading& reading) {
  const auto& loops = reading.loops.loops;
  CUCO_TRY(check_launches(reading));
  CUCO_TRY(check_free(reading.facts, {"blockIdx.y", "gridDim.y", "threadIdx.y", "gridDim.x"}));
  if (reading.facts.shared) return no("threads of a block talk to each other");
  if (reading.facts.atomics) return no("its atomics would be done by every block of a row");
  if (loops.empty())
    return no(reading.loops.why_not.empty() ? "no loop over elements" : reading.loops.why_not);
  for (const auto& found : loops) {
    if (found.loop.threads != kBlock || found.loop.form != LoopForm::For)
      return no("a loop is not shared by the threads of one block");
    if (!found.accesses) return found.accesses.error();
    if (!found.accesses->reductions.empty()) return no("a loop sums up over its rounds");
  }
  return Guards(reading).make();
}

Result<void> check_joined_rows(const KernelReading& reading) {
  const auto& facts = reading.facts;
  CUCO_TRY(check_launches(reading));
  CUCO_TRY(
      check_free(facts, {"blockIdx.y", "blockIdx.z", "threadIdx.y", "blockDim.y", "gridDim.x"}));
  if (facts.shared) return no("threads of a block talk to each other");
  if (!facts.builtins.contains("blockIdx.x")) return no("the kernel is one block");
  if (facts.in_callees.contains("blockIdx.x") || facts.in_macros.contains("blockIdx.x"))
    return no("a macro or a function that it calls uses blockIdx.x");
  if (reading.kernel.function().parameters.empty()) return no("the kernel has no parameters");
  for (const auto& function : reading.kernel.syntax().functions) {
    if (function.name == reading.kernel.function().name && !function.body)
      return no("the kernel is declared in another place, too");
  }
  for (const auto& found : reading.loops.loops) {
    if (found.loop.threads != kBlock) return no("a loop is not shared by the threads of one block");
  }
  return {};
}

Result<void> check_block_size(const KernelReading& reading,
                              int threads,
                              const MovesBefore& before) {
  const auto& facts = reading.facts;
  if (!facts.builtins.contains("blockDim.x")) return no("the kernel does not read its block size");
  CUCO_TRY(check_launches(reading));
  for (const auto& launch : reading.launches) {
    if (!launch.threads)
      return no(fmt::format("the block size '{}' is not a constant", launch.block_text));
  }
  const auto& span = reading.kernel.function().span;
  const auto head = reading.text.substr(span.begin, reading.kernel.body().span.begin - span.begin);
  if (head.find("__launch_bounds__") != std::string_view::npos)
    return no("the kernel has launch bounds");
  if (facts.sized_by_launch) return no("its launch says how much shared memory it has");
  for (const auto& [array, length] : facts.per_thread) {
    const bool tree = std::ranges::any_of(
        reading.trees, [&, array = array](const auto& each) { return each.array == array; });
    if ((before.shuffles && tree) || length >= threads) continue;
    return no(
        fmt::format("'{}' has room for {} threads", reading.kernel.variable(array).name, length));
  }
  constexpr int kWarp = 32;
  if (before.shuffles && threads % kWarp != 0)
    return no(fmt::format("{} threads are not whole warps", threads));
  for (const char* name : {"threadIdx.x", "blockDim.x"}) {
    if (facts.in_callees.contains(name))
      return no(fmt::format("a function that it calls uses {}", name));
  }
  if (const auto use = SizeUses(reading, before).find(); !use.empty())
    return no(fmt::format("'{}' counts on the size of the block", use));
  return {};
}

}  // namespace cuco::expert::kernels
