// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a sub-command is. Each lives in its own command_NAME.cc and has one line in commands.cc;
/// none of them sees the option parser.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/config/config.h"
#include "cli/terminal/arguments.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/terminal.h"

namespace cuco::cli {

/// What every command gets: where to write, and what was asked for globally.
struct Context {
  Terminal& terminal;
  const Config& config;
  bool json = false;           ///< Standard output is for programs: JSON and nothing else.
  std::string resume_with;     ///< Shown when the command returns Interrupted: "cuco resume 3".
  std::string config_problem;  ///< Only for commands that accept a broken configuration.
  std::string_view command;    ///< The command's own name.
};

/// A sub-command for one invocation: its members hold the parsed values.
class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(Arguments& arguments) = 0;

  /// A command that runs in spite of a broken configuration gets the defaults and the problem.
  [[nodiscard]] virtual bool accepts_broken_config() const { return false; }

  /// An error is printed as "cuco: message"; its kind decides the exit code: InvalidInput and
  /// NotFound are bad usage (2), Unavailable is the environment (3), everything else 1.
  virtual Result<ExitCode> run(Context& context) = 0;
};

/// One line of the command table.
struct CommandEntry {
  std::string_view name;
  std::string_view group;  ///< Heading in `cuco --help`.
  std::string_view summary;
  std::string_view example;
  std::unique_ptr<Command> (*make)();
};

}  // namespace cuco::cli
