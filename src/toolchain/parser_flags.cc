// SPDX-License-Identifier: Apache-2.0
#include "toolchain/parser_flags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace cuco::toolchain {
namespace {

struct Option {
  std::string_view name;   ///< As nvcc writes it, short.
  std::string_view words;  ///< The same, long.
  bool is_list;            ///< Several values may stand between commas.
  bool is_attached;        ///< "-DN" is "-D N".
};

constexpr std::array kOptions = {Option{"-D", "--define-macro", true, true},
                                 Option{"-U", "--undefine-macro", true, true},
                                 Option{"-I", "--include-path", true, true},
                                 Option{"-isystem", "--system-include", true, false},
                                 Option{"-include", "--pre-include", true, false},
                                 Option{"-std", "--std", false, false}};

/// The value of "--std=c++20" or "-DN=4"; empty if it is the next word; nothing: another option.
std::optional<std::string_view> value_in(std::string_view word, const Option& option) {
  for (const std::string_view name : {option.words, option.name}) {
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (rest.empty()) return rest;
    if (rest.starts_with('=')) return rest.substr(1);
    if (name == option.name && option.is_attached) return rest;
  }
  return std::nullopt;
}

/// As clang reads it.
std::string spelled(const Option& option, std::string_view value) {
  const std::string_view between = option.name == "-std" ? "=" : "";
  return std::string(option.name).append(between).append(value);
}

}  // namespace

std::vector<std::string> parser_flags(const std::vector<std::string>& nvcc) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < nvcc.size(); ++i) {
    for (const Option& option : kOptions) {
      auto value = value_in(nvcc[i], option);
      if (!value) continue;
      if (value->empty() && i + 1 < nvcc.size()) value = nvcc[++i];
      const std::vector<std::string_view> values =
          option.is_list ? split(*value, ',') : std::vector{*value};
      for (const std::string_view one : values) {
        if (!one.empty()) flags.push_back(spelled(option, one));
      }
      break;
    }
  }
  return flags;
}

}  // namespace cuco::toolchain
