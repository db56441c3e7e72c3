// SPDX-License-Identifier: Apache-2.0
#include "program/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/hash.h"

namespace cuco::program {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Longest first. A wrong split only makes two equal codes look different, which costs one
// evaluation.
constexpr std::array<std::string_view, 27> kPunctuation{
    "<<<", ">>>", "<=>", "->*", "...", "<<=", ">>=", "::", "->", "++", "--", "<<", ">>", "<=",
    ">=",  "==",  "!=",  "&&",  "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^="};

/// Cuts the text from the front, one token at a time.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    while (skip_layout()) {
      if (const char c = text_[at_]; c == '#' && at_line_start_) {
        in_directive_ = true;
        take(1);
      } else if (is_word(c)) {
        take_word();
      } else if (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
        take_number();
      } else if (c == '"' || c == '\'') {
        take_literal(at_);
      } else {
        take_punctuation();
      }
      at_line_start_ = false;
    }
    end_line();
    return std::move(tokens_);
  }

  std::vector<Identifier> run_for_identifiers() {
    (void)run();
    return std::move(identifiers_);
  }

 private:
  /// Moves to the next token's first byte; false at the end.
  bool skip_layout() {
    while (at_ < text_.size()) {
      const auto rest = text_.substr(at_);
      if (rest.starts_with("\\\n")) {
        at_ += 2;
      } else if (rest.front() == '\n') {
        end_line();
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(rest.front())) != 0) {
        ++at_;
      } else if (rest.starts_with("//")) {
        skip_to("\n", 0);
      } else if (rest.starts_with("/*")) {
        skip_to("*/", 2);
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_to(std::string_view mark, std::size_t beyond) {
    const auto found = text_.find(mark, at_ + beyond);
    at_ = found == std::string_view::npos ? text_.size() : found + beyond;
  }

  void end_line() {
    if (in_directive_) tokens_.emplace_back("\n");
    in_directive_ = false;
    at_line_start_ = true;
  }

  void take(std::size_t length) {
    tokens_.emplace_back(text_.substr(at_, length));
    at_ += length;
  }

  void take_word() {
    if (is_digit(text_[at_])) return take_number();
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end]))
      ++end;
    // A short word right before a quote is an encoding or raw-string prefix.
    if (end < text_.size() && end - at_ <= 3 && text_[end] == '"') return take_literal(end);
    identifiers_.push_back({text_.substr(at_, end - at_), at_});
    take(end - at_);
  }

  void take_number() {
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end];
      const char before = text_[end - 1];
      const bool exponent_sign = (c == '+' || c == '-') &&
                                 (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      if (!is_word(c) && c != '.' && c != '\'' && !exponent_sign) break;
      ++end;
    }
    take(end - at_);
  }

  void take_literal(std::size_t quote) {
    if (quote > at_ && text_[quote - 1] == 'R') {
      const auto open = text_.find('(', quote);
      if (open != std::string_view::npos) {
        const auto close = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
        const auto end = text_.find(close, open);
        return take((end == std::string_view::npos ? text_.size() : end + close.size()) - at_);
      }
    }
    std::size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    take(std::min(end + 1, text_.size()) - at_);
  }

  void take_punctuation() {
    for (const auto mark : kPunctuation) {
      if (text_.substr(at_).starts_with(mark)) return take(mark.size());
    }
    take(1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool at_line_start_ = true;
  bool in_directive_ = false;
  std::vector<std::string> tokens_;
  std::vector<Identifier> identifiers_;
};

}  // namespace

std::vector<std::string> tokens(std::string_view text) {
  return Lexer(text).run();
}

std::vector<Identifier> identifiers(std::string_view text) {
  return Lexer(text).run_for_identifiers();
}

std::string normalised_hash(const Source& source) {
  std::string all;
  for (const auto& file : source.files()) {
    all += file.path + '\0';
    for (const auto& token : tokens(file.text))
      all += token + ' ';
  }
  return content_id(all);
}

}  // namespace cuco::program
