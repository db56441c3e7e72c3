// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/program_arguments.h"

#include <algorithm>

#include "base/text.h"

namespace cuco::cli {
namespace {

bool is_option(const std::string& word) {
  return word.starts_with('-') && word.size() > 1;
}

/// How many words an option of ours takes, itself included; nothing if it is none.
std::optional<std::size_t> words_of(const Arguments& arguments, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const Argument& argument : arguments.list()) {
    if (argument.kind == Argument::Kind::Positional) continue;
    const bool is_letter = argument.letter != 0 && word == std::string{'-', argument.letter};
    if (argument.name != name && !is_letter) continue;
    return argument.kind == Argument::Kind::Option && name == word ? 2 : 1;
  }
  if (word == "--set") return 2;
  if (word == "-h" || std::ranges::find(kGlobalOptions, word) != std::end(kGlobalOptions)) return 1;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> program_arguments_begin(const Arguments& arguments,
                                                   std::span<const std::string> words) {
  if (!arguments.is_source() || std::ranges::find(words, "--") != words.end()) return std::nullopt;
  bool has_program = false;
  bool has_sources = false;
  for (std::size_t i = 0; i < words.size();) {
    if (is_option(words[i])) {
      const auto taken = words_of(arguments, words[i]);
      if (!taken && has_program) return i;
      i += taken.value_or(1);  // one that is not known is the parser's to refuse
      continue;
    }
    const bool is_source = arguments.is_source()(words[i]);
    if (has_program && !(has_sources && is_source)) return i;
    has_program = true;
    has_sources = is_source;
    ++i;
  }
  return std::nullopt;
}

std::optional<std::string> misspelt_option(const Arguments& arguments, const std::string& word) {
  if (!is_option(word)) return std::nullopt;
  std::vector<std::string> names;
  for (const Argument& argument : arguments.list()) {
    if (argument.kind != Argument::Kind::Positional) names.push_back(argument.name);
  }
  return nearest(word.substr(0, word.find('=')), names);
}

}  // namespace cuco::cli
