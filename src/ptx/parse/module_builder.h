// SPDX-License-Identifier: Apache-2.0
/// \file
/// The module under construction: its symbols by name, and the budget that hostile text is held to.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/module.h"
#include "ptx/parse/lexer.h"

namespace cuco::ptx {

/// What is being parsed. Everything that a few characters can make large is counted here.
class ModuleBuilder {
 public:
  ModuleBuilder(TokenStream& tokens, std::size_t text_bytes);

  [[nodiscard]] Module& module() { return module_; }
  [[nodiscard]] const std::uint32_t* find_symbol(std::string_view name) const;

  /// Index of the symbol, made if nobody declared it yet: addresses in initialisers may look
  /// forward. Whoever never gets declared is an error in finish().
  std::uint32_t refer_to_symbol(std::string_view name);

  /// Declares or defines; a declaration and a definition of one name become one entry.
  std::uint32_t add_variable(std::string_view name, Variable variable);
  /// A variable of the function `owner`, known elsewhere only by its index.
  std::uint32_t add_private_variable(std::string_view owner, Variable variable);
  /// Returns the index of the function, which has the signature of `declared`; body still to come.
  std::uint32_t add_function(std::string_view name, Function declared);
  void add_alias(std::string_view name, std::string_view target);

  /// Accounts for things that cost memory out of proportion to their text; fails when too many.
  void spend_registers(std::uint64_t count);
  void spend_variables(std::uint64_t count);
  void spend_initial_bytes(std::uint64_t count);

  /// Resolves aliases and checks that every symbol was declared.
  void finish();

 private:
  struct Pending {
    std::uint32_t symbol;
    std::uint32_t line;
  };
  struct Alias {
    std::uint32_t symbol;
    std::uint32_t target;
    std::uint32_t line;
  };

  TokenStream& tokens_;
  Module module_;
  std::unordered_map<std::string_view, std::uint32_t> symbols_;
  std::vector<bool> declared_;  ///< By symbol.
  std::vector<Pending> pending_;
  std::vector<Alias> aliases_;
  std::uint64_t registers_left_;
  std::uint64_t variables_left_;
  std::uint64_t initial_bytes_left_;
};

}  // namespace cuco::ptx
