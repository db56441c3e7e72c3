// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/function_parser.h"

#include <algorithm>

#include "base/assert.h"
#include "ptx/parse/constant_expression.h"

namespace cuco::ptx {
namespace {

constexpr std::size_t kMaxScopes = 64;
constexpr std::uint64_t kMaxFiles = 65535;

}  // namespace

void FunctionParser::add_signature_variables(Function& function) {
  function.variables.reserve(function.returns.size() + function.parameters.size());
  for (const Variable& variable : function.returns)
    function.variables.push_back(variable);
  for (const Variable& variable : function.parameters)
    function.variables.push_back(variable);
}

// One parser serves all functions of a module, so everything of the last one is cleared first.
void FunctionParser::parse(Function& function) {
  function_ = &function;
  names_.clear();
  ranges_.clear();
  made_names_.clear();
  inlined_.clear();
  source_ = caller_ = {};
  builder_.spend_variables(function.returns.size() + function.parameters.size());
  open_scope();
  // The names are views of returns and parameters, which stay put while `variables` grows.
  std::uint32_t index = 0;
  for (const Variable& variable : function.returns)
    bind_parameter(variable, index++);
  for (const Variable& variable : function.parameters)
    bind_parameter(variable, index++);
  tokens_.expect('{');
  open_scope();
  while (scopes_.size() > 1 && !tokens_.failed())
    statement();
  // After an error scopes may still be open.
  while (!scopes_.empty())
    close_scope();
  references_.clear();
  labels_.clear();
}

// Parameters of device functions may be registers; those of kernels are variables in param space.
void FunctionParser::bind_parameter(const Variable& variable, std::uint32_t index) {
  if (variable.space != Space::Reg) {
    return names_.bind(variable.name, {.kind = Binding::Kind::Variable, .index = index});
  }
  builder_.spend_registers(1);
  names_.bind(variable.name, {.index = static_cast<std::uint32_t>(function_->registers.size())});
  function_->registers.push_back({variable.name, variable.type});
}

void FunctionParser::open_scope() {
  if (scopes_.size() >= kMaxScopes) return tokens_.fail("blocks are nested too deep");
  scopes_.push_back({labels_.size(), references_.size()});
  names_.open();
  ranges_.open();
}

void FunctionParser::close_scope() {
  // After an error the instruction that uses a label may not be there.
  if (!tokens_.failed()) resolve_labels(scopes_.back());
  if (scopes_.size() == 1 && !references_.empty()) {
    tokens_.fail_at(references_.front().line,
                    "label is not defined: " + std::string(references_.front().name));
  }
  scopes_.pop_back();
  names_.close();
  ranges_.close();
}

// Labels are visible in their block and in those inside it. What a block cannot resolve is kept for
// the one around it.
void FunctionParser::resolve_labels(const Scope& scope) {
  if (labels_.size() == scope.first_label) return;
  std::unordered_map<std::string_view, std::uint32_t> targets;
  for (std::size_t i = scope.first_label; i < labels_.size(); ++i) {
    targets.emplace(labels_[i].name, labels_[i].instruction);
  }
  labels_.resize(scope.first_label);
  std::size_t kept = scope.first_reference;
  for (std::size_t i = scope.first_reference; i < references_.size(); ++i) {
    const LabelReference& reference = references_[i];
    const auto target = targets.find(reference.name);
    if (target == targets.end()) {
      references_[kept++] = reference;
    } else if (reference.in_table) {
      function_->branch_targets[reference.owner][reference.slot] = target->second;
    } else {
      function_->instructions[reference.owner].operands[reference.slot].index = target->second;
    }
  }
  references_.resize(kept);
}

void FunctionParser::statement() {
  if (tokens_.at(Token::Kind::Word)) return label_or_instruction();
  if (tokens_.at(Token::Kind::Dotted)) return directive();
  if (tokens_.accept(';')) return;
  if (tokens_.accept('{')) return open_scope();
  if (tokens_.accept('}')) return close_scope();
  if (tokens_.accept('@')) {
    Instruction start;
    start.ptx_line = tokens_.current().line;
    guard(start);
    if (!tokens_.at(Token::Kind::Word)) return tokens_.fail_expected("an instruction");
    return instruction(tokens_.take_suffixed(), std::move(start));
  }
  tokens_.fail_expected("a statement or '}'");
}

// Only the token behind the first word tells a label from an opcode.
void FunctionParser::label_or_instruction() {
  Instruction start;
  start.ptx_line = tokens_.current().line;
  const std::string_view text = tokens_.take_suffixed();
  if (!tokens_.at(':')) return instruction(text, std::move(start));
  if (text.find('.') != std::string_view::npos) return tokens_.fail_expected("an operand");
  tokens_.advance();
  if (tokens_.at_dotted("callprototype") || tokens_.at_dotted("calltargets") ||
      tokens_.at_dotted("branchtargets")) {
    return labelled_directive(text);
  }
  // A label stands for the instruction that comes next.
  labels_.push_back({text, static_cast<std::uint32_t>(function_->instructions.size())});
}

void FunctionParser::directive() {
  const std::string_view word = tokens_.current().text;
  if (word == "loc") return location();
  if (word == "reg") return registers();
  if (const auto space = find_space(word)) return variables(*space);
  if (word == "pragma") return pragma();
  if (word == "section") {
    tokens_.advance();
    if (tokens_.at(Token::Kind::Dotted)) tokens_.advance();
    return tokens_.skip_braces();
  }
  tokens_.fail_expected("a statement or '}'");
}

// `.pragma "nounroll", "…";`
void FunctionParser::pragma() {
  tokens_.advance();
  const auto next = static_cast<std::uint32_t>(function_->instructions.size());
  do {
    function_->pragmas.push_back({next, std::string(tokens_.expect_string())});
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

void FunctionParser::labelled_directive(std::string_view label) {
  const std::string_view word = tokens_.current().text;
  tokens_.advance();
  if (word == "callprototype") return call_prototype(label);
  if (word == "calltargets") return call_targets(label);
  branch_targets(label);
}

void FunctionParser::registers() {
  tokens_.advance();
  const Declarator declarator = declarations_.declarator(Space::Reg, Linkage::Internal);
  do {
    const std::string_view name = tokens_.expect_word("a register name");
    if (tokens_.failed()) return;
    add_registers(name, declarator.type, declarator.elements);
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

void FunctionParser::add_registers(std::string_view name, Type type, std::uint32_t elements) {
  auto& registers = function_->registers;
  const auto first = static_cast<std::uint32_t>(registers.size());
  if (!tokens_.accept('<')) {
    builder_.spend_registers(elements);
    if (elements == 1) {
      registers.push_back({std::string(name), type});
      return names_.bind(name, {.index = first});
    }
    for (std::uint32_t i = 0; i < elements; ++i) {
      registers.push_back({std::string(name) + "." + std::to_string(i), type});
    }
    return names_.bind(name,
                       {.kind = Binding::Kind::RegisterGroup, .index = first, .count = elements});
  }
  const std::uint64_t count = tokens_.expect_count("a register count", UINT32_MAX);
  tokens_.expect('>');
  if (elements != 1) return tokens_.fail("a range of vector registers is not supported");
  builder_.spend_registers(count);
  if (tokens_.failed()) return;
  registers.reserve(registers.size() + count);
  for (std::uint64_t i = 0; i < count; ++i) {
    registers.push_back({std::string(name) + std::to_string(i), type});
  }
  if (name.back() >= '0' && name.back() <= '9') {
    // `t1<3>` makes t10, t11, t12: where the prefix ends can only be told by the whole name.
    for (std::uint32_t i = 0; i < count; ++i) {
      made_names_.push_back(registers[first + i].name);
      names_.bind(made_names_.back(), {.index = first + i});
    }
    return;
  }
  // `%r<100>` is one binding, not a hundred: large functions have tens of thousands of registers.
  ranges_.bind(name, {.kind = Binding::Kind::RegisterRange,
                      .index = first,
                      .count = static_cast<std::uint32_t>(count)});
}

void FunctionParser::variables(Space space) {
  tokens_.advance();
  const Declarator declarator = declarations_.declarator(space, Linkage::Internal);
  do {
    std::string_view name;
    Variable variable = declarations_.variable(declarator, name);
    if (tokens_.failed()) return;
    if (space == Space::Global || space == Space::Const) {
      // Statics of a function live as long as the module; they only have a private name.
      const std::uint32_t symbol =
          builder_.add_private_variable(function_->name, std::move(variable));
      names_.bind(name, {.kind = Binding::Kind::Symbol, .index = symbol});
    } else {
      names_.bind(name, {.kind = Binding::Kind::Variable,
                         .index = static_cast<std::uint32_t>(function_->variables.size())});
      function_->variables.push_back(std::move(variable));
    }
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

// `.loc 2 261 5, function_name $L__info_string0+8, inlined_at 1 19 3`
void FunctionParser::location() {
  tokens_.advance();
  const auto position = [this](SourceLine& line) {
    line.file = static_cast<std::uint32_t>(tokens_.expect_count("a file number", kMaxFiles));
    line.line = static_cast<std::uint32_t>(tokens_.expect_count("a line", UINT32_MAX));
    const std::uint64_t column = tokens_.expect_count("a column", UINT32_MAX);
    return std::uint64_t{line.file} << 48U ^ std::uint64_t{line.line} << 16U ^ column;
  };
  SourceLine source;
  const std::uint64_t key = position(source);
  SourceLine caller = source;
  while (tokens_.accept(',')) {
    const std::string_view word = tokens_.expect_word("'function_name' or 'inlined_at'");
    if (word == "function_name") {
      tokens_.expect_word("a label");
      if (tokens_.accept('+')) tokens_.expect_count("an offset", UINT32_MAX);
    } else if (word == "inlined_at") {
      const std::uint64_t outer = position(caller);
      // The chain of calls is written outermost first, so the outer position is known by now.
      const auto known = inlined_.find(outer);
      if (known != inlined_.end()) caller = known->second;
    } else {
      return tokens_.fail_expected("'function_name' or 'inlined_at'");
    }
  }
  // Line 0 says that the compiler does not know: the line before is the better answer.
  if (source.line == 0) return;
  inlined_[key] = caller;
  source_ = source;
  caller_ = caller;
}

void FunctionParser::call_prototype(std::string_view label) {
  Prototype prototype;
  if (tokens_.at('(')) prototype.returns = declarations_.parameters();
  tokens_.expect_word("'_'");
  if (tokens_.at('(')) prototype.parameters = declarations_.parameters();
  tokens_.skip_statement();  // .noreturn, .abi_preserve
  names_.bind(label, {.kind = Binding::Kind::Prototype,
                      .index = static_cast<std::uint32_t>(function_->prototypes.size())});
  function_->prototypes.push_back(std::move(prototype));
}

// All targets of one table have the same signature: the first one's is taken.
void FunctionParser::call_targets(std::string_view label) {
  const std::string_view first = tokens_.expect_word("a function name");
  while (tokens_.accept(','))
    tokens_.expect_word("a function name");
  tokens_.expect(';');
  if (tokens_.failed()) return;
  const std::uint32_t* index = builder_.find_symbol(first);
  const Module& module = builder_.module();
  if (index == nullptr || module.symbols[*index].kind != Symbol::Kind::Function) {
    return tokens_.fail("not a function: " + std::string(first));
  }
  const Function& target = module.functions[module.symbols[*index].index];
  builder_.spend_variables(target.returns.size() + target.parameters.size());
  names_.bind(label, {.kind = Binding::Kind::Prototype,
                      .index = static_cast<std::uint32_t>(function_->prototypes.size())});
  function_->prototypes.push_back({target.returns, target.parameters});
}

void FunctionParser::branch_targets(std::string_view label) {
  const auto index = static_cast<std::uint32_t>(function_->branch_targets.size());
  names_.bind(label, {.kind = Binding::Kind::BranchTargets, .index = index});
  std::vector<std::uint32_t> targets;
  do {
    const std::uint32_t line = tokens_.current().line;
    const std::string_view name = tokens_.expect_word("a label");
    references_.push_back({name, line, true, index, static_cast<std::uint32_t>(targets.size())});
    targets.push_back(0);
  } while (tokens_.accept(','));
  tokens_.expect(';');
  function_->branch_targets.push_back(std::move(targets));
}

}  // namespace cuco::ptx
