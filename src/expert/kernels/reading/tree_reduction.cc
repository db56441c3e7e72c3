// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/tree_reduction.h"

#include <algorithm>
#include <array>
#include <optional>

#include "expert/kernels/reading/thread_index.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Span;
using analysis::Statement;
using analysis::StatementKind;

const Polynomial kThread{{Product{"threadIdx.x"}, 1}};

bool is_reduction(std::string_view operation) {
  constexpr std::array<std::string_view, 8> kKnown = {"+",     "*",     "max",  "min",
                                                      "fmaxf", "fminf", "fmax", "fmin"};
  return std::ranges::find(kKnown, operation) != kKnown.end();
}

bool is_barrier(const Statement& statement) {
  return statement.kind == StatementKind::Evaluate && statement.value &&
         statement.value->kind == ExpressionKind::Call && statement.value->name == "__syncthreads";
}

/// The statement itself, or the only one of its block.
const Statement& unwrapped(const Statement& statement) {
  const bool single = statement.kind == StatementKind::Block && statement.statements.size() == 1;
  return single ? unwrapped(statement.statements[0]) : statement;
}

class TreeReader {
 public:
  explicit TreeReader(const KernelBody& kernel) : kernel_(kernel) {}

  /// The store, a barrier and the loop at `at` of a block.
  std::optional<TreeReduction> read(const Statement& block, std::size_t at) {
    if (at + 2 >= block.statements.size()) return std::nullopt;
    const auto& store = block.statements[at];
    const auto& loop = block.statements[at + 2];
    if (!is_barrier(block.statements[at + 1]) || !read_store(store) || !read_loop(loop))
      return std::nullopt;
    tree_.replaced = store.span;
    tree_.replaced.end = loop.span.end;
    tree_.block = block.span;
    if (store.span.from_macro || loop.span.from_macro) return std::nullopt;
    return tree_;
  }

 private:
  /// shared[threadIdx.x] = value.
  bool read_store(const Statement& statement) {
    if (statement.kind != StatementKind::Evaluate || !statement.value) return false;
    const auto& assign = *statement.value;
    if (assign.kind != ExpressionKind::Assign || assign.name != "=") return false;
    const auto& target = assign.operands[0];
    if (target.kind != ExpressionKind::Index ||
        target.operands[0].kind != ExpressionKind::Variable ||
        target.operands[0].type.find('[') == std::string::npos)
      return false;
    tree_.array = target.operands[0].variable;
    tree_.value = &assign.operands[1];
    return is_entry(target, kThread) && assign.operands[1].type == target.type;
  }

  /// for (int half = blockDim.x / 2; half > 0; half /= 2) { if (threadIdx.x < half) …; barrier }
  bool read_loop(const Statement& loop) {
    if (loop.kind != StatementKind::Loop || loop.header.size() != 3) return false;
    if (loop.header[0].declared.size() != 1) return false;
    const auto& half = loop.header[0].declared[0];
    if (!half.value || !halves(*half.value, "blockDim.x") || !loop.header[1].value ||
        !loop.header[2].value)
      return false;
    half_ = half.variable;
    const auto& body = loop.statements.back();
    return counts_down(*loop.header[1].value) && steps_by_half(*loop.header[2].value) &&
           body.kind == StatementKind::Block && body.statements.size() == 2 &&
           read_level(body.statements[0]) && is_barrier(body.statements[1]);
  }

  static bool halves(const Expression& expression, std::string_view whole) {
    if (expression.kind != ExpressionKind::Binary) return false;
    const auto& by = expression.operands[1];
    const bool two = expression.name == "/" && by.value == 2;
    const bool one = expression.name == ">>" && by.value == 1;
    return (two || one) && builtin_name(expression.operands[0]) == whole;
  }

  bool names_half(const Expression& expression) const {
    return expression.kind == ExpressionKind::Variable && expression.variable == half_;
  }

  bool counts_down(const Expression& condition) const {
    if (condition.kind == ExpressionKind::Variable) return names_half(condition);
    if (condition.kind != ExpressionKind::Binary || !names_half(condition.operands[0]))
      return false;
    const auto& last = condition.operands[1];
    if (last.kind != ExpressionKind::Literal) return false;
    return ((condition.name == ">" || condition.name == "!=") && last.value == 0) ||
           (condition.name == ">=" && last.value == 1);
  }

  bool steps_by_half(const Expression& step) const {
    if (step.kind != ExpressionKind::Assign || !names_half(step.operands[0])) return false;
    const auto& by = step.operands[1];
    if (step.name == "=") {
      return by.kind == ExpressionKind::Binary && names_half(by.operands[0]) &&
             ((by.name == "/" && by.operands[1].value == 2) ||
              (by.name == ">>" && by.operands[1].value == 1));
    }
    return by.kind == ExpressionKind::Literal &&
           ((step.name == "/=" && by.value == 2) || (step.name == ">>=" && by.value == 1));
  }

  /// if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  bool read_level(const Statement& level) {
    if (level.kind != StatementKind::If || level.statements.size() != 1 || !level.value)
      return false;
    const auto& condition = *level.value;
    if (condition.kind != ExpressionKind::Binary || condition.name != "<" ||
        polynomial(kernel_, condition.operands[0]) != kThread || !names_half(condition.operands[1]))
      return false;
    const auto& update = unwrapped(level.statements[0]);
    if (update.kind != StatementKind::Evaluate || !update.value ||
        update.value->kind != ExpressionKind::Assign ||
        !is_entry(update.value->operands[0], kThread))
      return false;
    const auto& right = update.value->operands[1];
    if (update.value->name == "+=" || update.value->name == "*=") {
      tree_.operation = update.value->name.substr(0, 1);
      return is_partner(right);
    }
    const bool combines =
        right.kind == ExpressionKind::Binary || right.kind == ExpressionKind::Call;
    if (update.value->name != "=" || !combines || right.operands.size() != 2) return false;
    tree_.operation = right.name;
    const bool known = is_reduction(right.name);
    return known && ((is_entry(right.operands[0], kThread) && is_partner(right.operands[1])) ||
                     (is_entry(right.operands[1], kThread) && is_partner(right.operands[0])));
  }

  bool is_entry(const Expression& expression, const Polynomial& at) const {
    return expression.kind == ExpressionKind::Index &&
           expression.operands[0].kind == ExpressionKind::Variable &&
           expression.operands[0].variable == tree_.array &&
           polynomial(kernel_, expression.operands[1]) == at;
  }

  bool is_partner(const Expression& expression) const {
    if (expression.kind != ExpressionKind::Index ||
        expression.operands[1].kind != ExpressionKind::Binary)
      return false;
    const auto& sum = expression.operands[1];
    const bool first = names_half(sum.operands[0]);
    const auto& other = sum.operands[first ? 1 : 0];
    return sum.name == "+" && (first || names_half(sum.operands[1])) &&
           polynomial(kernel_, other) == kThread && expression.operands[0].variable == tree_.array;
  }

  const KernelBody& kernel_;
  TreeReduction tree_;
  int half_ = -1;
};

bool within(const Span& inner, const Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

/// Gives every read of an array's first entry to the tree before it. Whether nothing else is done
/// with the array.
bool assign_results(const KernelBody& kernel, int array, std::vector<TreeReduction>& trees) {
  bool only = true;
  visit(kernel.body(),
        {[&](const Expression& expression) {
           const bool inside = std::ranges::any_of(
               trees, [&](const auto& tree) { return within(expression.span, tree.replaced); });
           if (inside) return false;
           const bool entry = expression.kind == ExpressionKind::Index &&
                              expression.operands[0].kind == ExpressionKind::Variable &&
                              expression.operands[0].variable == array;
           if (!entry) {
             if (expression.kind == ExpressionKind::Variable && expression.variable == array)
               only = false;
             // A store would be seen by the next reader.
             if (expression.kind == ExpressionKind::Assign &&
                 expression.operands[0].kind == ExpressionKind::Index &&
                 variables_of(expression.operands[0]).contains(array))
               only = false;
             return true;
           }
           const auto& at = expression.operands[1];
           TreeReduction* before = nullptr;
           for (auto& tree : trees) {
             if (tree.array == array && tree.replaced.end <= expression.span.begin) before = &tree;
           }
           const bool first = at.kind == ExpressionKind::Literal && at.value == 0;
           if (before == nullptr || !first || expression.span.from_macro ||
               !within(expression.span, before->block))
             only = false;
           if (before != nullptr) before->results.push_back(expression.span);
           return false;
         },
         {}});
  return only;
}

/// Whether the tree's block waits for all threads behind it.
bool waits_between(const KernelBody& kernel, const TreeReduction& tree, std::size_t until) {
  bool found = false;
  visit(kernel.body(), {{}, [&](const Statement& block) {
                          if (block.span.begin != tree.block.begin) return true;
                          for (const auto& statement : block.statements) {
                            found = found || (is_barrier(statement) &&
                                              statement.span.begin >= tree.replaced.end &&
                                              statement.span.end <= until);
                          }
                          return true;
                        }});
  return found;
}

}  // namespace

std::vector<TreeReduction> find_tree_reductions(const KernelBody& kernel) {
  std::vector<TreeReduction> trees;
  std::vector<Span> loops;
  visit(kernel.body(), {{}, [&](const Statement& block) {
                          if (block.kind == StatementKind::Loop) loops.push_back(block.span);
                          if (block.kind != StatementKind::Block) return true;
                          for (std::size_t i = 0; i < block.statements.size(); ++i) {
                            if (auto tree = TreeReader(kernel).read(block, i))
                              trees.push_back(*std::move(tree));
                          }
                          return true;
                        }});
  std::set<int> mixed;
  for (const auto& tree : trees) {
    if (!mixed.contains(tree.array) && tree.results.empty() &&
        !assign_results(kernel, tree.array, trees))
      mixed.insert(tree.array);
  }
  std::erase_if(trees, [&](const auto& tree) { return mixed.contains(tree.array); });
  for (auto& tree : trees) {
    const bool again =
        std::ranges::any_of(loops, [&](const Span& loop) { return within(tree.replaced, loop); });
    const auto next = std::ranges::find_if(trees, [&](const auto& other) {
      return other.array == tree.array && other.replaced.begin >= tree.replaced.end;
    });
    const auto until = next == trees.end() ? tree.block.end : next->replaced.begin;
    tree.reused = (again || next != trees.end()) && !waits_between(kernel, tree, until);
  }
  return trees;
}

}  // namespace cuco::expert::kernels
