// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/parse_arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"

namespace cuco::cli {
namespace {

Error usage_error(std::string message) {
  return {ErrorKind::InvalidInput, std::move(message)};
}

Error unknown_word(const Arguments& arguments, const std::string& word) {
  const std::string behind_dashes = arguments.rest_target() == nullptr
                                        ? ""
                                        : fmt::format("; {} go after '--'", arguments.rest_help());
  if (!word.starts_with('-'))
    return usage_error(fmt::format("unexpected argument '{}'{}", word, behind_dashes));
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names(std::begin(kGlobalOptions), std::end(kGlobalOptions));
  for (const Argument& argument : arguments.list()) {
    if (argument.kind != Argument::Kind::Positional) names.push_back(argument.name);
  }
  std::string message = fmt::format("no option '{}'", name);
  if (const auto near = nearest(name, names)) {
    message += fmt::format("; did you mean '{}'?", *near);
  } else {
    message += behind_dashes;
  }
  return usage_error(std::move(message));
}

Result<void> store(const Argument& argument, const std::string& text) {
  // Mostly a shell's variable that is not set: taking it for "not given" would hide that.
  if (text.empty()) return usage_error(fmt::format("{} must not be empty", argument.name));
  if (!argument.choices.empty() &&
      std::ranges::find(argument.choices, text) == argument.choices.end()) {
    std::string message = fmt::format("{} must be one of {}, not '{}'", argument.name,
                                      join(argument.choices, ", "), text);
    if (const auto near = nearest(text, argument.choices)) {
      message += fmt::format("; did you mean '{}'?", *near);
    }
    return usage_error(std::move(message));
  }
  if (!argument.store(text)) {
    return usage_error(
        fmt::format("{} must be {}, not '{}'", argument.name, argument.expected, text));
  }
  return {};
}

/// CLI11 only collects texts by argument. We convert them, with our own messages.
struct Collected {
  const Argument* argument;
  CLI::Option* option;
};

Collected add_to(CLI::App& app, const Argument& argument) {
  std::string names = argument.name;
  if (argument.letter != 0) names += fmt::format(",-{}", argument.letter);
  if (argument.kind == Argument::Kind::Flag) return {&argument, app.add_flag(names)};
  CLI::Option* option = app.add_option(names);
  option->multi_option_policy(argument.repeated ? CLI::MultiOptionPolicy::TakeAll
                                                : CLI::MultiOptionPolicy::TakeLast);
  if (argument.repeated && argument.kind == Argument::Kind::Positional) option->expected(-1);
  // "--model a prog.cu" must not swallow the program: one value for each time an option is given.
  if (argument.kind == Argument::Kind::Option) option->expected(1)->allow_extra_args(false);
  return {&argument, option};
}

/// CLI11 names an option that lacks its value only in its message.
Error explained(const std::vector<Collected>& collected, const CLI::ParseError& error) {
  for (const auto& [argument, option] : collected) {
    if (argument->kind == Argument::Kind::Option &&
        std::string_view(error.what()).find(argument->name) != std::string_view::npos) {
      return usage_error(fmt::format("{} needs {} ({} {})", argument->name, argument->expected,
                                     argument->name, argument->placeholder));
    }
  }
  return usage_error(error.what());
}

}  // namespace

Result<void> parse(const Arguments& arguments, std::span<const std::string> words) {
  const auto separator = arguments.rest_target() == nullptr
                             ? words.end()
                             : std::find(words.begin(), words.end(), "--");
  std::vector<std::string> reversed(words.begin(), separator);
  std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<Collected> collected;
  for (const Argument& argument : arguments.list())
    collected.push_back(add_to(app, argument));
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return explained(collected, error);
  }
  const auto extras = app.remaining();
  // A misspelt option is the likelier mistake: its value is left over, too.
  const auto option = std::ranges::find_if(
      extras, [](const std::string& word) { return word.starts_with('-') && word.size() > 1; });
  if (option != extras.end()) return unknown_word(arguments, *option);
  if (!extras.empty()) return unknown_word(arguments, extras.front());

  for (const auto& [argument, given] : collected) {
    if (argument->kind == Argument::Kind::Flag) {
      if (given->count() > 0) CUCO_TRY(store(*argument, "true"));
      continue;
    }
    for (const std::string& text : given->results())
      CUCO_TRY(store(*argument, text));
    if (argument->required && given->count() == 0) {
      return usage_error(fmt::format("missing {}", argument->name));
    }
  }
  if (separator != words.end()) arguments.rest_target()->assign(separator + 1, words.end());
  return {};
}

}  // namespace cuco::cli
