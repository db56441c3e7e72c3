// SPDX-License-Identifier: Apache-2.0
#include "workload/formula.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::workload {
namespace {

// Deep enough for any formula of a person, shallow enough for any stack.
constexpr int kMaxDepth = 100;

class Parser {
 public:
  Parser(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  Result<double> whole() {
    CUCO_TRY_ASSIGN(const double value, choice());
    if (!at_end()) return wrong("unexpected text");
    if (!std::isfinite(value)) return wrong("value is not finite");
    return value;
  }

 private:
  Result<double> choice() {
    if (++depth_ > kMaxDepth) return wrong("nested too deeply");
    CUCO_TRY_ASSIGN(const double condition, sum());
    double value = condition;
    if (take('?')) {
      CUCO_TRY_ASSIGN(const double yes, choice());
      if (!take(':')) return wrong("expected ':'");
      CUCO_TRY_ASSIGN(const double no, choice());
      value = condition != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

  Result<double> sum() {
    CUCO_TRY_ASSIGN(double value, product());
    while (true) {
      const bool plus = take('+');
      if (!plus && !take('-')) return value;
      CUCO_TRY_ASSIGN(const double other, product());
      value += plus ? other : -other;
    }
  }

  Result<double> product() {
    CUCO_TRY_ASSIGN(double value, factor());
    while (true) {
      const bool times = take('*');
      if (!times && !take('/')) return value;
      CUCO_TRY_ASSIGN(const double other, factor());
      value = times ? value * other : value / other;
    }
  }

  Result<double> factor() {
    if (++depth_ > kMaxDepth) return wrong("nested too deeply");
    if (take('-')) {
      CUCO_TRY_ASSIGN(const double value, factor());
      --depth_;
      return -value;
    }
    if (take('(')) {
      CUCO_TRY_ASSIGN(const double value, choice());
      if (!take(')')) return wrong("expected ')'");
      --depth_;
      return value;
    }
    --depth_;
    return atom();
  }

  Result<double> atom() {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    double number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (parsed.ec == std::errc() && !rest.empty() &&
        std::isdigit(static_cast<unsigned char>(rest[0])) != 0) {
      at_ += static_cast<std::size_t>(parsed.ptr - rest.data());
      return number;
    }
    std::size_t length = 0;
    while (length < rest.size() &&
           (std::isalnum(static_cast<unsigned char>(rest[length])) != 0 || rest[length] == '_')) {
      ++length;
    }
    if (length == 0) return wrong("expected a number or a name");
    const std::string_view name = rest.substr(0, length);
    if (name == "min" && rest.substr(length).starts_with('(')) {
      at_ += length + 1;
      return lesser();
    }
    const auto found = variables_.find(name);
    if (found == variables_.end()) return unknown(name);
    at_ += length;
    return found->second;
  }

  /// What follows "min(".
  Result<double> lesser() {
    CUCO_TRY_ASSIGN(const double left, choice());
    if (!take(',')) return wrong("expected ','");
    CUCO_TRY_ASSIGN(const double right, choice());
    if (!take(')')) return wrong("expected ')'");
    return std::min(left, right);
  }

  Error unknown(std::string_view name) const {
    std::vector<std::string> names;
    for (const auto& [known, value] : variables_)
      names.push_back(known);
    const auto near = nearest(name, names);
    return {ErrorKind::InvalidInput,
            fmt::format("unknown name: {}{}", name,
                        near ? fmt::format(" (did you mean {})", *near) : "")};
  }

  Error wrong(std::string_view what) const {
    return {ErrorKind::InvalidInput, fmt::format("{} at column {} of '{}'", what, at_ + 1, text_)};
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<double> evaluate(std::string_view expression, const Variables& variables) {
  return Parser(expression, variables).whole();
}

Result<std::string> choose(std::string_view expression, const Variables& variables) {
  const std::size_t question = expression.find('?');
  if (question == std::string_view::npos) return std::string(trim(expression));
  const std::size_t colon = expression.find(':', question);
  if (colon == std::string_view::npos) {
    return Error{ErrorKind::InvalidInput, fmt::format("expected ':' in '{}'", expression)};
  }
  CUCO_TRY_ASSIGN(const double condition, evaluate(expression.substr(0, question), variables));
  const auto yes = expression.substr(question + 1, colon - question - 1);
  return std::string(trim(condition != 0 ? yes : expression.substr(colon + 1)));
}

}  // namespace cuco::workload
