// SPDX-License-Identifier: Apache-2.0
/// \file
/// The body of a function: scopes, labels, instructions and their operands.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/module.h"
#include "ptx/parse/declaration.h"
#include "ptx/parse/lexer.h"
#include "ptx/parse/module_builder.h"
#include "ptx/parse/scoped_names.h"

namespace cuco::ptx {

/// An opcode with its suffixes, taken apart once per spelling.
struct DecodedOpcode {
  Opcode opcode = Opcode::Unknown;
  std::vector<Modifier> modifiers;
  std::vector<Type> types;
};

/// Parses function bodies, one after the other; keeps what they share (decoded opcodes).
class FunctionParser {
 public:
  FunctionParser(TokenStream& tokens, ModuleBuilder& builder, DeclarationParser& declarations)
      : tokens_(tokens), builder_(builder), declarations_(declarations) {}

  /// Parses `{ … }` into `function`, whose signature is there already.
  void parse(Function& function);

  /// Makes the names of returns and parameters known; the first part of parse.
  static void add_signature_variables(Function& function);

 private:
  struct Scope {
    std::size_t first_label;
    std::size_t first_reference;
  };
  struct Label {
    std::string_view name;
    std::uint32_t instruction;
  };
  /// A use of a label: labels of inner scopes hide outer ones even when they come later, so uses
  /// are resolved when their scope closes.
  struct LabelReference {
    std::string_view name;
    std::uint32_t line;
    bool in_table;  ///< branch_targets[owner][slot], else instructions[owner].operands[slot]
    std::uint32_t owner;
    std::uint32_t slot;
  };

  // Scopes and statements (function_parser.cc).
  void bind_parameter(const Variable& variable, std::uint32_t index);
  void open_scope();
  void close_scope();
  void resolve_labels(const Scope& scope);
  void statement();
  void directive();
  void pragma();
  void label_or_instruction();
  void labelled_directive(std::string_view label);
  void registers();
  void add_registers(std::string_view name, Type type, std::uint32_t elements);
  void variables(Space space);
  void location();
  void call_prototype(std::string_view label);
  void call_targets(std::string_view label);
  void branch_targets(std::string_view label);

  // Instructions and operands (operand_parser.cc).
  void guard(Instruction& instruction);
  void instruction(std::string_view text, Instruction start);
  const DecodedOpcode& decode(std::string_view text);
  void operand_list(Instruction& instruction);
  void call(Instruction& instruction);
  std::vector<Operand> call_operands();
  std::int32_t call_prototype_operand();
  Operand operand(int depth);
  Operand literal();
  Operand named();
  Operand resolve(std::string_view name);
  Operand register_group(const Binding& binding);
  Operand special_register(std::string_view name);
  void part_of_register(Operand& operand);
  Operand vector(int depth);
  Operand address(int depth);
  Operand label(std::uint32_t slot);
  [[nodiscard]] const Binding* find(std::string_view name, std::uint32_t& number) const;

  TokenStream& tokens_;
  ModuleBuilder& builder_;
  DeclarationParser& declarations_;

  Function* function_ = nullptr;
  ScopedNames names_;
  ScopedNames ranges_;
  std::deque<std::string> made_names_;  ///< Names that the text does not spell out.
  std::vector<Scope> scopes_;
  std::vector<Label> labels_;
  std::vector<LabelReference> references_;
  std::vector<Operand> operands_;  ///< Of the instruction being parsed; kept for its capacity.
  SourceLine source_;
  SourceLine caller_;

  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
  };
  std::unordered_map<std::string, DecodedOpcode, TextHash, std::equal_to<>> decoded_;
  /// Position (file, line, column) of a call that was inlined, to the line that the function itself
  /// has there.
  std::unordered_map<std::uint64_t, SourceLine> inlined_;
};

}  // namespace cuco::ptx
