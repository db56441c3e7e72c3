// SPDX-License-Identifier: Apache-2.0
#include "cli/application.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/build_information.h"
#include "cli/commands/commands.h"
#include "cli/terminal/help.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/parse_arguments.h"
#include "cli/terminal/program_arguments.h"
#include "cli/version.h"

namespace cuco::cli {
namespace {

/// The values of the options in kGlobalOptions.
struct GlobalOptions {
  bool verbose = false;
  bool quiet = false;
  bool json = false;
  bool no_color = false;
  bool help = false;
  bool version = false;
  std::vector<std::pair<std::string, std::string>> settings;

  /// Returns false if `word` is none of those without a value.
  bool take(std::string_view word) {
    const std::pair<std::string_view, bool*> known[] = {
        {"--verbose", &verbose},   {"--quiet", &quiet}, {"--json", &json},
        {"--no-color", &no_color}, {"--help", &help},   {"-h", &help},
        {"--version", &version},
    };
    for (const auto& [name, flag] : known) {
      if (word == name) return *flag = true;
    }
    return false;
  }
};

/// What scripts rely on: bad usage, an unfit machine and a failed job have codes of their own.
ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidInput:
    case ErrorKind::NotFound:
      return ExitCode::BadUsage;
    case ErrorKind::Unavailable:
      return ExitCode::Environment;
    case ErrorKind::Timeout:
    case ErrorKind::Io:
    case ErrorKind::Protocol:
      return ExitCode::JobFailed;
  }
  return ExitCode::JobFailed;
}

/// "no command 'optimise'; did you mean 'optimize'?"
std::string unknown(std::string_view what,
                    std::string_view word,
                    std::span<const std::string> candidates) {
  std::string message = fmt::format("no {} '{}'", what, word);
  if (const auto near = nearest(word, candidates)) {
    return message + fmt::format("; did you mean '{}'?", *near);
  }
  return message + "; see cuco --help";
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandEntry& entry : all_commands())
    names.emplace_back(entry.name);
  return names;
}

/// The chosen command with what it accepts.
struct Chosen {
  const CommandEntry* entry = nullptr;
  std::unique_ptr<Command> command;
  Arguments arguments;

  /// A command may give a global option's name a meaning of its own ("run --json FILE").
  [[nodiscard]] bool declares(std::string_view name) const {
    return std::ranges::any_of(arguments.list(),
                               [&](const Argument& argument) { return argument.name == name; });
  }
};

Result<Config> load_config(const GlobalOptions& global) {
  ConfigSources sources{.environment = system::Environment::current(),
                        .overrides = global.settings};
  std::error_code ignored;
  CUCO_TRY_ASSIGN(sources.files,
                  find_config_files(std::filesystem::current_path(ignored), sources.environment));
  return Config::from(sources);
}

/// Takes "KEY=VALUE"; returns false if it is not that.
bool take_setting(GlobalOptions& global, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  global.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return true;
}

/// One line, with --verbose what it was built from, too.
std::string version_text(const GlobalOptions& global) {
  const auto facts = build_information();
  if (global.json) {
    Json object{{"version", kVersion}};
    for (const auto& [name, value] : facts)
      object[name] = value;
    return to_text(object) + "\n";
  }
  std::string text = fmt::format("cuco {}\n", kVersion);
  if (!global.verbose) return text;
  Table table;
  for (const auto& [name, value] : facts)
    table.row({name, value});
  return text + table.text(2);
}

ExitCode run_command(const Chosen& chosen,
                     std::span<const std::string> words,
                     const GlobalOptions& global,
                     Terminal& terminal) {
  if (global.help) {
    terminal.write(command_help(*chosen.entry, chosen.arguments, terminal));
    return ExitCode::Done;
  }
  if (const auto parsed = parse(chosen.arguments, words); !parsed) {
    terminal.error(parsed.error().message());
    terminal.note("      usage and example: cuco {} --help", chosen.entry->name);
    return ExitCode::BadUsage;
  }
  auto config = load_config(global);
  std::string config_problem;
  if (!config) {
    config_problem = config.error().message();
    // doctor exists to show what is wrong with a machine, its configuration included.
    if (!chosen.command->accepts_broken_config()) {
      terminal.error(config_problem);
      return exit_code_of(config.error().kind());
    }
    config = Config::from({});
  }
  Context context{.terminal = terminal,
                  .config = *config,
                  .json = global.json,
                  .config_problem = std::move(config_problem),
                  .command = chosen.entry->name};
  auto result = chosen.command->run(context);
  // What fails after Ctrl-C has not failed.
  if (!result && InterruptScope::requested()) result = ExitCode::Interrupted;
  if (!result) {
    terminal.error(result.error().message());
    return exit_code_of(result.error().kind());
  }
  if (*result == ExitCode::Interrupted) {
    terminal.error(context.resume_with.empty()
                       ? "interrupted"
                       : fmt::format("interrupted; continue with: {}", context.resume_with));
  }
  return *result;
}

}  // namespace

ExitCode run_application(std::span<const std::string> words, std::FILE* out, std::FILE* error) {
  Terminal terminal(out, error, Terminal::detect(out, error));
  GlobalOptions global;
  Chosen chosen;
  std::vector<std::string> rest;
  std::size_t program_begin = words.size();
  // The first word that is not an option is the command. Global options may stand on both sides of
  // it; what follows "--" belongs to the program that is run.
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || i == program_begin) {
      if (word != "--") rest.emplace_back("--");
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (!chosen.declares(word) && global.take(word)) continue;
    if (word == "--set") {
      ++i;
      if (i < words.size() && take_setting(global, words[i])) continue;
      terminal.error("--set needs KEY=VALUE; list the keys with: cuco config");
      return ExitCode::BadUsage;
    }
    if (chosen.entry != nullptr) {
      rest.push_back(word);
    } else if (word.starts_with('-')) {
      terminal.error(
          unknown("option", word,
                  std::vector<std::string>(std::begin(kGlobalOptions), std::end(kGlobalOptions))));
      return ExitCode::BadUsage;
    } else if (chosen.entry = find_command(word); chosen.entry != nullptr) {
      chosen.command = chosen.entry->make();
      chosen.command->declare(chosen.arguments);
      const auto begin = program_arguments_begin(chosen.arguments, words.subspan(i + 1));
      if (begin) program_begin = i + 1 + *begin;
    } else {
      terminal.error(unknown("command", word, command_names()));
      return ExitCode::BadUsage;
    }
  }
  if (program_begin < words.size()) {
    if (const auto near = misspelt_option(chosen.arguments, words[program_begin]))
      terminal.note("cuco: note: '{}' goes to the program; did you mean '{}'?",
                    words[program_begin], *near);
  }
  if (global.no_color) terminal.set_colour(false);
  if (global.quiet) terminal.set_verbosity(Verbosity::Quiet);
  if (global.verbose) terminal.set_verbosity(Verbosity::Verbose);
  if (global.version) {
    terminal.write(version_text(global));
    return ExitCode::Done;
  }
  if (chosen.entry == nullptr) {
    terminal.write(general_help(all_commands(), terminal));
    return global.help ? ExitCode::Done : ExitCode::BadUsage;
  }
  return run_command(chosen, rest, global, terminal);
}

}  // namespace cuco::cli
