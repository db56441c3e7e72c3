// SPDX-License-Identifier: Apache-2.0
// The instruction half of FunctionParser: opcode, guard, operands.
#include <algorithm>
#include <array>
#include <bit>

#include "ptx/parse/constant_expression.h"
#include "ptx/parse/function_parser.h"

namespace cuco::ptx {
namespace {

constexpr int kMaxOperandDepth = 4;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits "%r12" into "%r" and 12; false if no range could have made the name.
bool split_number(std::string_view name, std::string_view& prefix, std::uint32_t& number) {
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[name.size() - 1 - digits]))
    ++digits;
  if (digits == 0 || digits > 9) return false;
  const std::size_t start = name.size() - digits;
  // `%r<10>` makes %r1, never %r01.
  if (digits > 1 && name[start] == '0') return false;
  number = 0;
  for (const char c : name.substr(start))
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  prefix = name.substr(0, start);
  return true;
}

Operand make(Operand::Kind kind, std::uint32_t index) {
  Operand result;
  result.kind = kind;
  result.index = index;
  return result;
}

Operand make_integer(std::int64_t value) {
  Operand result;
  result.kind = Operand::Kind::Integer;
  result.value = value;
  return result;
}

}  // namespace

void FunctionParser::guard(Instruction& instruction) {
  instruction.guarded = true;
  instruction.guard_negated = tokens_.accept('!');
  const std::string_view name = tokens_.expect_word("a predicate register");
  if (tokens_.failed()) return;
  std::uint32_t number = 0;
  const Binding* binding = find(name, number);
  if (binding == nullptr || binding->kind > Binding::Kind::RegisterRange) {
    return tokens_.fail("not a predicate register: " + std::string(name));
  }
  instruction.guard = binding->index + number;
}

// A module uses few opcodes very often, so each text is decoded once.
const DecodedOpcode& FunctionParser::decode(std::string_view text) {
  const auto known = decoded_.find(text);
  if (known != decoded_.end()) return known->second;
  DecodedOpcode result;
  std::size_t end = text.find('.');
  result.opcode = find_opcode(text.substr(0, end));
  while (end != std::string_view::npos) {
    const std::size_t start = end + 1;
    end = text.find('.', start);
    const std::string_view word =
        text.substr(start, end == std::string_view::npos ? end : end - start);
    // Types and modifiers share one syntax; their order within each kind is what later stages rely
    // on.
    if (const auto type = find_type(word)) {
      result.types.push_back(*type);
    } else {
      result.modifiers.push_back(find_modifier(word));
    }
  }
  return decoded_.emplace(std::string(text), std::move(result)).first->second;
}

void FunctionParser::instruction(std::string_view text, Instruction start) {
  start.text = std::string(text);
  while (tokens_.at(Token::Kind::Dotted)) {  // `ld .global`: white space is allowed, but rare.
    start.text += "." + std::string(tokens_.current().text);
    tokens_.advance();
  }
  const DecodedOpcode& decoded = decode(start.text);
  start.opcode = decoded.opcode;
  start.modifiers = decoded.modifiers;
  start.types = decoded.types;
  start.source = source_;
  start.caller = caller_;
  if (start.opcode == Opcode::Call) {
    call(start);
  } else if (!tokens_.at(';')) {
    operand_list(start);
  }
  tokens_.expect(';');
  if (!tokens_.failed()) function_->instructions.push_back(std::move(start));
}

void FunctionParser::operand_list(Instruction& instruction) {
  operands_.clear();
  const bool branch = instruction.opcode == Opcode::Bra;
  const bool indexed = instruction.opcode == Opcode::Brx;
  do {
    const auto slot = static_cast<std::uint32_t>(operands_.size());
    if (branch && slot == 0) {
      operands_.push_back(label(slot));
    } else if (indexed && slot == 1 && tokens_.at(Token::Kind::Word)) {
      const Binding* table = names_.find(tokens_.current().text);
      if (table == nullptr || table->kind != Binding::Kind::BranchTargets) {
        return tokens_.fail_expected("the label of a .branchtargets list");
      }
      instruction.targets = static_cast<std::int32_t>(table->index);
      tokens_.advance();
    } else {
      operands_.push_back(operand(0));
    }
  } while (tokens_.accept(','));
  instruction.operands.assign(std::make_move_iterator(operands_.begin()),
                              std::make_move_iterator(operands_.end()));
}

// Branches may go forward, so labels are resolved when their block closes.
Operand FunctionParser::label(std::uint32_t slot) {
  const std::uint32_t line = tokens_.current().line;
  const std::string_view name = tokens_.expect_word("a label");
  references_.push_back(
      {name, line, false, static_cast<std::uint32_t>(function_->instructions.size()), slot});
  return make(Operand::Kind::Label, 0);
}

// `call (ret…), target, (arg…), prototype;` where all but the target may be missing.
void FunctionParser::call(Instruction& instruction) {
  CallSite site;
  if (tokens_.at('(')) {
    site.returns = call_operands();
    tokens_.expect(',');
  }
  site.target = operand(0);
  const bool callable =
      site.target.kind == Operand::Kind::Register ||
      (site.target.kind == Operand::Kind::Symbol &&
       builder_.module().symbols[site.target.index].kind == Symbol::Kind::Function);
  if (!callable) return tokens_.fail("call needs a function or a register");
  if (tokens_.accept(',')) {
    if (tokens_.at('(')) {
      site.arguments = call_operands();
      if (tokens_.accept(',')) site.prototype = call_prototype_operand();
    } else {
      site.prototype = call_prototype_operand();
    }
  }
  instruction.call = static_cast<std::int32_t>(function_->calls.size());
  function_->calls.push_back(std::move(site));
}

std::vector<Operand> FunctionParser::call_operands() {
  std::vector<Operand> result;
  tokens_.expect('(');
  while (!tokens_.at(')') && !tokens_.failed()) {
    result.push_back(operand(0));
    if (!tokens_.accept(',')) break;
  }
  tokens_.expect(')');
  return result;
}

std::int32_t FunctionParser::call_prototype_operand() {
  const std::string_view name = tokens_.expect_word("a prototype");
  if (tokens_.failed()) return -1;
  const Binding* binding = names_.find(name);
  if (binding != nullptr && binding->kind == Binding::Kind::Prototype) {
    return static_cast<std::int32_t>(binding->index);
  }
  // A table of functions in memory may stand here; it says nothing that the arguments do not.
  if (builder_.find_symbol(name) == nullptr) {
    tokens_.fail("not a prototype or list of targets: " + std::string(name));
  }
  return -1;
}

Operand FunctionParser::operand(int depth) {
  if (depth > kMaxOperandDepth) {
    tokens_.fail("operand is nested too deep");
    return {};
  }
  if (tokens_.at('{')) return vector(depth);
  if (tokens_.at('[')) return address(depth);
  if (tokens_.at('!') || tokens_.at('-')) {
    const char next = tokens_.next_character();
    // `-%r1` and `!%p1` negate an operand; `-5` and `-WARP_SZ` are constant expressions.
    if (next == '%' || next == '_' || next == '$' || (next >= 'a' && next <= 'z') ||
        (next >= 'A' && next <= 'Z' && next != 'W')) {
      tokens_.advance();
      Operand result = named();
      result.negated = true;
      return result;
    }
    return literal();
  }
  if (tokens_.at(Token::Kind::Word)) return named();
  return literal();
}

Operand FunctionParser::literal() {
  const bool negative = tokens_.at('-') && tokens_.next_is_float();
  if (negative) tokens_.advance();
  if (!tokens_.at(Token::Kind::Float)) {
    if (!at_constant(tokens_)) {
      tokens_.fail_expected("an operand");
      return {};
    }
    return make_integer(parse_constant(tokens_).value);
  }
  const Token token = tokens_.current();
  tokens_.advance();
  Operand result;
  result.kind = Operand::Kind::Float;
  result.is_f32 = token.is_f32;
  auto bits = static_cast<std::uint64_t>(token.value);
  if (negative) bits ^= std::uint64_t{1} << (token.is_f32 ? 31U : 63U);
  result.value = static_cast<std::int64_t>(bits);
  return result;
}

Operand FunctionParser::named() {
  const std::string_view name = tokens_.expect_word("an operand");
  if (tokens_.failed()) return {};
  Operand first = name == "_" ? Operand{} : resolve(name);
  if (tokens_.failed()) return first;
  if (first.kind == Operand::Kind::Register && tokens_.at(Token::Kind::Dotted)) {
    part_of_register(first);
  }
  const bool can_pair = first.kind == Operand::Kind::Register || first.kind == Operand::Kind::None;
  if (can_pair && tokens_.accept('|')) {
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    const std::string_view second = tokens_.expect_word("a register");
    pair.elements.reserve(2);
    pair.elements.push_back(std::move(first));
    pair.elements.push_back(second == "_" || tokens_.failed() ? Operand{} : resolve(second));
    return pair;
  }
  if (first.kind == Operand::Kind::Symbol || first.kind == Operand::Kind::Local) {
    if (tokens_.at('+') || tokens_.at('-')) first.value = parse_constant(tokens_).value;
  }
  return first;
}

const Binding* FunctionParser::find(std::string_view name, std::uint32_t& number) const {
  const Binding* binding = names_.find(name);
  std::string_view prefix;
  if (split_number(name, prefix, number)) {
    const Binding* range = ranges_.find_range(prefix, number);
    // The innermost declaration wins, whether it made one register or a range.
    if (range != nullptr && (binding == nullptr || binding->depth < range->depth)) {
      return range;
    }
  }
  number = 0;
  return binding;
}

Operand FunctionParser::resolve(std::string_view name) {
  std::uint32_t number = 0;
  if (const Binding* binding = find(name, number)) {
    switch (binding->kind) {
      case Binding::Kind::Register:
      case Binding::Kind::RegisterRange:
        return make(Operand::Kind::Register, binding->index + number);
      case Binding::Kind::RegisterGroup:
        return register_group(*binding);
      case Binding::Kind::Variable:
        return make(Operand::Kind::Local, binding->index);
      case Binding::Kind::Symbol:
        return make(Operand::Kind::Symbol, binding->index);
      default:
        tokens_.fail("not an operand: " + std::string(name));
        return {};
    }
  }
  // After the program's own names: registers may be named like special ones.
  if (name.front() == '%') return special_register(name);
  if (const std::uint32_t* symbol = builder_.find_symbol(name)) {
    return make(Operand::Kind::Symbol, *symbol);
  }
  if (name == "WARP_SZ") return make_integer(32);
  tokens_.fail("name is not declared: " + std::string(name));
  return {};
}

// `%v` or `%v.y` of `.reg .v4 .f32 %v`.
Operand FunctionParser::register_group(const Binding& binding) {
  constexpr std::array<std::string_view, 8> kFields = {"x", "y", "z", "w", "r", "g", "b", "a"};
  if (tokens_.at(Token::Kind::Dotted)) {
    const auto field = std::find(kFields.begin(), kFields.end(), tokens_.current().text);
    const auto index = static_cast<std::uint32_t>(field - kFields.begin()) % 4;
    if (field == kFields.end() || index >= binding.count) {
      tokens_.fail_expected("a component of the vector register");
      return {};
    }
    tokens_.advance();
    return make(Operand::Kind::Register, binding.index + index);
  }
  Operand result;
  result.kind = Operand::Kind::Vector;
  for (std::uint32_t i = 0; i < binding.count; ++i) {
    result.elements.push_back(make(Operand::Kind::Register, binding.index + i));
  }
  return result;
}

// `%laneid`, `%tid.x`, or `%tid` for the whole vector, whose fourth component is 0.
Operand FunctionParser::special_register(std::string_view name) {
  Operand result;
  result.kind = Operand::Kind::Special;
  if (const auto special = find_special_register(name)) {
    result.special = *special;
    return result;
  }
  const std::string full(name);
  const bool has_field = tokens_.at(Token::Kind::Dotted);
  const std::string field = has_field ? std::string(tokens_.current().text) : "x";
  const auto special = find_special_register(full + "." + field);
  if (special && has_field) {
    tokens_.advance();
    result.special = *special;
    return result;
  }
  if (special) {
    result.kind = Operand::Kind::Vector;
    for (const char* component : {".x", ".y", ".z"}) {
      Operand element;
      element.kind = Operand::Kind::Special;
      element.special = *find_special_register(full + component);
      result.elements.push_back(element);
    }
    result.elements.push_back(make_integer(0));
    return result;
  }
  if (find_special_register(full + ".x") && field == "w") {
    tokens_.advance();
    return make_integer(0);
  }
  // Performance counters and the other driver registers exist; what reads them may never run.
  if (full.starts_with("%pm") || full.starts_with("%envreg")) return result;
  tokens_.fail("register is not declared: " + full);
  return result;
}

void FunctionParser::part_of_register(Operand& operand) {
  constexpr std::array<std::string_view, 7> kParts = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
  const auto part = std::find(kParts.begin() + 1, kParts.end(), tokens_.current().text);
  if (part == kParts.end()) return tokens_.fail_expected("',' or ';'");
  operand.part = static_cast<Part>(part - kParts.begin());
  tokens_.advance();
}

Operand FunctionParser::vector(int depth) {
  Operand result;
  result.kind = Operand::Kind::Vector;
  tokens_.expect('{');
  while (!tokens_.at('}') && !tokens_.failed()) {
    result.elements.push_back(operand(depth + 1));
    if (!tokens_.accept(',')) break;
  }
  tokens_.expect('}');
  if (!tokens_.accept('|')) return result;
  Operand pair;  // `{%r1, %r2, %r3, %r4}|%p1` of sparse textures.
  pair.kind = Operand::Kind::Pair;
  pair.elements.push_back(std::move(result));
  pair.elements.push_back(operand(depth + 1));
  return pair;
}

// `[base]`, `[base+offset]`, `[base, {coordinates}]`.
Operand FunctionParser::address(int depth) {
  Operand result;
  result.kind = Operand::Kind::Address;
  tokens_.expect('[');
  Operand base = operand(depth + 1);
  switch (base.kind) {
    case Operand::Kind::Register:
    case Operand::Kind::Integer:
      if (tokens_.at('+') || tokens_.at('-')) result.value = parse_constant(tokens_).value;
      break;
    case Operand::Kind::Symbol:
    case Operand::Kind::Local:
      std::swap(result.value, base.value);
      break;
    default:
      tokens_.fail("address needs a register, a variable or a number");
      return result;
  }
  result.elements.push_back(std::move(base));
  while (tokens_.accept(','))
    result.elements.push_back(operand(depth + 1));
  tokens_.expect(']');
  return result;
}

}  // namespace cuco::ptx
