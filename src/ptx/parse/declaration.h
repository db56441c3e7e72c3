// SPDX-License-Identifier: Apache-2.0
/// \file
/// Declarations of variables and parameters, with their initialisers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ptx/module.h"
#include "ptx/parse/lexer.h"
#include "ptx/parse/module_builder.h"

namespace cuco::ptx {

/// What stands between the state space and the first name: `.align 8 .v2 .f32`.
struct Declarator {
  Space space = Space::Global;
  Linkage linkage = Linkage::Internal;
  Type type = Type::None;
  std::uint32_t align = 0;     ///< 0: natural.
  std::uint32_t elements = 1;  ///< .v2: 2
  bool managed = false;
  bool is_opaque = false;  ///< .texref and the like: initialisers are skipped.
};

/// `.global` to Space::Global; nullopt if the word names no state space.
[[nodiscard]] std::optional<Space> find_space(std::string_view word);

/// Parses declarations at the current token.
class DeclarationParser {
 public:
  DeclarationParser(TokenStream& tokens, ModuleBuilder& builder)
      : tokens_(tokens), builder_(builder) {}

  /// Everything dotted from after the state space up to the name.
  Declarator declarator(Space space, Linkage linkage);

  /// `name[dims] = initialiser`. `name` receives the view of the text.
  Variable variable(const Declarator& declarator, std::string_view& name);

  /// `( .param .b64 a, … )`, the parentheses included.
  std::vector<Variable> parameters();

  /// Three comma-separated counts, missing ones 1: `.maxntid 256, 1, 1`.
  std::array<std::uint32_t, 3> extents();

 private:
  void attribute(Declarator& declarator);
  [[nodiscard]] std::vector<std::uint64_t> dimensions(bool& unsized);
  void initialiser(const Declarator& declarator,
                   const std::vector<std::uint64_t>& dims,
                   bool unsized,
                   Variable& variable);
  std::uint64_t initialiser_list(const std::vector<std::uint64_t>& extents,
                                 std::size_t level,
                                 std::uint64_t offset,
                                 Variable& variable);
  void initialiser_value(std::uint64_t offset, Variable& variable);
  void address(std::uint64_t offset, std::uint64_t mask, Variable& variable);
  void store(std::uint64_t offset, std::uint64_t bits, Variable& variable);
  void float_value(std::uint64_t offset, bool negative, Variable& variable);

  TokenStream& tokens_;
  ModuleBuilder& builder_;
};

}  // namespace cuco::ptx
