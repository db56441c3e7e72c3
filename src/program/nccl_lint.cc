// SPDX-License-Identifier: Apache-2.0
#include "program/nccl_lint.h"

#include <algorithm>
#include <cctype>

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

/// The number of arguments of a call whose "(" is next after `at`; 0: it is not a call.
std::size_t argument_count(std::string_view code, std::size_t at) {
  at = code.find_first_not_of(" \t\n", at);
  if (at == std::string_view::npos || code[at] != '(') return 0;
  std::size_t depth = 0;
  std::size_t commas = 0;
  for (; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && --depth == 0) return commas + 1;
    if (c == ',' && depth == 1) ++commas;
  }
  return 0;
}

struct Rule {
  std::string_view name;
  std::size_t least_arguments;
  std::string_view message;
};

constexpr Rule kRules[] = {
    {"waitSignalFollowShadow", 1,
     "ncclGin::waitSignalFollowShadow of NCCL 2.28.9 does not update the shadow, so that the next "
     "wait does not wait; fixed in 2.29.7. On 2.28.9 add the delta with increaseSignalShadow"},
    {"waitCounter", 4,
     "ncclGin::waitCounter of NCCL 2.28.9 ignores `bits`, so that it hangs when the counter wraps "
     "at fewer than 64; right in 2.30.7. On 2.28.9 count in 64 bits"},
};

}  // namespace

std::vector<NcclWarning> lint_nccl_2_28(std::string_view text) {
  std::vector<NcclWarning> warnings;
  if (text.find("nccl") == std::string_view::npos) return warnings;
  const std::string code = blank(text);
  for (const Rule& rule : kRules) {
    for (std::size_t at = code.find(rule.name); at != std::string::npos;
         at = code.find(rule.name, at + 1)) {
      const std::size_t end = at + rule.name.size();
      const bool is_whole = (at == 0 || !is_identifier(code[at - 1])) &&
                            (end >= code.size() || !is_identifier(code[end]));
      if (!is_whole || argument_count(code, end) < rule.least_arguments) continue;
      const auto line =
          std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      warnings.push_back({static_cast<std::size_t>(line) + 1, std::string(rule.message)});
      break;  // Once per file and rule is enough.
    }
  }
  return warnings;
}

}  // namespace cuco::program
