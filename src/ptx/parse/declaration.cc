// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/declaration.h"

#include <algorithm>
#include <bit>

#include "ptx/parse/constant_expression.h"

namespace cuco::ptx {
namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 38U;
constexpr std::uint64_t kMaxDimensions = 8;
constexpr std::uint64_t kMaxAlign = 4096;
/// Stands for the size of `x[] = {…}` until its end is seen.
constexpr std::uint64_t kMaxInitialBytes = std::uint64_t{1} << 28U;

bool is_float(Type type) {
  return type == Type::F32 || type == Type::F64;
}

}  // namespace

std::optional<Space> find_space(std::string_view word) {
  if (word == "param") return Space::Param;
  if (word == "reg") return Space::Reg;
  if (word == "local") return Space::Local;
  if (word == "shared" || word == "shared::cta") return Space::Shared;
  if (word == "global" || word == "tex") return Space::Global;
  if (word == "const") return Space::Const;
  return std::nullopt;
}

Declarator DeclarationParser::declarator(Space space, Linkage linkage) {
  Declarator result{.space = space, .linkage = linkage};
  if (space == Space::Const && tokens_.accept('[')) {  // `.const[2]`: banks of old PTX.
    tokens_.expect_count("a bank number", 10);
    tokens_.expect(']');
  }
  while (tokens_.at(Token::Kind::Dotted)) {
    const std::string_view word = tokens_.current().text;
    if (const auto type = find_type(word)) {
      result.type = *type;
      tokens_.advance();
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      result.type = Type::B64;
      result.is_opaque = true;
      tokens_.advance();
    } else if (word == "attribute") {
      attribute(result);
    } else if (word == "align") {
      tokens_.advance();
      result.align = static_cast<std::uint32_t>(tokens_.expect_count("an alignment", kMaxAlign));
      if (!std::has_single_bit(result.align))
        return tokens_.fail_expected("a power of two"), result;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      result.elements = static_cast<std::uint32_t>(word[1] - '0');
      tokens_.advance();
    } else if (word == "ptr") {
      // What a pointer parameter points to: a hint to the compiler, no part of the parameter.
      tokens_.advance();
      while (tokens_.at(Token::Kind::Dotted)) {
        const bool align = tokens_.at_dotted("align");
        tokens_.advance();
        if (align) tokens_.expect_count("an alignment", kMaxAlign);
      }
    } else {
      tokens_.fail_expected("a type");
    }
  }
  if (result.type == Type::None) tokens_.fail_expected("a type");
  return result;
}

// `.attribute(.managed)`; others, such as .unified(…), are skipped.
void DeclarationParser::attribute(Declarator& declarator) {
  tokens_.advance();
  tokens_.expect('(');
  declarator.managed |= tokens_.at_dotted("managed");
  for (int depth = 1; depth > 0 && !tokens_.failed(); tokens_.advance()) {
    if (tokens_.at(Token::Kind::End)) return tokens_.fail_expected("')'");
    if (tokens_.at('(')) ++depth;
    if (tokens_.at(')')) --depth;
  }
}

// Only the first dimension may be left open.
std::vector<std::uint64_t> DeclarationParser::dimensions(bool& unsized) {
  std::vector<std::uint64_t> dims;
  while (tokens_.accept('[')) {
    if (tokens_.at(']') && dims.empty()) {
      unsized = true;
      dims.push_back(0);
    } else {
      const Constant size = parse_constant(tokens_);
      if (size.value < 0 || static_cast<std::uint64_t>(size.value) > kMaxVariableBytes) {
        tokens_.fail("array is too large");
      }
      dims.push_back(static_cast<std::uint64_t>(size.value));
    }
    tokens_.expect(']');
    if (dims.size() > kMaxDimensions) tokens_.fail("array has too many dimensions");
  }
  return dims;
}

Variable DeclarationParser::variable(const Declarator& declarator, std::string_view& name) {
  builder_.spend_variables(1);
  name = tokens_.expect_word("a name");
  bool unsized = false;
  const std::vector<std::uint64_t> dims = dimensions(unsized);
  Variable result;
  result.name = std::string(name);
  result.space = declarator.space;
  result.type = declarator.type;
  result.linkage = declarator.linkage;
  result.managed = declarator.managed;
  const std::uint32_t element = size_of(declarator.type) * declarator.elements;
  result.align = declarator.align != 0 ? declarator.align : element;
  result.bytes = element;
  for (const std::uint64_t dim : dims) {
    if (dim != 0 && result.bytes > kMaxVariableBytes / dim) {
      tokens_.fail("array is too large");
      return result;
    }
    result.bytes *= dim;
  }
  if (tokens_.accept('=')) initialiser(declarator, dims, unsized, result);
  return result;
}

void DeclarationParser::initialiser(const Declarator& declarator,
                                    const std::vector<std::uint64_t>& dims,
                                    bool unsized,
                                    Variable& variable) {
  // Textures and samplers are not supported; their initialisers are skipped, and uses trap.
  if (declarator.is_opaque) {
    if (tokens_.at('{')) return tokens_.skip_braces();
    while (!tokens_.at(';') && !tokens_.at(',') && !tokens_.at(Token::Kind::End))
      tokens_.advance();
    return;
  }
  if (!tokens_.at('{')) return initialiser_value(0, variable);
  // extents[i]: bytes of one element of the list at nesting level i.
  std::vector<std::uint64_t> extents;
  std::uint64_t bytes = size_of(declarator.type);
  extents.push_back(bytes);
  if (declarator.elements > 1) extents.push_back(bytes *= declarator.elements);
  for (std::size_t i = dims.size(); i-- > 1;)
    extents.push_back(bytes *= dims[i]);
  std::reverse(extents.begin(), extents.end());
  if (unsized) variable.bytes = kMaxInitialBytes;
  const std::uint64_t used = initialiser_list(extents, 0, 0, variable);
  if (unsized) variable.bytes = used;
}

std::uint64_t DeclarationParser::initialiser_list(const std::vector<std::uint64_t>& extents,
                                                  std::size_t level,
                                                  std::uint64_t offset,
                                                  Variable& variable) {
  tokens_.expect('{');
  std::uint64_t at = offset;
  while (!tokens_.at('}') && !tokens_.failed()) {
    if (tokens_.at('{')) {
      if (level + 1 >= extents.size()) {
        tokens_.fail("initialiser is nested deeper than the array");
        return at;
      }
      initialiser_list(extents, level + 1, at, variable);
      at += extents[level];
    } else {
      initialiser_value(at, variable);
      at += extents.back();
    }
    if (!tokens_.accept(',')) break;
  }
  tokens_.expect('}');
  return at;
}

void DeclarationParser::initialiser_value(std::uint64_t offset, Variable& variable) {
  const bool negative = tokens_.at('-');
  if (tokens_.at(Token::Kind::Float)) return float_value(offset, false, variable);
  if (tokens_.at(Token::Kind::Word) && tokens_.current().text != "WARP_SZ") {
    return address(offset, 0, variable);
  }
  // `0xFF00(symbol)`: one byte of an address.
  if (tokens_.at(Token::Kind::Integer) && tokens_.next_character() == '(') {
    const auto mask = static_cast<std::uint64_t>(tokens_.current().value);
    tokens_.advance();
    tokens_.expect('(');
    address(offset, mask, variable);
    return tokens_.expect(')');
  }
  if (negative && tokens_.next_is_float()) {
    tokens_.advance();
    return float_value(offset, true, variable);
  }
  const Constant constant = parse_constant(tokens_);
  if (variable.type == Type::F32) {
    const auto value = static_cast<float>(constant.value);
    return store(offset, std::bit_cast<std::uint32_t>(value), variable);
  }
  if (variable.type == Type::F64) {
    const auto value = static_cast<double>(constant.value);
    return store(offset, std::bit_cast<std::uint64_t>(value), variable);
  }
  store(offset, static_cast<std::uint64_t>(constant.value), variable);
}

void DeclarationParser::float_value(std::uint64_t offset, bool negative, Variable& variable) {
  const Token token = tokens_.current();
  tokens_.advance();
  double value = token.is_f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(token.value))
                              : std::bit_cast<double>(token.value);
  if (negative) value = -value;
  // Bits written as bits stay bits: NaN payloads must not pass through a conversion.
  if (!negative && (!is_float(variable.type) || token.is_f32 == (variable.type == Type::F32)) &&
      token.text.size() > 2 && (token.is_f32 || token.text[1] == 'd' || token.text[1] == 'D')) {
    return store(offset, static_cast<std::uint64_t>(token.value), variable);
  }
  if (size_of(variable.type) == 4) {
    return store(offset, std::bit_cast<std::uint32_t>(static_cast<float>(value)), variable);
  }
  store(offset, std::bit_cast<std::uint64_t>(value), variable);
}

void DeclarationParser::address(std::uint64_t offset, std::uint64_t mask, Variable& variable) {
  Relocation relocation;
  relocation.offset = offset;
  relocation.bytes = static_cast<std::uint8_t>(size_of(variable.type));
  if (mask != 0) {
    const int shift = std::countr_zero(mask);
    if (shift % 8 != 0 || mask >> static_cast<unsigned>(shift) != 0xFF) {
      return tokens_.fail("mask of an address must select one byte");
    }
    relocation.shift = static_cast<std::uint8_t>(shift);
  }
  std::string_view name = tokens_.expect_word("a name");
  relocation.generic = name == "generic" && tokens_.at('(');
  if (relocation.generic) {
    tokens_.expect('(');
    name = tokens_.expect_word("a name");
    if (tokens_.at('+') || tokens_.at('-')) relocation.addend = parse_constant(tokens_).value;
    tokens_.expect(')');
  }
  if (tokens_.at('+') || tokens_.at('-')) relocation.addend += parse_constant(tokens_).value;
  if (tokens_.failed()) return;
  store(offset, 0, variable);
  relocation.symbol = builder_.refer_to_symbol(name);
  variable.relocations.push_back(relocation);
}

// Memory is spent as bytes are written, not by declared size: a hostile `x[1000000000]` costs
// nothing.
void DeclarationParser::store(std::uint64_t offset, std::uint64_t bits, Variable& variable) {
  const std::uint64_t bytes = size_of(variable.type);
  if (offset + bytes > variable.bytes) return tokens_.fail("too many initialisers");
  if (variable.init.size() < offset + bytes) {
    builder_.spend_initial_bytes(offset + bytes - variable.init.size());
    if (tokens_.failed()) return;
    variable.init.resize(offset + bytes);
  }
  for (std::uint64_t i = 0; i < bytes && i < 8; ++i) {
    variable.init[offset + i] = static_cast<std::byte>(bits >> (8 * i));
  }
}

std::vector<Variable> DeclarationParser::parameters() {
  std::vector<Variable> result;
  tokens_.expect('(');
  while (!tokens_.at(')') && !tokens_.failed()) {
    const std::string_view word = tokens_.at(Token::Kind::Dotted) ? tokens_.current().text : "";
    const auto space = find_space(word);
    if (!space || (*space != Space::Param && *space != Space::Reg)) {
      tokens_.fail_expected("'.param' or '.reg'");
      break;
    }
    tokens_.advance();
    std::string_view name;
    result.push_back(variable(declarator(*space, Linkage::Internal), name));
    if (!tokens_.accept(',')) break;
  }
  tokens_.expect(')');
  return result;
}

std::array<std::uint32_t, 3> DeclarationParser::extents() {
  std::array<std::uint32_t, 3> result = {1, 1, 1};
  for (std::uint32_t& extent : result) {
    extent = static_cast<std::uint32_t>(tokens_.expect_count("a count", UINT32_MAX));
    if (!tokens_.accept(',')) break;
  }
  return result;
}

}  // namespace cuco::ptx
