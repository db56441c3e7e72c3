// SPDX-License-Identifier: Apache-2.0
#include "judge/screen.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "program/regions.h"
#include "program/tokens.h"
#include "system/os/shared_library.h"

namespace cuco::judge {
namespace {

using candidate::ScreenRejected;

/// The parts of a file that candidates may not change, and those that they may.
struct Parts {
  std::string frozen;
  std::string evolved;
  std::vector<std::string> regions;  ///< `evolved` one by one.
};

Result<Parts> split_parts(std::string_view text) {
  CUCO_TRY_ASSIGN(const auto regions, program::find_regions(text));
  Parts parts;
  std::size_t at = 0;
  for (const program::Region& region : regions) {
    parts.frozen += text.substr(at, region.begin - at);
    parts.regions.emplace_back(text.substr(region.begin, region.end - region.begin));
    parts.evolved += parts.regions.back();
    at = region.end;
  }
  parts.frozen += text.substr(at);
  return parts;
}

/// As the preprocessor reads it: lines joined, the other spelling of '#' made plain.
std::string plain_spelling(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "%:") {
      plain += '#';
      ++i;
      continue;
    }
    // The compiler lets blanks stand between a backslash and the end of the line.
    const std::size_t next = text[i] == '\\' ? text.find_first_not_of(" \t\r\f\v", i + 1) : i;
    if (next != i && next != std::string_view::npos && text[next] == '\n') {
      i = next;
      continue;
    }
    plain += text[i];
  }
  return plain;
}

bool is_name(std::string_view token) {
  return !token.empty() && (token[0] == '_' || (token[0] >= 'a' && token[0] <= 'z') ||
                            (token[0] >= 'A' && token[0] <= 'Z'));
}

/// The first name that a macro takes away from frozen code. Such a macro, placed above, changes
/// what the frozen lines mean without changing a byte of them.
std::optional<std::string> redefined_name(const Parts& parts) {
  std::set<std::string> used;
  for (const std::string& token : program::tokens(parts.frozen)) {
    if (is_name(token)) used.insert(token);
  }
  const auto tokens = program::tokens(plain_spelling(parts.evolved));
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] != "#" || (tokens[i + 1] != "define" && tokens[i + 1] != "undef")) continue;
    if (used.contains(tokens[i + 2])) return tokens[i + 2];
  }
  return std::nullopt;
}

/// Where a quoted text ends that begins at `quote`: behind it, or npos if it has no end.
std::size_t end_of_literal(std::string_view text, std::size_t quote) {
  if (text[quote] == '"' && quote > 0 && text[quote - 1] == 'R') {
    const std::size_t open = text.find('(', quote);
    if (open == std::string_view::npos) return open;
    const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
    const std::size_t end = text.find(close, open);
    return end == std::string_view::npos ? end : end + close.size();
  }
  std::size_t end = quote + 1;
  while (end < text.size() && text[end] != text[quote] && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// A comment or a raw string that a region opens and does not close: it would swallow frozen code.
std::optional<std::string> unclosed_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return "a comment";
      i = end + 2;
    } else if (text[i] == '"' ||
               (text[i] == '\'' &&
                (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
      i = end_of_literal(text, i);
      if (i == std::string_view::npos) return "a raw string";
    } else {
      ++i;
    }
  }
  return std::nullopt;
}

/// A condition of the preprocessor that does not begin and end in the same region.
std::optional<std::string> unclosed_condition(std::string_view text) {
  const auto tokens = program::tokens(text);
  int depth = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i] != "#") continue;
    const std::string& word = tokens[i + 1];
    if (word == "if" || word == "ifdef" || word == "ifndef") ++depth;
    if (depth == 0 && (word.starts_with("el") || word == "endif")) return "#" + word;
    if (word == "endif") --depth;
  }
  return depth > 0 ? std::optional<std::string>("#if") : std::nullopt;
}

/// What reaches out of its region into frozen code.
std::optional<std::string> left_open(const Parts& parts) {
  for (const std::string& region : parts.regions) {
    const std::string plain = plain_spelling(region);
    if (auto text = unclosed_text(plain)) return text;
    if (auto condition = unclosed_condition(plain)) return condition;
  }
  return std::nullopt;
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return name.starts_with(p); });
}

// Names that an honest candidate imports: CUDA, NCCL, the compiler's run time, plain C and C++.
constexpr std::array<std::string_view, 20> kAllowedPrefixes{
    "cuda",  "__cuda",  "nccl",        "__cxa_", "_ZSt",         "_ZNSt",       "_ZNKSt",
    "_Zn",   "_Zd",     "_ZTI",        "_ZTV",   "_ZTS",         "_ZTT",        "__gxx",
    "_ITM_", "_Unwind", "__stack_chk", "__gmon", "__memcpy_chk", "__memset_chk"};
constexpr std::array<std::string_view, 59> kAllowedNames{
    "exit",      "memcpy",  "memmove",       "memset",        "memcmp",        "strlen",
    "strcmp",    "strncmp", "strcpy",        "malloc",        "free",          "calloc",
    "realloc",   "abort",   "atexit",        "printf",        "fprintf",       "snprintf",
    "vsnprintf", "puts",    "putchar",       "fputs",         "fwrite",        "fflush",
    "stderr",    "stdout",  "__assert_fail", "__printf_chk",  "__fprintf_chk", "__snprintf_chk",
    "sqrt",      "sqrtf",   "exp",           "expf",          "log",           "logf",
    "pow",       "powf",    "log2",          "log2f",         "exp2",          "exp2f",
    "ceil",      "ceilf",   "floor",         "floorf",        "round",         "roundf",
    "fmod",      "fmodf",   "sin",           "cos",           "sincos",        "tanh",
    "tanhf",     "erff",    "qsort",         "aligned_alloc", "posix_memalign"};
// Parts of the C++ library that reach beyond computation.
constexpr std::array<std::string_view, 8> kForbiddenPrefixes{
    "_ZNSt6thread",         "_ZNSt10filesystem",     "_ZNSt7__cxx1110filesystem",
    "_ZNSt13basic_filebuf", "_ZNSt14basic_ofstream", "_ZNSt14basic_ifstream",
    "_ZNSt13basic_fstream", "_ZNSt6chrono"};

bool is_allowed_import(std::string_view name) {
  if (starts_with_any(name, kForbiddenPrefixes)) return false;
  return starts_with_any(name, kAllowedPrefixes) ||
         std::ranges::find(kAllowedNames, name) != kAllowedNames.end();
}

std::string describe_edit(const program::FrozenEdit& edit) {
  if (edit.was == edit.is) {
    return fmt::format(
        "the layout of the line '{}' outside the evolve regions was changed: blanks, "
        "or line ends (CRLF)",
        printable(edit.was.substr(0, 120)));
  }
  return fmt::format("a line outside the evolve regions was changed from '{}' to '{}'",
                     printable(edit.was.substr(0, 120)), printable(edit.is.substr(0, 120)));
}

// gcc's own frame_dummy and nvcc's registration of the kernels; gcc's own clean-up at the end.
constexpr std::size_t kInitEntries = 2;
constexpr std::size_t kFiniEntries = 1;
// What the C library's own start and end files have there, and room for another version of them.
constexpr std::uint64_t kInitBytes = 28;
constexpr std::uint64_t kFiniBytes = 16;

}  // namespace

Result<std::optional<ScreenRejected>> screen_source(std::string_view seed,
                                                    std::string_view candidate) {
  const auto edit = program::find_frozen_edit(seed, candidate);
  if (!edit) return std::optional(ScreenRejected{"regions", edit.error().message(), {}});
  if (*edit) {
    return std::optional(ScreenRejected{
        "frozen bytes", describe_edit(**edit), {.file = "program.cu", .line = (*edit)->line}});
  }
  CUCO_TRY_ASSIGN(const Parts parts, split_parts(candidate));
  if (program::has_line_directive(parts.evolved)) {
    return std::optional(ScreenRejected{
        "line directive", "an evolve region claims to be another file or line (#line)", {}});
  }
  if (const auto what = left_open(parts)) {
    return std::optional(ScreenRejected{
        "open region",
        fmt::format("{} begins or ends in an evolve region and reaches over frozen code", *what),
        {}});
  }
  if (const auto name = redefined_name(parts)) {
    return std::optional(ScreenRejected{
        "macro", fmt::format("a macro redefines '{}', which frozen code uses", *name), {}});
  }
  return std::optional<ScreenRejected>();
}

std::optional<ScreenRejected> screen_frozen(const program::FrozenText& seed,
                                            const program::FrozenText& candidate) {
  if (!candidate.trouble.empty()) return ScreenRejected{"frozen code", candidate.trouble, {}};
  const auto difference = program::first_difference(seed, candidate);
  if (!difference) return std::nullopt;
  return ScreenRejected{
      "frozen code",
      fmt::format("an evolve region changes what frozen code means to the compiler: '{}' instead "
                  "of '{}'",
                  printable(difference->is), printable(difference->was)),
      {}};
}

std::optional<ScreenRejected> screen_object(const toolchain::ElfFacts& facts) {
  const auto reject = [](std::string rule, std::string reason) {
    return std::optional(ScreenRejected{std::move(rule), std::move(reason), {}});
  };
  for (const char* name : {"cuco_setup", "cuco_run", "cuco_teardown"}) {
    if (!facts.defined.contains(name)) {
      return reject("entry points", fmt::format("the program does not define {}", name));
    }
  }
  for (const std::string& name : facts.defined) {
    const bool cuda =
        name.starts_with("cuda") || name.starts_with("nccl") || name.starts_with("__cuda");
    // Instances of templates (_Z...) and the linker's own marks (_end, _init) are everybody's.
    const bool foreign = !name.starts_with("_") && system::is_library_symbol(name);
    if (cuda || foreign) {
      return reject("defined symbols",
                    fmt::format("the program defines {}, a library's name", name));
    }
  }
  for (const std::string& name : facts.undefined) {
    if (!is_allowed_import(name)) {
      return reject("imports", fmt::format("the program uses {}, which no workload needs", name));
    }
  }
  if (facts.init_entries > kInitEntries || facts.fini_entries > kFiniEntries ||
      facts.init_bytes > kInitBytes || facts.fini_bytes > kFiniBytes) {
    return reject("load-time code",
                  "the program runs code of its own when it is loaded or unloaded (a global "
                  "constructor or destructor)");
  }
  if (facts.has_ifunc) return reject("load-time code", "the program has an indirect function");
  return std::nullopt;
}

}  // namespace cuco::judge
