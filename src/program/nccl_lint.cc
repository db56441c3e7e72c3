// SPDX-License-Identifier: Apache-2.0
#include "program/nccl_lint.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>

namespace cuco::program {
namespace {

/// The text with comments and literals blanked, so that positions and lines stay.
std::string blank(std::string_view text) {
  std::string code(text);
  std::size_t i = 0;
  const auto erase_to = [&](std::size_t end) {
    for (; i < std::min(end, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  while (i < code.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      erase_to(text.find('\n', i));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      erase_to(end == std::string_view::npos ? end : end + 2);
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(
                                                  text[i - 1])) == 0))) {  // 1'000 is a number
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != text[i] && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      erase_to(end + 1);
    } else {
      ++i;
    }
  }
  return code;
}

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The arguments of a call whose "(" is next after `at`, or after template arguments there; empty:
/// it is not a call.
std::vector<std::string_view> arguments_of(std::string_view code, std::size_t at) {
  at = code.find_first_not_of(" \t\n", at);
  if (at != std::string_view::npos && code[at] == '<') {
    const std::size_t end = code.find('>', at);
    at = end == std::string_view::npos ? end : code.find_first_not_of(" \t\n", end + 1);
  }
  if (at == std::string_view::npos || code[at] != '(') return {};
  std::vector<std::string_view> arguments;
  std::size_t depth = 0;
  std::size_t start = at + 1;
  for (; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    const bool ends = (c == ')' || c == '}' || c == ']') && --depth == 0;
    if (!ends && (c != ',' || depth != 1)) continue;
    arguments.push_back(code.substr(start, at - start));
    start = at + 1;
    if (ends) return arguments;
  }
  return {};
}

/// "1.5f", "2.", "(float)x", "float(x)": of floating-point type for sure.
bool is_floating(std::string_view argument) {
  for (const std::string_view word : {"float", "double", "half", "bfloat16"}) {
    if (argument.find(word) != std::string_view::npos) return true;
  }
  for (std::size_t i = 1; i < argument.size(); ++i) {
    if (argument[i] == '.' && std::isdigit(static_cast<unsigned char>(argument[i - 1])) != 0) {
      return true;
    }
  }
  return false;
}

using Arguments = std::vector<std::string_view>;

/// One bug of 2.28.9.
struct Rule {
  std::string_view name;  ///< Of the function.
  /// Does the bug affect a call with these arguments and this text between name and parenthesis?
  bool (*applies)(std::string_view template_arguments, const Arguments& arguments);
  std::string_view mangled;  ///< What stands in the name of the inlined function; empty: nothing.
  std::string_view message;
};

constexpr Rule kRules[] = {
    {"waitSignalFollowShadow",
     [](std::string_view, const Arguments& arguments) { return !arguments.empty(); },
     "22waitSignalFollowShadow",
     "ncclGin::waitSignalFollowShadow of NCCL 2.28.9 does not update the shadow, so the next "
     "wait does not wait; fixed in 2.29.7. On 2.28.9 add the delta with increaseSignalShadow"},
    {"waitCounter",
     [](std::string_view, const Arguments& arguments) { return arguments.size() >= 4; }, "",
     "ncclGin::waitCounter of NCCL 2.28.9 ignores `bits`, so it hangs when the counter wraps "
     "at fewer than 64; fixed in 2.30.7. On 2.28.9 count in 64 bits"},
    {"putValue",
     [](std::string_view template_arguments, const Arguments& arguments) {
       return is_floating(template_arguments) ||
              (arguments.size() >= 4 &&
               std::any_of(arguments.begin() + 3, arguments.end(), is_floating));
     },
     "8putValueI[fd]",
     "ncclGin::putValue of NCCL 2.28.9 converts a floating-point value to an integer instead of "
     "sending its bits; fixed in 2.29.7. On 2.28.9 pass __float_as_uint(value)"},
};

/// Does the mangled name contain the rule's pattern? [xy] stands for one of these characters.
bool holds(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return false;
  const std::size_t bracket = pattern.find('[');
  const std::string_view fixed = pattern.substr(0, bracket);
  for (std::size_t at = name.find(fixed); at != std::string_view::npos;
       at = name.find(fixed, at + 1)) {
    if (bracket == std::string_view::npos) return true;
    const std::size_t next = at + fixed.size();
    const std::string_view choices = pattern.substr(bracket + 1, pattern.size() - bracket - 2);
    if (next < name.size() && choices.find(name[next]) != std::string_view::npos) return true;
  }
  return false;
}

/// The strings of .debug_str by label: nvcc writes their bytes as decimal numbers.
std::map<std::string, std::string, std::less<>> strings_of(std::string_view ptx) {
  std::map<std::string, std::string, std::less<>> strings;
  std::size_t at = ptx.find(".debug_str");
  std::string* current = nullptr;
  while (at < ptx.size()) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("}")) break;
    if (line.starts_with("$") && line.ends_with(":")) {
      current = &strings[std::string(line.substr(0, line.size() - 1))];
    } else if (line.starts_with(".b8 ") && current != nullptr) {
      for (std::size_t i = 4; i < line.size(); i = std::min(line.find(',', i), line.size()) + 1) {
        int value = 0;
        std::from_chars(line.data() + i, line.data() + line.size(), value);
        if (value != 0) current->push_back(static_cast<char>(value));
      }
    }
  }
  return strings;
}

/// Names by number of the .file lines.
std::map<int, std::string> files_of(std::string_view ptx) {
  std::map<int, std::string> files;
  constexpr std::string_view kWord = ".file";
  for (std::size_t at = ptx.find(kWord); at != std::string_view::npos;
       at = ptx.find(kWord, at + 1)) {
    int number = 0;
    const std::size_t digits = ptx.find_first_not_of(" \t", at + kWord.size());
    if (digits == std::string_view::npos) break;
    std::from_chars(ptx.data() + digits, ptx.data() + ptx.size(), number);
    const std::size_t open = ptx.find('"', at);
    const std::size_t close = ptx.find('"', open + 1);
    if (close == std::string_view::npos) break;
    files[number] = std::string(ptx.substr(open + 1, close - open - 1));
  }
  return files;
}

}  // namespace

std::vector<NcclWarning> lint_nccl_2_28(std::string_view text) {
  std::vector<NcclWarning> warnings;
  if (text.find("nccl") == std::string_view::npos && text.find("gin") == std::string_view::npos) {
    return warnings;
  }
  const std::string code = blank(text);
  for (const Rule& rule : kRules) {
    for (std::size_t at = code.find(rule.name); at != std::string::npos;
         at = code.find(rule.name, at + 1)) {
      const std::size_t end = at + rule.name.size();
      const bool is_whole = (at == 0 || !is_identifier(code[at - 1])) &&
                            (end >= code.size() || !is_identifier(code[end]));
      if (!is_whole) continue;
      const std::size_t open = std::min(code.find('(', end), code.size());
      const std::string_view between = std::string_view(code).substr(end, open - end);
      if (!rule.applies(between.find('<') == std::string_view::npos ? "" : between,
                        arguments_of(code, end))) {
        continue;
      }
      const auto line =
          std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      warnings.push_back({"", static_cast<std::size_t>(line) + 1, std::string(rule.message)});
      break;  // Once per file and rule is enough.
    }
  }
  return warnings;
}

// The inlined functions are found by their mangled names, and their callers by ".loc … inlined_at".
std::vector<NcclWarning> lint_nccl_2_28_ptx(std::string_view ptx) {
  std::vector<NcclWarning> warnings;
  const auto strings = strings_of(ptx);
  std::map<std::string, const Rule*, std::less<>> suspects;  // By label.
  for (const auto& [label, name] : strings) {
    for (const Rule& rule : kRules) {
      if (holds(name, rule.mangled)) suspects[label] = &rule;
    }
  }
  if (suspects.empty()) return warnings;
  const auto files = files_of(ptx);
  constexpr std::string_view kName = "function_name ";
  constexpr std::string_view kPlace = ", inlined_at ";
  for (const auto& [label, rule] : suspects) {
    const std::size_t at = ptx.find(std::string(kName) + label + std::string(kPlace));
    if (at == std::string_view::npos) continue;
    const char* numbers = ptx.data() + at + kName.size() + label.size() + kPlace.size();
    int file = 0;
    std::size_t line = 0;
    const auto rest = std::from_chars(numbers, ptx.data() + ptx.size(), file);
    std::from_chars(rest.ptr + 1, ptx.data() + ptx.size(), line);
    const auto found = files.find(file);
    warnings.push_back(
        {found == files.end() ? "" : found->second, line, std::string(rule->message)});
  }
  return warnings;
}

std::vector<std::string> local_includes(std::string_view text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with("#")) continue;
    line.remove_prefix(1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with("include")) continue;
    const std::size_t open = line.find('"');
    const std::size_t close = open == std::string_view::npos ? open : line.find('"', open + 1);
    if (close != std::string_view::npos)
      names.emplace_back(line.substr(open + 1, close - open - 1));
  }
  return names;
}

}  // namespace cuco::program
