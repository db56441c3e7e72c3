// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/constant_expression.h"

#include <array>

namespace cuco::ptx {
namespace {

constexpr int kMaxDepth = 64;

enum class Op : std::uint8_t {
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Eq,
  Ne,
  Le,
  Ge,
  Shl,
  Shr,
  Lt,
  Gt,
  Add,
  Sub,
  Mul,
  Div,
  Rem
};

struct OpSpelling {
  char first;
  char second;  ///< 0: a single character.
  Op op;
  int precedence;
};

// Two-character operators come before the one-character ones that they begin with.
constexpr std::array<OpSpelling, 18> kOps = {{
    {'|', '|', Op::Or, 1},
    {'&', '&', Op::And, 2},
    {'=', '=', Op::Eq, 6},
    {'!', '=', Op::Ne, 6},
    {'<', '=', Op::Le, 7},
    {'>', '=', Op::Ge, 7},
    {'<', '<', Op::Shl, 8},
    {'>', '>', Op::Shr, 8},
    {'|', 0, Op::BitOr, 3},
    {'^', 0, Op::BitXor, 4},
    {'&', 0, Op::BitAnd, 5},
    {'<', 0, Op::Lt, 7},
    {'>', 0, Op::Gt, 7},
    {'+', 0, Op::Add, 9},
    {'-', 0, Op::Sub, 9},
    {'*', 0, Op::Mul, 10},
    {'/', 0, Op::Div, 10},
    {'%', 0, Op::Rem, 10},
}};

const OpSpelling* operator_at(const TokenStream& tokens) {
  if (!tokens.at(Token::Kind::Mark)) return nullptr;
  for (const OpSpelling& op : kOps) {
    if (op.second == 0 ? tokens.at(op.first) : tokens.at_pair(op.first, op.second)) return &op;
  }
  return nullptr;
}

Constant truth(bool value) {
  return {value ? 1 : 0, false};
}

Constant divide(TokenStream& tokens, Op op, Constant a, Constant b, bool is_unsigned) {
  if (b.value == 0) {
    tokens.fail("division by zero in a constant expression");
    return {};
  }
  const auto ua = static_cast<std::uint64_t>(a.value);
  const auto ub = static_cast<std::uint64_t>(b.value);
  if (is_unsigned) {
    return {static_cast<std::int64_t>(op == Op::Div ? ua / ub : ua % ub), true};
  }
  // INT64_MIN / -1 overflows; negation modulo 2^64 is what hardware gives.
  if (b.value == -1) return {op == Op::Div ? static_cast<std::int64_t>(0 - ua) : 0, false};
  return {op == Op::Div ? a.value / b.value : a.value % b.value, false};
}

Constant shift(Op op, Constant a, Constant b) {
  const auto amount = static_cast<std::uint64_t>(b.value);
  const auto bits = static_cast<std::uint64_t>(a.value);
  if (op == Op::Shl) {
    return {amount > 63 ? 0 : static_cast<std::int64_t>(bits << amount), a.is_unsigned};
  }
  if (a.is_unsigned) return {amount > 63 ? 0 : static_cast<std::int64_t>(bits >> amount), true};
  return {a.value >> (amount > 63 ? 63 : amount), false};
}

// NOLINTNEXTLINE(readability-function-size): one line per operator
Constant apply(TokenStream& tokens, Op op, Constant a, Constant b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const auto ua = static_cast<std::uint64_t>(a.value);
  const auto ub = static_cast<std::uint64_t>(b.value);
  const auto wrap = [&](std::uint64_t value) {
    return Constant{static_cast<std::int64_t>(value), is_unsigned};
  };
  switch (op) {
    case Op::Or:
      return truth(a.value != 0 || b.value != 0);
    case Op::And:
      return truth(a.value != 0 && b.value != 0);
    case Op::BitOr:
      return wrap(ua | ub);
    case Op::BitXor:
      return wrap(ua ^ ub);
    case Op::BitAnd:
      return wrap(ua & ub);
    case Op::Eq:
      return truth(ua == ub);
    case Op::Ne:
      return truth(ua != ub);
    case Op::Le:
      return truth(is_unsigned ? ua <= ub : a.value <= b.value);
    case Op::Ge:
      return truth(is_unsigned ? ua >= ub : a.value >= b.value);
    case Op::Lt:
      return truth(is_unsigned ? ua < ub : a.value < b.value);
    case Op::Gt:
      return truth(is_unsigned ? ua > ub : a.value > b.value);
    case Op::Shl:
    case Op::Shr:
      return shift(op, a, b);
    case Op::Add:
      return wrap(ua + ub);
    case Op::Sub:
      return wrap(ua - ub);
    case Op::Mul:
      return wrap(ua * ub);
    case Op::Div:
    case Op::Rem:
      return divide(tokens, op, a, b, is_unsigned);
  }
  return {};
}

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  Constant conditional() {
    Deeper deeper(*this);
    const Constant condition = binary(1);
    if (!tokens_.accept('?')) return condition;
    const Constant yes = conditional();
    tokens_.expect(':');
    const Constant no = conditional();
    return condition.value != 0 ? yes : no;
  }

 private:
  /// Counts nesting: hostile text must not use up the stack.
  struct Deeper {
    explicit Deeper(ExpressionParser& owner) : parser(owner) {
      if (++parser.depth_ > kMaxDepth)
        parser.tokens_.fail("constant expression is nested too deep");
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --parser.depth_; }
    ExpressionParser& parser;
  };

  Constant binary(int least_precedence) {
    Constant left = unary();
    while (const OpSpelling* op = operator_at(tokens_)) {
      if (op->precedence < least_precedence) break;
      tokens_.advance();
      if (op->second != 0) tokens_.advance();
      const Constant right = binary(op->precedence + 1);
      left = apply(tokens_, op->op, left, right);
    }
    return left;
  }

  Constant unary() {
    Deeper deeper(*this);
    if (tokens_.accept('+')) return unary();
    if (tokens_.accept('-')) {
      const Constant operand = unary();
      return {static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(operand.value)),
              operand.is_unsigned};
    }
    if (tokens_.accept('~')) {
      const Constant operand = unary();
      return {~operand.value, operand.is_unsigned};
    }
    if (tokens_.accept('!')) return truth(unary().value == 0);
    if (tokens_.accept('(')) return parenthesis();
    return primary();
  }

  /// `(expression)` or a cast `(.s64) operand`.
  Constant parenthesis() {
    if (tokens_.at_dotted("s64") || tokens_.at_dotted("u64")) {
      const bool is_unsigned = tokens_.at_dotted("u64");
      tokens_.advance();
      tokens_.expect(')');
      return {unary().value, is_unsigned};
    }
    const Constant inner = conditional();
    tokens_.expect(')');
    return inner;
  }

  Constant primary() {
    const Token token = tokens_.current();
    if (token.kind == Token::Kind::Integer) {
      tokens_.advance();
      return {token.value, token.is_unsigned};
    }
    if (token.kind == Token::Kind::Word && token.text == "WARP_SZ") {
      tokens_.advance();
      return {32, false};
    }
    tokens_.fail_expected("a constant");
    return {};
  }

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace

bool at_constant(const TokenStream& tokens) {
  const Token& token = tokens.current();
  if (token.kind == Token::Kind::Integer) return true;
  if (token.kind == Token::Kind::Word) return token.text == "WARP_SZ";
  return tokens.at('-') || tokens.at('~') || tokens.at('!') || tokens.at('(') || tokens.at('+');
}

Constant parse_constant(TokenStream& tokens) {
  return ExpressionParser(tokens).conditional();
}

}  // namespace cuco::ptx
