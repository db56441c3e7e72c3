// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace cuco::ptx {
namespace {

enum CharClass : std::uint8_t { kOther, kBlank, kWordStart, kDigit };

constexpr std::array<CharClass, 256> make_classes() {
  std::array<CharClass, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) {
    classes[static_cast<unsigned char>(c)] = kBlank;
  }
  for (unsigned c = 'a'; c <= 'z'; ++c)
    classes[c] = kWordStart;
  for (unsigned c = 'A'; c <= 'Z'; ++c)
    classes[c] = kWordStart;
  for (const char c : {'_', '$', '%'})
    classes[static_cast<unsigned char>(c)] = kWordStart;
  for (unsigned c = '0'; c <= '9'; ++c)
    classes[c] = kDigit;
  return classes;
}
constexpr auto kClasses = make_classes();

CharClass class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}
bool is_word_part(char c) {
  return class_of(c) >= kWordStart;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

TokenStream::TokenStream(std::string_view text)
    : cursor_(text.data()), end_(text.data() + text.size()) {
  advance();
}

void TokenStream::skip_blank() {
  while (cursor_ < end_) {
    if (class_of(*cursor_) == kBlank) {
      line_ += *cursor_ == '\n' ? 1 : 0;
      ++cursor_;
    } else if (*cursor_ == '/' && cursor_ + 1 < end_ && cursor_[1] == '/') {
      const void* newline = std::memchr(cursor_, '\n', static_cast<std::size_t>(end_ - cursor_));
      cursor_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
    } else if (*cursor_ == '/' && cursor_ + 1 < end_ && cursor_[1] == '*') {
      const std::string_view rest(cursor_, static_cast<std::size_t>(end_ - cursor_));
      const std::size_t close = rest.find("*/", 2);
      if (close == std::string_view::npos) return fail_at(line_, "comment is not closed");
      for (const char c : rest.substr(0, close))
        line_ += c == '\n' ? 1 : 0;
      cursor_ += close + 2;
    } else {
      return;
    }
  }
}

const char* TokenStream::end_of_word(const char* from) const {
  while (from < end_ && is_word_part(*from))
    ++from;
  return from;
}

// ".shared::cta" is one suffix.
const char* TokenStream::end_of_suffix(const char* dot) const {
  const char* at = end_of_word(dot + 1);
  while (end_ - at > 2 && at[0] == ':' && at[1] == ':' && is_word_part(at[2])) {
    at = end_of_word(at + 2);
  }
  return at;
}

void TokenStream::advance() {
  skip_blank();
  if (failed_) return;
  current_ = Token{};
  current_.line = line_;
  if (cursor_ >= end_) return;
  const char* start = cursor_;
  const CharClass kind = class_of(*start);
  // A '%' that no name follows is the remainder operator.
  const bool names = *start != '%' || (start + 1 < end_ && class_of(start[1]) == kWordStart);
  if (kind == kWordStart && names) {
    current_.kind = Token::Kind::Word;
    cursor_ = end_of_word(start + 1);
    current_.text = {start, static_cast<std::size_t>(cursor_ - start)};
  } else if (kind == kDigit) {
    lex_number();
  } else if (*start == '.' && start + 1 < end_ && is_word_part(start[1])) {
    current_.kind = Token::Kind::Dotted;
    cursor_ = end_of_suffix(start);
    current_.text = {start + 1, static_cast<std::size_t>(cursor_ - start - 1)};
  } else if (*start == '"') {
    lex_string();
  } else {
    current_.kind = Token::Kind::Mark;
    current_.mark = *start;
    current_.text = {start, 1};
    ++cursor_;
  }
}

void TokenStream::lex_string() {
  const char* start = ++cursor_;
  while (cursor_ < end_ && *cursor_ != '"' && *cursor_ != '\n') {
    cursor_ += *cursor_ == '\\' && cursor_ + 1 < end_ && cursor_[1] != '\n' ? 2 : 1;
  }
  if (cursor_ >= end_ || *cursor_ != '"') return fail_at(line_, "string is not closed");
  current_.kind = Token::Kind::String;
  current_.text = {start, static_cast<std::size_t>(cursor_ - start)};
  ++cursor_;
}

// 0f3F800000 and 0d3FF0…: the bits of a float or double, always all digits.
void TokenStream::lex_float_bits(bool is_f32) {
  const char* start = cursor_;
  const char* digits = cursor_ + 2;
  const int wanted = is_f32 ? 8 : 16;
  std::uint64_t bits = 0;
  int count = 0;
  while (digits < end_ && count < wanted && digit_value(*digits) < 16) {
    bits = bits << 4U | static_cast<std::uint64_t>(digit_value(*digits));
    ++digits;
    ++count;
  }
  if (count != wanted || (digits < end_ && is_word_part(*digits))) {
    return fail(is_f32 ? "expected 8 hexadecimal digits after 0f"
                       : "expected 16 hexadecimal digits after 0d");
  }
  current_.kind = Token::Kind::Float;
  current_.is_f32 = is_f32;
  current_.value = static_cast<std::int64_t>(bits);
  current_.text = {start, static_cast<std::size_t>(digits - start)};
  cursor_ = digits;
}

void TokenStream::lex_decimal_float() {
  double value = 0;
  const auto [rest, status] = std::from_chars(cursor_, end_, value);
  if (status == std::errc::invalid_argument) return fail("malformed number");
  current_.kind = Token::Kind::Float;
  current_.value = std::bit_cast<std::int64_t>(value);
  current_.text = {cursor_, static_cast<std::size_t>(rest - cursor_)};
  cursor_ = rest;
}

void TokenStream::lex_number() {
  const char* start = cursor_;
  const char second = start + 1 < end_ ? start[1] : '\0';
  int radix = 10;
  const char* at = start;
  if (*start == '0') {
    if (second == 'f' || second == 'F') return lex_float_bits(true);
    if (second == 'd' || second == 'D') return lex_float_bits(false);
    radix = second == 'x' || second == 'X' ? 16 : second == 'b' || second == 'B' ? 2 : 8;
    at += radix == 8 ? 1 : 2;
  }
  const char* digits = at;
  std::uint64_t value = 0;
  bool overflow = false;
  while (at < end_ && digit_value(*at) < radix) {
    const auto digit = static_cast<std::uint64_t>(digit_value(*at++));
    overflow |= __builtin_mul_overflow(value, static_cast<std::uint64_t>(radix), &value) ||
                __builtin_add_overflow(value, digit, &value);
  }
  // What began like an octal or decimal integer may turn out to be a float: start over.
  if (radix != 16 && radix != 2 && at < end_ && (*at == '.' || *at == 'e' || *at == 'E')) {
    return lex_decimal_float();
  }
  if (overflow) return fail("integer does not fit 64 bits");
  const bool suffix = at < end_ && (*at == 'U' || *at == 'u');
  if ((at == digits && radix != 8) || (at + suffix < end_ && is_word_part(at[suffix ? 1 : 0]))) {
    return fail("malformed number");
  }
  cursor_ = at + (suffix ? 1 : 0);
  current_.kind = Token::Kind::Integer;
  current_.is_unsigned = suffix || value > static_cast<std::uint64_t>(INT64_MAX);
  current_.value = static_cast<std::int64_t>(value);
  current_.text = {start, static_cast<std::size_t>(cursor_ - start)};
}

bool TokenStream::at_pair(char first, char second) const {
  return at(first) && cursor_ < end_ && *cursor_ == second;
}

char TokenStream::next_character() const {
  const char* at = cursor_;
  while (at < end_ && class_of(*at) == kBlank)
    ++at;
  return at < end_ ? *at : '\0';
}

bool TokenStream::next_is_float() const {
  TokenStream ahead = *this;
  ahead.advance();
  return ahead.at(Token::Kind::Float);
}

bool TokenStream::accept(char mark) {
  if (!at(mark)) return false;
  advance();
  return true;
}

bool TokenStream::accept_pair(char first, char second) {
  if (!at_pair(first, second)) return false;
  advance();
  advance();
  return true;
}

bool TokenStream::accept_dotted(std::string_view word) {
  if (!at_dotted(word)) return false;
  advance();
  return true;
}

void TokenStream::expect(char mark) {
  if (!accept(mark)) fail_expected(std::string("'") + mark + "'");
}

std::string_view TokenStream::expect_word(std::string_view what) {
  if (!at(Token::Kind::Word)) {
    fail_expected(what);
    return {};
  }
  const std::string_view word = current_.text;
  advance();
  return word;
}

std::string_view TokenStream::expect_string() {
  if (!at(Token::Kind::String)) {
    fail_expected("a string");
    return {};
  }
  const std::string_view text = current_.text;
  advance();
  return text;
}

std::uint64_t TokenStream::expect_count(std::string_view what, std::uint64_t limit) {
  if (!at(Token::Kind::Integer)) {
    fail_expected(what);
    return 0;
  }
  const auto value = static_cast<std::uint64_t>(current_.value);
  if (value > limit) {
    fail(std::string(what) + " is too large: " + std::string(current_.text));
    return 0;
  }
  advance();
  return value;
}

std::string_view TokenStream::take_suffixed() {
  const char* start = current_.text.data();
  while (cursor_ + 1 < end_ && *cursor_ == '.' && is_word_part(cursor_[1])) {
    cursor_ = end_of_suffix(cursor_);
  }
  const std::string_view all(start, static_cast<std::size_t>(cursor_ - start));
  advance();
  return all;
}

void TokenStream::skip_braces() {
  expect('{');
  for (std::size_t depth = 1; depth > 0 && !failed_; advance()) {
    if (at(Token::Kind::End)) return fail_expected("'}'");
    if (at('{')) ++depth;
    if (at('}')) --depth;
  }
}

void TokenStream::skip_statement() {
  while (!at(';') && !at(Token::Kind::End))
    advance();
  expect(';');
}

void TokenStream::fail(std::string_view message) {
  fail_at(current_.line, message);
}

void TokenStream::fail_expected(std::string_view what) {
  std::string found = "the end of the text";
  if (!at(Token::Kind::End)) {
    const std::string dot = at(Token::Kind::Dotted) ? "." : "";
    found = "'" + dot;
    for (const char c : current_.text.substr(0, 60))
      found += c >= ' ' && c <= '~' ? c : '?';
    found += "'";
  }
  fail("expected " + std::string(what) + ", found " + found);
}

// Only the first error counts. The stream is moved to its end, so that every loop of the parser
// ends without checking for errors itself.
void TokenStream::fail_at(std::uint32_t line, std::string_view message) {
  if (failed_) return;
  failed_ = true;
  message_ = "line " + std::to_string(line) + ": " + std::string(message);
  cursor_ = end_;
  current_ = Token{};
  current_.line = line;
}

}  // namespace cuco::ptx
