// SPDX-License-Identifier: Apache-2.0
#include "program/preprocessed.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::program {
namespace {

using Tokens = std::vector<std::string>;

bool is_one_of(std::string_view token, std::span<const std::string_view> words) {
  return std::ranges::find(words, token) != words.end();
}

bool contains(std::span<const std::string> tokens, std::string_view word) {
  return std::ranges::find(tokens, word) != tokens.end();
}

constexpr std::array<std::string_view, 3> kOpen{"(", "[", "{"};
constexpr std::array<std::string_view, 3> kClose{")", "]", "}"};

/// The tokens of a text, brackets in their usual spelling.
Tokens tokens_of(std::string_view text) {
  Tokens plain;
  for (const std::string& token : tokens(text)) {
    const std::string pair = plain.empty() ? token : plain.back() + token;
    const bool other = pair == "<%" || pair == "%>" || pair == "<:" || pair == ":>";
    if (other) plain.pop_back();
    plain.push_back(!other         ? token
                    : pair == "<%" ? "{"
                    : pair == "%>" ? "}"
                    : pair == "<:" ? "["
                                   : "]");
  }
  return plain;
}

/// A region begins and ends at the same depth, and never gets below it.
bool is_balanced(const Tokens& tokens) {
  int depth = 0;
  for (const std::string& token : tokens) {
    if (is_one_of(token, kOpen)) ++depth;
    if (is_one_of(token, kClose) && --depth < 0) return false;
  }
  return depth == 0;
}

constexpr std::array<std::string_view, 3> kAsm{"asm", "__asm", "__asm__"};

/// Whether an asm stands where declarations do: a label that gives a function another symbol, or
/// assembly of its own. Inside of functions it is a kernel's business.
bool has_asm_outside_of_functions(const Tokens& tokens) {
  std::vector<bool> bodies;  // of the open braces: is it a function's, or a scope of declarations
  std::size_t head = 0;      // where the current declaration begins
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    const bool inside = std::ranges::find(bodies, true) != bodies.end();
    if (!inside && is_one_of(token, kAsm)) return true;
    if (token == "{") {
      const std::span<const std::string> declared(tokens.data() + head, i - head);
      const bool is_class = (contains(declared, "struct") || contains(declared, "class") ||
                             contains(declared, "union")) &&
                            !contains(declared, "(");
      const bool is_linkage =
          !declared.empty() && declared.front() == "extern" && declared.size() == 2;
      bodies.push_back(!contains(declared, "namespace") && !is_class && !is_linkage);
    }
    if (token == "}" && !bodies.empty()) bodies.pop_back();
    if (token == "{" || token == "}" || token == ";") head = i + 1;
  }
  return false;
}

/// What a string literal stands for, as far as it matters here.
std::string unquoted(std::string_view literal) {
  const std::size_t quote = literal.find('"');
  if (quote == std::string_view::npos) return "";
  if (quote > 0 && literal[quote - 1] == 'R') {
    const std::size_t open = literal.find('(', quote);
    const std::size_t close = literal.rfind(')');
    if (open >= close || close == std::string_view::npos) return "";
    return std::string(literal.substr(open + 1, close - open - 1));
  }
  std::string text;
  const std::size_t end = literal.size() - 1;
  for (std::size_t i = quote + 1; i < end; ++i) {
    if (literal[i] != '\\' || i + 1 >= end) {
      text += literal[i];
      continue;
    }
    const char kind = literal[++i];
    const bool is_octal = kind >= '0' && kind <= '7';
    if (kind != 'x' && kind != 'u' && kind != 'U' && !is_octal) {
      text += kind == 'n' || kind == 'r' || kind == 'v' || kind == 'f' ? '\n'
              : kind == 't'                                            ? ' '
                                                                       : kind;
      continue;
    }
    unsigned code = 0;
    const char* const from = literal.data() + i + (is_octal ? 0 : 1);
    const std::size_t digits = is_octal ? 3 : kind == 'u' ? 5 : kind == 'U' ? 9 : end;
    const char* const most = literal.data() + std::min(i + digits, end);
    const auto [next, error] = std::from_chars(from, most, code, is_octal ? 8 : 16);
    if (error == std::errc()) i = static_cast<std::size_t>(next - literal.data()) - 1;
    text += static_cast<char>(code);
  }
  return text;
}

/// Words with a full stop before them that PTX has inside of a function. The host's assembler has
/// others, which reach further than the function: conditions, macros, sections, symbols.
bool is_of_ptx(std::string_view word) {
  constexpr std::array<std::string_view, 14> kWords{
      "reg", "pred",   "param",         "shared",        "const",       "local", "align",
      "ptr", "pragma", "branchtargets", "callprototype", "calltargets", "uni",   "noreturn"};
  constexpr std::string_view kTypes = "busfev";
  const bool is_type = word.size() >= 2 && kTypes.find(word[0]) != std::string_view::npos &&
                       std::isdigit(static_cast<unsigned char>(word[1])) != 0;
  return is_type || is_one_of(word, kWords) || word.starts_with("bf16") || word == "tf32";
}

/// The first directive of an assembler in the text of an asm that PTX does not have.
std::string directive_in(std::string_view text) {
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    // ld.global, 1.5, %f.x: part of another word.
    const char before = at == 0 ? ' ' : text[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '$' ||
        before == '%' || before == '.') {
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const std::string_view word = text.substr(at + 1, end - at - 1);
    if (!word.empty() && !is_of_ptx(word)) return std::string(word);
  }
  return "";
}

/// The same of all that the tokens of a region have.
std::string assembler_directive(const Tokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_one_of(tokens[i], kAsm)) continue;
    // asm volatile("..." "..." : operands)
    std::string text;
    for (++i; i < tokens.size() && tokens[i] != ":" && tokens[i] != "::" && tokens[i] != ")"; ++i) {
      if (tokens[i].ends_with('"')) text += unquoted(tokens[i]);
    }
    if (std::string word = directive_in(text); !word.empty()) return word;
  }
  return "";
}

/// An attribute that makes one symbol stand for another.
bool has_alias(const Tokens& tokens) {
  constexpr std::array<std::string_view, 6> kWords{"alias",       "__alias__", "weakref",
                                                   "__weakref__", "ifunc",     "__ifunc__"};
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!is_one_of(tokens[i], kWords) || tokens[i + 1] != "(") continue;
    const std::size_t from = i < 12 ? 0 : i - 12;
    const std::span<const std::string> before(tokens.data() + from, i - from);
    if (contains(before, "__attribute__") || contains(before, "__attribute") ||
        contains(before, "gnu"))
      return true;
  }
  return false;
}

constexpr std::array<std::string_view, 3> kEntries{"cuco_setup", "cuco_run", "cuco_teardown"};

/// What the tokens of a region do that they may not.
std::string trouble_of(const Tokens& tokens) {
  if (!is_balanced(tokens)) return "a bracket is opened or closed that is not its own";
  for (const std::string& token : tokens) {
    if (is_one_of(token, kEntries)) return fmt::format("{}, an entry point, is named", token);
  }
  if (has_asm_outside_of_functions(tokens)) return "asm stands outside of a function";
  if (const std::string word = assembler_directive(tokens); !word.empty()) {
    return fmt::format(".{}, a directive of the assembler that is not one of PTX, stands in an asm",
                       word);
  }
  if (has_alias(tokens)) return "an attribute gives a function another symbol";
  return "";
}

/// Pragmas that are about the statement behind them, about warnings, or about macros, whose effect
/// on frozen code is compared.
bool is_local(std::string_view pragma) {
  constexpr std::array<std::string_view, 15> kLocal{
      "unroll",      "nounroll",  "GCC unroll", "GCC ivdep", "GCC diagnostic",
      "GCC warning", "GCC error", "nv_diag",    "diag_",     "nv_exec_check_disable",
      "push_macro",  "pop_macro", "message",    "once",      "hd_warning_disable"};
  return std::ranges::any_of(kLocal, [&](auto name) { return pragma.starts_with(name); });
}

/// "# 12 "file" 1": where the lines that follow come from.
struct LineMarker {
  int line = 0;
  std::string_view file;
  bool enters = false;
  bool leaves = false;
};

std::optional<LineMarker> read_marker(std::string_view line) {
  if (!line.starts_with("# ")) return std::nullopt;
  LineMarker marker;
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + 2, end, marker.line);
  if (error != std::errc()) return std::nullopt;
  const std::string_view tail(rest, static_cast<std::size_t>(end - rest));
  const std::size_t open = tail.find('"');
  const std::size_t close = tail.rfind('"');
  if (open == std::string_view::npos || open == close) return std::nullopt;
  marker.file = tail.substr(open + 1, close - open - 1);
  for (const char flag : tail.substr(close + 1)) {
    marker.enters |= flag == '1';
    marker.leaves |= flag == '2';
  }
  return marker;
}

/// Reads the preprocessor's output line by line.
class Reader {
 public:
  Reader(std::string_view secret, std::size_t regions, std::string_view headers)
      : mark_(fmt::format("#pragma cuco_mark_{}_", secret)),
        marks_(2 * regions),
        headers_(headers) {
    result_.stretches.emplace_back();
  }

  FrozenText read(std::string_view output) {
    for (const std::string_view line : split(output, '\n')) {
      if (const auto marker = read_marker(line)) {
        follow(*marker);
      } else if (trim(line).starts_with(mark_)) {
        pass_mark(trim(line).substr(mark_.size()));
      } else {
        take(line);
        ++line_;
      }
      if (!result_.trouble.empty()) return std::move(result_);
    }
    if (passed_ != marks_) fail("a region reaches over frozen code");
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool in_region() const { return passed_ % 2 == 1; }

  void fail(std::string why) { result_.trouble = std::move(why); }

  void follow(const LineMarker& marker) {
    if (marker.enters) files_.push_back(std::string(marker.file));
    if (marker.leaves && !files_.empty()) files_.pop_back();
    line_ = marker.line;
  }

  void pass_mark(std::string_view number) {
    ++line_;
    if (number != std::to_string(passed_) || !files_.empty())
      return fail("a region reaches over frozen code, or brings it in twice");
    if (in_region()) {
      if (std::string why = trouble_of(tokens_of(region_)); !why.empty())
        return fail(fmt::format("in an evolve region, {}", why));
      if (packs_ != 0) return fail("a #pragma pack(push) of an evolve region stays open");
      region_.clear();
    }
    ++passed_;
    if (!in_region()) result_.stretches.emplace_back();
  }

  void take(std::string_view line) {
    if (trim(line).starts_with("#pragma")) {
      if (in_region() && files_.empty()) take_pragma(trim(line).substr(7));
      return;
    }
    if (in_region()) {
      if (files_.empty()) region_.append(line).append("\n");
      return;
    }
    const bool counts = files_.empty() || files_.back().starts_with(headers_);
    if (!counts) return;
    const std::string here = std::to_string(line_);
    for (const std::string& token : tokens(line)) {
      // assert() and its like know their line, which moves with the regions above it.
      result_.stretches.back() += token == here ? "__LINE__" : token;
      result_.stretches.back() += ' ';
    }
  }

  /// Most change what comes behind them, and what comes behind a region is frozen.
  void take_pragma(std::string_view pragma) {
    std::string words;
    for (const std::string& token : tokens(pragma))
      words += words.empty() ? token : " " + token;
    if (words.starts_with("pack ( push")) {
      ++packs_;
    } else if (words == "pack ( pop )" && packs_ > 0) {
      --packs_;
    } else if (!is_local(words) && !(words.starts_with("pack (") && packs_ > 0)) {
      fail(fmt::format(
          "a pragma of an evolve region, '{}', may change what stands behind the region",
          words.substr(0, 60)));
    }
  }

  std::string mark_;
  std::size_t marks_;
  std::string headers_;
  FrozenText result_;
  std::vector<std::string> files_;  ///< That are being included; empty: the program itself.
  std::string region_;              ///< The text of the current one.
  std::size_t passed_ = 0;          ///< Marks.
  int packs_ = 0;                   ///< #pragma pack(push) that the current region has not undone.
  int line_ = 0;
};

}  // namespace

Result<std::string> mark_regions(std::string_view source, std::string_view secret) {
  CUCO_TRY_ASSIGN(const auto regions, find_regions(source));
  std::string marked;
  std::size_t at = 0;
  std::size_t number = 0;
  const auto mark_line = [&](std::size_t begin, std::size_t end) {
    marked += source.substr(at, begin - at);
    // Becomes a #pragma, unless it stands in a literal or a comment.
    marked += fmt::format("_Pragma(\"cuco_mark_{}_{}\")\n", secret, number++);
    at = end;
  };
  for (const Region& region : regions) {
    // The markers' own lines: the one that ends where the region begins, the one it ends with.
    const std::size_t before = region.begin < 2 ? 0 : source.rfind('\n', region.begin - 2) + 1;
    mark_line(before, region.begin);
    const std::size_t newline = source.find('\n', region.end);
    mark_line(region.end, newline == std::string_view::npos ? source.size() : newline + 1);
  }
  return marked.append(source.substr(at));
}

FrozenText read_preprocessed(std::string_view output,
                             std::string_view secret,
                             std::size_t regions,
                             std::string_view headers) {
  return Reader(secret, regions, headers).read(output);
}

bool has_line_directive(std::string_view source) {
  // Whatever may begin a directive, in every spelling: more than that is refused, and nothing less.
  std::string joined;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::size_t next =
        source[i] == '\\' ? source.find_first_not_of(" \t\r\f\v", i + 1) : std::string_view::npos;
    if (next != std::string_view::npos && source[next] == '\n') {
      i = next;
      continue;
    }
    joined += source[i];
  }
  for (std::string_view line : split(joined, '\n')) {
    if (const std::size_t end = line.rfind("*/"); end != std::string_view::npos)
      line.remove_prefix(end + 2);
    line = trim(line);
    for (const std::string_view hash : {"#", "%:", "?\?="}) {
      if (!line.starts_with(hash)) continue;
      const std::string_view rest = trim(line.substr(hash.size()));
      const bool counted = !rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0;
      const bool named = rest == "line" || rest.starts_with("line ") ||
                         rest.starts_with("line\t") || rest.starts_with("line/");
      if (counted || named) return true;
    }
  }
  return false;
}

std::optional<FrozenDifference> first_difference(const FrozenText& seed,
                                                 const FrozenText& candidate) {
  for (std::size_t i = 0; i < std::max(seed.stretches.size(), candidate.stretches.size()); ++i) {
    const std::string was = i < seed.stretches.size() ? seed.stretches[i] : "";
    const std::string is = i < candidate.stretches.size() ? candidate.stretches[i] : "";
    if (was == is) continue;
    const auto [a, b] = std::ranges::mismatch(was, is);
    const auto at = static_cast<std::size_t>(a - was.begin());
    const std::size_t from = was.rfind(' ', at == 0 ? 0 : at - 1);
    const std::size_t begin = from == std::string::npos ? 0 : from + 1;
    constexpr std::size_t kMost = 80;
    return FrozenDifference{is.substr(std::min(begin, is.size()), kMost), was.substr(begin, kMost)};
  }
  return std::nullopt;
}

}  // namespace cuco::program
