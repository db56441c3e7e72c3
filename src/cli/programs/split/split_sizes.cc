// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_sizes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

using analysis::Declared;
using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Statement;

constexpr int kDeepest = 16;  ///< Names that are made of names.

bool is_name(std::string_view word) {
  return !word.empty() &&
         (std::isalpha(static_cast<unsigned char>(word[0])) != 0 || word[0] == '_');
}

bool is_number(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0;
}

/// "1024" of "1024UL" and "1'024".
std::string plain_number(std::string_view word) {
  std::string digits;
  for (const char c : word) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  return digits;
}

/// What a container's constructor is given, or what a variable begins as.
std::string text_of(const Expression& value) {
  if (value.kind == ExpressionKind::Construct || value.kind == ExpressionKind::List)
    return value.operands.empty() ? std::string() : value.operands.front().text;
  return value.text;
}

/// The last number in the text: what "argc > 1 ? atoi(argv[1]) : 4096" is without arguments.
std::optional<long long> default_of(std::string_view text) {
  std::optional<long long> found;
  for (const std::string& token : program::tokens(text)) {
    if (!is_number(token)) continue;
    const std::string digits = plain_number(token);
    long long value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc())
      found = value;
  }
  return found;
}

Error no_arithmetic(std::string_view expression) {
  return {ErrorKind::InvalidInput, fmt::format("'{}' is no arithmetic", expression)};
}

bool is_integer(std::string_view type) {
  constexpr std::array<std::string_view, 5> kWords = {"int", "long", "size_t", "short", "unsigned"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return type.find(word) != std::string_view::npos; });
}

}  // namespace

std::string without_sizeof(std::string_view bytes) {
  const std::size_t begin = bytes.find("sizeof");
  if (begin == std::string_view::npos) return std::string(bytes);
  std::string rest(bytes);
  const std::size_t close = rest.find(')', begin);
  std::size_t end = close == std::string::npos ? rest.size() : close + 1;
  if (rest.find('(', begin) > close || rest.find('(', begin) == std::string::npos) {
    end = begin + std::string_view("sizeof ").size();
    while (end < rest.size() && (is_name(rest.substr(end, 1)) || is_number(rest.substr(end, 1))))
      ++end;
  }
  rest.erase(begin, end - begin);
  std::string_view left = trim(rest);
  while (left.ends_with('*') || left.ends_with(' '))
    left.remove_suffix(1);
  while (left.starts_with('*') || left.starts_with(' '))
    left.remove_prefix(1);
  return left.empty() ? "1" : std::string(left);
}

SplitSizes::SplitSizes(const analysis::Syntax& syntax,
                       const analysis::Function& main,
                       std::string_view text,
                       std::string ranks)
    : ranks_(std::move(ranks)) {
  const auto learn = [&](const Declared& declared, bool is_global) {
    if (declared.variable < 0) return;
    const auto& variable = syntax.variables[static_cast<std::size_t>(declared.variable)];
    known_[variable.name] = {variable.canonical.empty() ? variable.type : variable.canonical,
                             declared.value ? text_of(*declared.value) : std::string(), is_global};
  };
  for (const Declared& declared : syntax.globals)
    learn(declared, true);
  for (const Statement& statement : main.body->statements) {
    for (const Declared& declared : statement.declared)
      learn(declared, false);
  }
  // Macros are no part of the tree: "#define N 1024".
  for (const std::string_view line : split(text, '\n')) {
    const auto words = program::tokens(line);
    if (words.size() < 4 || words[0] != "#" || words[1] != "define" || words[3] == "(") continue;
    const std::size_t at = line.find(words[2]) + words[2].size();
    known_.try_emplace(words[2], Known{"int", std::string(trim(line.substr(at))), true});
  }
}

Result<std::string> SplitSizes::elements(const std::string& buffer, const std::string& bytes) {
  auto found = formula(without_sizeof(bytes), 0);
  if (found && found->starts_with('(') && found->find(')') == found->size() - 1)
    return found->substr(1, found->size() - 2);
  if (found) return found;
  return Error{ErrorKind::InvalidInput,
               fmt::format("the size of {} ({}) is no formula of sizes: {}", buffer, bytes,
                           found.error().message())};
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as names are made of names
Result<std::string> SplitSizes::value_of(const std::string& name, int depth) {
  if (name == ranks_) return std::string("ranks");
  const auto found = known_.find(name);
  if (found == known_.end())
    return Error{ErrorKind::InvalidInput, fmt::format("nothing is known of {}", name)};
  const Known known = found->second;
  const bool is_parameter =
      std::ranges::any_of(parameters_, [&](const SplitParameter& one) { return one.name == name; });
  if (is_parameter) return name;
  if (!known.value.empty()) {
    auto made = formula(known.value, depth + 1);
    if (made) return made;
  }
  const auto usual = default_of(known.value);
  if (known.is_global || !is_integer(known.type) || !usual || *usual < 1) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("nothing is known of {}, which begins as '{}'", name, known.value)};
  }
  parameters_.push_back({name, known.type, *usual});
  return name;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as names are made of names
Result<std::string> SplitSizes::formula(std::string_view expression, int depth) {
  if (depth > kDeepest) return Error{ErrorKind::InvalidInput, "names that lead to themselves"};
  const std::string elements = without_sizeof(expression);  // "bytes = n * sizeof(float)"
  const auto words = program::tokens(elements);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto next = [&](std::size_t by) { return i + by < words.size() ? words[i + by] : ""; };
    if (is_number(word)) {
      const auto number = default_of(word);
      const auto shift = next(1) == "<<" ? default_of(next(2)) : std::nullopt;
      if (!number || (shift && *shift > 40)) return no_arithmetic(expression);
      text += std::to_string(shift ? *number << *shift : *number);
      if (shift) i += 2;
    } else if (word == "static_cast" && next(1) == "<" && next(3) == ">") {
      i += 3;
    } else if (is_name(word)) {
      // "samples.size()", and casts: "size_t(n)", "(size_t)n".
      if (is_integer(word) || word == "std" || word == "const") {
        if (next(1) == ")" && text.ends_with('(')) {
          text.pop_back();
          ++i;
        }
        continue;
      }
      CUCO_TRY_ASSIGN(const std::string value, value_of(word, depth));
      if (next(1) == "." && next(2) == "size" && next(3) == "(" && next(4) == ")") i += 4;
      const bool simple = is_number(value) || is_name(value);
      const bool compound = value.find_first_of("+-*/ ") != std::string::npos;
      text += simple && !compound ? value : fmt::format("({})", value);
    } else if (word == "*" || word == "+" || word == "-" || word == "/") {
      text += fmt::format(" {} ", word);
    } else if (word == "(" || word == ")") {
      text += word;
    } else if (word != "::") {
      return no_arithmetic(expression);
    }
  }
  if (text.empty()) return Error{ErrorKind::InvalidInput, "it has no value in the text"};
  return text;
}

}  // namespace cuco::cli
