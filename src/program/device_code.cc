// SPDX-License-Identifier: Apache-2.0
//
// Not a C++ parser: at namespace scope a declaration ends with ';' or has braces, and the tokens
// before the braces say what it is. Anything else counts as doubt, and doubt means that the whole
// program is compiled.
#include "program/device_code.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace cuco::program {
namespace {

enum class Kind { Word, Text, Mark, Directive, Comment };

struct Token {
  Kind kind = Kind::Mark;
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Where a quoted text that begins at `at` ends; npos if it does not.
std::size_t end_of_quoted(std::string_view source, std::size_t at) {
  const char quote = source[at];
  for (std::size_t i = at + 1; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (source[i] == quote) {
      return i + 1;
    } else if (source[i] == '\n') {
      break;
    }
  }
  return std::string_view::npos;
}

/// A directive with the lines that it continues on.
std::size_t end_of_directive(std::string_view source, std::size_t at) {
  for (std::size_t i = at; i < source.size(); ++i) {
    if (source[i] == '\\' && source.substr(i, 2) == "\\\n") ++i;
    if (source[i] == '\n' && source[i - 1] != '\\') return i;
    if (source.substr(i, 2) == "/*") return std::string_view::npos;  // may hide the line's end
  }
  return source.size();
}

std::optional<std::vector<Token>> tokenize(std::string_view source) {
  std::vector<Token> tokens;
  bool line_begins = true;
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    std::size_t end = i + 1;
    Kind kind = Kind::Mark;
    if (c == '\n') line_begins = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
      continue;
    }
    if (c == '\\' || source.substr(i, 2) == "%:") return std::nullopt;  // spellings of old
    if (source.substr(i, 2) == "//") {
      kind = Kind::Comment;
      end = std::min(source.find('\n', i), source.size());
      if (source[end - 1] == '\\') return std::nullopt;
    } else if (source.substr(i, 2) == "/*") {
      kind = Kind::Comment;
      end = source.find("*/", i + 2);
      if (end == std::string_view::npos) return std::nullopt;
      end += 2;
    } else if (c == '#') {
      if (!line_begins) return std::nullopt;
      kind = Kind::Directive;
      end = end_of_directive(source, i);
    } else if (c == '"' || c == '\'') {
      // Raw and other literals with a prefix: what this lexer takes for their end may not be it.
      if (i > 0 && is_word_char(source[i - 1])) return std::nullopt;
      kind = Kind::Text;
      end = end_of_quoted(source, i);
    } else if (is_word_char(c)) {
      kind = Kind::Word;  // numbers with their separators too
      while (end < source.size() &&
             (is_word_char(source[end]) ||
              (source[end] == '\'' && std::isdigit(static_cast<unsigned char>(c)) != 0)))
        ++end;
    }
    if (end == std::string_view::npos) return std::nullopt;
    if (kind != Kind::Comment) line_begins = false;
    tokens.push_back({kind, i, end});
    i = end;
  }
  return tokens;
}

class Splitter {
 public:
  Splitter(std::string_view source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  std::optional<DeviceSplit> split() {
    const auto first = std::ranges::find_if(tokens_, [](const Token& token) {
      return token.kind != Kind::Comment && token.kind != Kind::Directive;
    });
    if (first == tokens_.end()) return std::nullopt;
    result_.preamble = source_.substr(0, first->begin);
    result_.device = source_;
    int depth = 0;
    for (std::size_t at = 0; at < tokens_.size();) {
      const Token& token = tokens_[at];
      if (token.kind == Kind::Comment) {
        ++at;
      } else if (token.kind == Kind::Directive) {
        keep(at, at + 1);
        result_.host += '\n';
        ++at;
      } else if (text(at) == "}") {
        if (--depth < 0) return std::nullopt;
        keep(at, at + 1);
        ++at;
      } else if (!declaration(&at, &depth)) {
        return std::nullopt;
      }
    }
    if (depth != 0) return std::nullopt;
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string_view text(std::size_t at) const {
    return source_.substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin);
  }

  /// These tokens are of the host, too.
  void keep(std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) {
      if (tokens_[at].kind == Kind::Comment) continue;
      result_.host += text(at);
      result_.host += ' ';
    }
  }

  /// The device's compiler does not get to see these; lines stay where they are.
  void hide(std::size_t from, std::size_t to) {
    for (std::size_t i = tokens_[from].begin; i < tokens_[to - 1].end; ++i) {
      if (result_.device[i] != '\n') result_.device[i] = ' ';
    }
  }

  /// "#pragma unroll" belongs to the statement after it and to nothing else.
  [[nodiscard]] bool is_pragma(std::size_t at) const {
    const std::string_view rest = text(at).substr(1);
    return rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size())).starts_with("pragma");
  }

  /// One past the brace that closes the one at `open`; a directive in between is doubt,
  /// but for a pragma.
  [[nodiscard]] std::optional<std::size_t> past_braces(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open; at < tokens_.size(); ++at) {
      if (tokens_[at].kind == Kind::Directive && !is_pragma(at)) return std::nullopt;
      if (text(at) == "{") ++depth;
      if (text(at) == "}" && --depth == 0) return at + 1;
    }
    return std::nullopt;
  }

  struct Head {
    bool function = false;
    bool initialised = false;  ///< '=' before the braces.
    bool global = false;
    bool device = false;
    bool host = false;
    bool scope = false;  ///< namespace X, extern "C"
    /// The host may ask for what the body says: a type that it gives, a value at compile time.
    bool visible = false;
  };

  [[nodiscard]] Head read_head(std::size_t from, std::size_t to) const {
    Head head;
    std::vector<std::string_view> words;
    int angles = 0;
    for (std::size_t at = from; at < to; ++at) {
      const std::string_view word = text(at);
      if (tokens_[at].kind == Kind::Comment) continue;
      words.push_back(word);
      head.global |= word == "__global__";
      head.device |= word == "__device__";
      head.host |= word == "__host__";
      head.visible |= word == "auto" || word == "decltype" || word == "constexpr" ||
                      word == "consteval" || word == "noexcept" || word == "requires";
      if (word == "<") ++angles;
      if (word == ">") --angles;
      const bool attribute = at > from && text(at - 1) == "__launch_bounds__";
      if (angles == 0 && word == "(" && !attribute) head.function = true;
      if (angles == 0 && word == "=" && !head.function) head.initialised = true;
    }
    const bool c_linkage = words.size() == 2 && words[0] == "extern" && words[1] == "\"C\"";
    head.scope = c_linkage || std::ranges::find(words, "namespace") != words.end();
    return head;
  }

  /// From `at` to the end of one declaration, or into the scope that it opens.
  bool declaration(std::size_t* at, int* depth) {
    const std::size_t from = *at;
    std::size_t end = from;
    int parens = 0;
    for (;; ++end) {
      if (end == tokens_.size() || tokens_[end].kind == Kind::Directive) return false;
      const std::string_view word = text(end);
      if (tokens_[end].kind == Kind::Mark && word == "(") ++parens;
      if (tokens_[end].kind == Kind::Mark && word == ")") --parens;
      if (word == "}") return false;
      if (parens == 0 && (word == ";" || word == "{")) break;
      if (parens > 0 && word == "{") return false;  // a lambda, a braced argument
    }
    if (text(end) == ";") {
      keep(from, end + 1);
      *at = end + 1;
      return true;
    }
    const Head head = read_head(from, end);
    if (head.scope) {
      keep(from, end + 1);
      ++*depth;
      *at = end + 1;
      return true;
    }
    const auto past = past_braces(end);
    if (end == from || !past) return false;
    *at = *past;
    if (!head.function || head.initialised) {  // a class, an enumeration, a list of values
      while (*at < tokens_.size() && text(*at) != ";") {
        if (tokens_[*at].kind == Kind::Directive || text(*at) == "{") return false;
        ++*at;
      }
      if (*at == tokens_.size()) return false;
      keep(from, ++*at);
    } else if (head.global) {
      keep(from, end);
      result_.host += "{} ";
    } else if (!head.device) {
      keep(from, *past);
      hide(from, *past);
    } else if (head.host || head.visible) {
      keep(from, *past);
    }
    return true;
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  DeviceSplit result_;
};

}  // namespace

std::optional<DeviceSplit> split_device_code(std::string_view source) {
  // What depends on the place, on the compiler, or on how often it has been asked.
  // Friends may be declared by what a body instantiates.
  constexpr std::array<std::string_view, 8> kDoubtful{"__LINE__", "__COUNTER__", "__CUDACC_RTC__",
                                                      "__NVCC__", "__TIME__",    "_Pragma",
                                                      "friend",   "__DATE__"};
  for (const std::string_view word : kDoubtful) {
    if (source.find(word) != std::string_view::npos) return std::nullopt;
  }
  auto tokens = tokenize(source);
  if (!tokens) return std::nullopt;
  return Splitter(source, *std::move(tokens)).split();
}

}  // namespace cuco::program
