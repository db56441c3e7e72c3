// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/row_groups.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "expert/kernels/reading/stores.h"
#include "expert/kernels/reading/subscript.h"
#include "expert/kernels/reading/visit.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::Statement;
using analysis::StatementKind;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// A statement of a block.
struct Position {
  const Statement* block = nullptr;
  std::size_t number = 0;
};

Position find_position(const KernelBody& kernel, const Statement& wanted) {
  Position found;
  visit(kernel.body(), {{}, [&](const Statement& block) {
                          if (block.kind != StatementKind::Block) return true;
                          for (std::size_t i = 0; i < block.statements.size(); ++i) {
                            if (&block.statements[i] == &wanted) found = {&block, i};
                          }
                          return true;
                        }});
  return found;
}

/// What an access's address is made of, apart from the index.
std::set<int> names_in_address(const KernelBody& kernel, const VectorAccess& access, int index) {
  std::set<int> found = variables_of(*access.array);
  const auto add = [&](const auto& self, const Expression& expression) -> void {
    for (const int id : variables_of(expression)) {
      if (id == index) continue;
      const auto* value = kernel.only_value(id);
      if (value != nullptr && depends_on(kernel, *value, index)) {
        self(self, *value);
      } else {
        found.insert(id);
      }
    }
  };
  add(add, *access.subscript);
  return found;
}

class Grouping {
 public:
  Grouping(const KernelBody& kernel, const DistinctMemory& memory)
      : kernel_(kernel), memory_(memory) {}

  void add(const FoundLoop& found) {
    const auto position = find_position(kernel_, *found.loop.statement);
    if (!made_.groups.empty()) {
      if (auto joined = join(found, position)) {
        made_.groups.back() = *std::move(joined);
        return;
      } else if (shares_pointer(found)) {
        made_.why_apart = joined.error().message();
      }
    }
    begin(found, position);
  }

  RowGroups take() { return std::move(made_); }

 private:
  void begin(const FoundLoop& found, const Position& position) {
    RowGroup group{.accesses = found.accesses->accesses};
    std::vector<int> shared;
    for (std::size_t i = 0; i < group.accesses.size(); ++i)
      shared.push_back(static_cast<int>(i));
    group.loops.push_back({&found, std::move(shared)});
    first_ = position;
    group.at = earliest(group, found);
    made_.groups.push_back(std::move(group));
  }

  [[nodiscard]] bool shares_pointer(const FoundLoop& found) const {
    return std::ranges::any_of(found.accesses->accesses, [&](const VectorAccess& access) {
      return std::ranges::any_of(made_.groups.back().accesses, [&](const VectorAccess& known) {
        return known.pointer == access.pointer;
      });
    });
  }

  /// In front of what only makes values, as far up as memory is read there and all names are known.
  [[nodiscard]] std::size_t earliest(const RowGroup& group, const FoundLoop& found) const {
    std::size_t at = found.loop.statement->span.begin;
    if (first_.block == nullptr || found.loop.form == LoopForm::Guarded) return at;
    std::set<int> needed = variables_of(*found.loop.limit);
    needed.merge(variables_of(*found.loop.start));
    for (const auto& access : group.accesses)
      needed.merge(names_in_address(kernel_, access, found.loop.index));
    for (std::size_t i = first_.number; i-- > 0;) {
      const auto& statement = first_.block->statements[i];
      const auto makes = declared_in(statement);
      const auto changes = assigned_in(statement);
      const auto touches = [&](int id) { return makes.contains(id) || changes.contains(id); };
      if (!only_computes(kernel_, statement) || std::ranges::any_of(needed, touches)) break;
      if (loads(statement)) at = statement.span.begin;
    }
    return at;
  }

  /// The last group with one more loop.
  Result<RowGroup> join(const FoundLoop& found, const Position& position) {
    RowGroup group = made_.groups.back();
    CUCO_TRY(check_same_rows(group, found.loop, position));
    CUCO_TRY(check_names(group, found, position));
    GroupedLoop joined{&found, {}};
    std::optional<Error> reread;
    bool common = false;
    for (const auto& access : found.accesses->accesses) {
      const int known = find_known(group, access, found.loop.index);
      const auto kept = check_untouched(group, access, position);
      if (!kept) {
        if (known >= 0) reread = kept.error();
        joined.shared.push_back(-1);
        continue;
      }
      common = common || known >= 0;
      if (known < 0) {
        joined.shared.push_back(static_cast<int>(group.accesses.size()));
        group.accesses.push_back(access);
      } else {
        joined.shared.push_back(known);
      }
    }
    if (reread && !common) return *reread;
    if (!common) return no("no two loops use the same elements");
    group.loops.push_back(std::move(joined));
    return group;
  }

  Result<void> check_same_rows(const RowGroup& group,
                               const ElementLoop& loop,
                               const Position& position) const {
    const auto& first = group.loops.front().found->loop;
    if (position.block == nullptr || position.block != first_.block ||
        first.form == LoopForm::Guarded || loop.form == LoopForm::Guarded)
      return no("the loops over a row do not stand in one block");
    const bool same = polynomial(kernel_, *loop.start) == polynomial(kernel_, *first.start) &&
                      loop.threads == first.threads &&
                      polynomial(kernel_, *loop.limit) == polynomial(kernel_, *first.limit) &&
                      variables_of(*loop.limit) == variables_of(*first.limit);
    return same ? Result<void>() : no("the loops go over different elements");
  }

  /// All names mean the same in front of the group and in the loop.
  Result<void> check_names(const RowGroup& group,
                           const FoundLoop& found,
                           const Position& position) const {
    std::set<int> needed = variables_of(*found.loop.limit);
    for (const auto& access : found.accesses->accesses)
      needed.merge(names_in_address(kernel_, access, found.loop.index));
    std::set<int> changed;
    for (std::size_t i = first_.number; i <= position.number; ++i)
      changed.merge(assigned_in(first_.block->statements[i]));
    for (const int id : needed) {
      const auto& variable = kernel_.variable(id);
      if (changed.contains(id))
        return no(fmt::format("'{}' changes between the loops over a row", variable.name));
      if (!variable.span.elsewhere && variable.span.begin >= group.at)
        return no(fmt::format("'{}' is not known in front of the loops over a row", variable.name));
    }
    return {};
  }

  [[nodiscard]] int find_known(const RowGroup& group, const VectorAccess& access, int index) const {
    const auto names = names_in_address(kernel_, access, index);
    for (std::size_t i = 0; i < group.accesses.size(); ++i) {
      const auto& known = group.accesses[i];
      const auto* loop = loop_of(group, static_cast<int>(i));
      if (known.pointer == access.pointer && known.rest == access.rest &&
          names_in_address(kernel_, known, loop->loop.index) == names)
        return static_cast<int>(i);
    }
    return -1;
  }

  /// The loop that brought the access into the group.
  static const FoundLoop* loop_of(const RowGroup& group, int access) {
    for (const auto& loop : group.loops) {
      if (std::ranges::find(loop.shared, access) != loop.shared.end()) return loop.found;
    }
    return nullptr;
  }

  /// Nothing from the first loop up to this one stores to what is kept, but the loops themselves to
  /// just these elements.
  Result<void> check_untouched(const RowGroup& group,
                               const VectorAccess& access,
                               const Position& position) const {
    for (std::size_t i = first_.number; i < position.number; ++i) {
      const auto& statement = first_.block->statements[i];
      const auto grouped = std::ranges::find_if(group.loops, [&](const GroupedLoop& loop) {
        return loop.found->loop.statement == &statement;
      });
      if (grouped != group.loops.end()) {
        CUCO_TRY(check_stores_of(*grouped->found, access));
        continue;
      }
      CUCO_TRY_ASSIGN(const auto stores, find_stores(kernel_, statement));
      for (const auto* pointer : stores)
        CUCO_TRY(check_apart(*pointer, access));
    }
    return {};
  }

  Result<void> check_stores_of(const FoundLoop& found, const VectorAccess& access) const {
    for (const auto& other : found.accesses->accesses) {
      const bool same = other.pointer == access.pointer && other.rest == access.rest;
      if (other.written && !same) CUCO_TRY(check_apart(*other.array, access));
    }
    return {};
  }

  Result<void> check_apart(const Expression& stored, const VectorAccess& access) const {
    if (memory_.apart(stored, *access.array)) return {};
    return no(
        fmt::format("'{}' is stored between two loops over '{}', which may be the same memory",
                    stored.text, access.pointer));
  }

  const KernelBody& kernel_;
  const DistinctMemory& memory_;
  Position first_;  ///< The first loop of the last group.
  RowGroups made_;
};

}  // namespace

RowGroups find_row_groups(const KernelBody& kernel,
                          const FoundLoops& loops,
                          const DistinctMemory& memory) {
  Grouping grouping(kernel, memory);
  for (const auto& found : loops.loops) {
    if (found.accesses) grouping.add(found);
  }
  return grouping.take();
}

}  // namespace cuco::expert::kernels
