// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX text as a stream of tokens, with the first error kept in the stream.
///
/// Errors are sticky: the first failure is recorded and the stream ends there, so that every loop
/// of the parser that stops at the end of the text also stops at an error, and grammar code reads
/// as grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    End,
    Word,     ///< Name, opcode or register: `add`, `%r1`, `$L__BB0_2`, `_`.
    Dotted,   ///< `.global`, `.param::entry`, `.1d`: text is without the leading dot.
    Integer,  ///< value; is_unsigned for a U suffix or one that needs the 64th bit.
    Float,    ///< value: bits of a double, or of a float if is_f32.
    String,   ///< text is without the quotes.
    Mark,     ///< One punctuation character.
  };
  Kind kind = Kind::End;
  char mark = 0;
  bool is_unsigned = false;
  bool is_f32 = false;
  std::uint32_t line = 1;
  std::int64_t value = 0;
  std::string_view text;
};

class TokenStream {
 public:
  explicit TokenStream(std::string_view text);

  [[nodiscard]] const Token& current() const { return current_; }
  void advance();

  [[nodiscard]] bool at(Token::Kind kind) const { return current_.kind == kind; }
  [[nodiscard]] bool at(char mark) const { return at(Token::Kind::Mark) && current_.mark == mark; }
  [[nodiscard]] bool at_dotted(std::string_view word) const {
    return at(Token::Kind::Dotted) && current_.text == word;
  }
  /// Whether the current mark is `first` and `second` follows it without a gap: `<<`, `::`.
  [[nodiscard]] bool at_pair(char first, char second) const;
  /// The character after the current token, white space skipped; 0 at the end.
  [[nodiscard]] char next_character() const;

  /// Whether the token after the current one is a floating-point literal: `-` `1.5`.
  [[nodiscard]] bool next_is_float() const;

  bool accept(char mark);
  bool accept_pair(char first, char second);
  bool accept_dotted(std::string_view word);

  /// Takes what is named, or fails with "expected …".
  void expect(char mark);
  std::string_view expect_word(std::string_view what);
  std::string_view expect_string();
  /// A non-negative integer literal of at most `limit`.
  std::uint64_t expect_count(std::string_view what, std::uint64_t limit);

  /// Takes the current word together with the suffixes written directly after it: `ld.global.u32`.
  std::string_view take_suffixed();

  /// Skips a balanced `{ … }`, e.g. a debug section.
  void skip_braces();
  /// Skips to the next ';' and takes it.
  void skip_statement();

  void fail(std::string_view message);
  /// Fails with "expected WHAT, found 'TOKEN'".
  void fail_expected(std::string_view what);
  void fail_at(std::uint32_t line, std::string_view message);
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Error error() const { return {ErrorKind::InvalidInput, message_}; }

 private:
  void skip_blank();
  void lex_number();
  void lex_float_bits(bool is_f32);
  void lex_decimal_float();
  void lex_string();
  [[nodiscard]] const char* end_of_word(const char* from) const;
  [[nodiscard]] const char* end_of_suffix(const char* dot) const;

  const char* cursor_;
  const char* end_;
  std::uint32_t line_ = 1;
  Token current_;
  bool failed_ = false;
  std::string message_;
};

}  // namespace cuco::ptx
