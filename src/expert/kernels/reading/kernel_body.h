// SPDX-License-Identifier: Apache-2.0
/// \file
/// One kernel (one instantiation of a template) with what the rewrites ask about its variables.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "analysis/syntax.h"

namespace cuco::expert::kernels {

class KernelBody {
 public:
  KernelBody(const analysis::Syntax& syntax, const analysis::Function& function);

  [[nodiscard]] const analysis::Syntax& syntax() const { return *syntax_; }
  [[nodiscard]] const analysis::Function& function() const { return *function_; }
  [[nodiscard]] const analysis::Statement& body() const { return *function_->body; }

  [[nodiscard]] const analysis::Variable& variable(int id) const {
    return syntax_->variables[static_cast<std::size_t>(id)];
  }

  /// The value that the variable has all its life; nothing if it is assigned later, or has none.
  [[nodiscard]] const analysis::Expression* only_value(int variable) const;

  /// Whether it names a built-in variable, directly or through variables that keep their values.
  [[nodiscard]] bool is_made_of(const analysis::Expression& expression,
                                std::string_view builtin) const;

  /// How often the kernel assigns it after its declaration.
  [[nodiscard]] int assignments(int variable) const;

 private:
  const analysis::Syntax* syntax_;
  const analysis::Function* function_;
  std::map<int, const analysis::Expression*> first_values_;
  std::map<int, int> assignments_;
};

/// The variable that an assignment, an increment or an operator changes; -1 if none.
[[nodiscard]] int assigned_variable(const analysis::Expression& expression);

/// "threadIdx.x", "blockDim.y", …; empty for anything else.
[[nodiscard]] std::string builtin_name(const analysis::Expression& expression);

/// All variables that it names.
[[nodiscard]] std::set<int> variables_of(const analysis::Expression& expression);

/// All variables that it declares, at any depth.
[[nodiscard]] std::set<int> declared_in(const analysis::Statement& statement);

/// All variables that it assigns, at any depth.
[[nodiscard]] std::set<int> assigned_in(const analysis::Statement& statement);

}  // namespace cuco::expert::kernels
