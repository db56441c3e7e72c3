// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/help.h"

#include <fmt/format.h>

namespace cuco::cli {
namespace {

std::string left_column(const Argument& argument) {
  std::string text = argument.name;
  if (argument.letter != 0) text = fmt::format("-{}, {}", argument.letter, text);
  if (!argument.placeholder.empty()) text += " " + argument.placeholder;
  return text;
}

}  // namespace

std::string usage_line(const CommandEntry& entry, const Arguments& arguments) {
  std::string line = fmt::format("cuco {}", entry.name);
  std::string positionals;
  bool has_options = false;
  for (const Argument& argument : arguments.list()) {
    if (argument.kind != Argument::Kind::Positional) {
      has_options = true;
      continue;
    }
    const std::string name = argument.name + (argument.repeated ? "…" : "");
    positionals += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  if (has_options) line += " [options]";
  line += positionals;
  if (arguments.rest_target() != nullptr) {
    line += fmt::format(" [{}{}]", arguments.is_source() ? "" : "-- ", arguments.rest_name());
  }
  return line;
}

std::string general_help(std::span<const CommandEntry> commands, const Terminal& terminal) {
  std::string text = fmt::format(
      "{}: finds faster CUDA programs by moving communication between GPUs into the kernels\n\n"
      "usage: cuco [--verbose|--quiet] [--json] [--no-color] [--set KEY=VALUE] COMMAND …\n",
      terminal.styled(Style::Bold, "cuco"));
  std::string_view group;
  Table table;
  const auto flush = [&] {
    text += table.text(2);
    table = Table();
  };
  for (const CommandEntry& entry : commands) {
    if (entry.group != group) {
      flush();
      group = entry.group;
      text += fmt::format("\n{}\n", terminal.styled(Style::Bold, group));
    }
    table.row({padded(terminal.styled(Style::Accent, entry.name), 12), std::string(entry.summary)});
  }
  flush();
  return text + fmt::format("\nmore: cuco COMMAND --help    example: {}\n",
                            commands.empty() ? "" : commands.front().example);
}

std::string command_help(const CommandEntry& entry,
                         const Arguments& arguments,
                         const Terminal& terminal) {
  std::string text = fmt::format("usage: {}\n\n{}\n", usage_line(entry, arguments), entry.summary);
  Table positionals;
  Table options;
  for (const Argument& argument : arguments.list()) {
    std::string help = argument.help;
    if (!argument.choices.empty()) help += fmt::format(" ({})", fmt::join(argument.choices, ", "));
    const bool positional = argument.kind == Argument::Kind::Positional;
    (positional ? positionals : options)
        .row({padded(terminal.styled(Style::Accent, left_column(argument)), 20), std::move(help)});
  }
  if (arguments.rest_target() != nullptr) {
    positionals.row({padded(terminal.styled(Style::Accent, arguments.rest_name()), 20),
                     arguments.rest_help() +
                         (arguments.is_source() ? "; after -- if one is an option of ours" : "")});
  }
  for (const Table& table : {positionals, options}) {
    if (const std::string block = table.text(2); !block.empty()) text += "\n" + block;
  }
  return text + fmt::format("\nexample: {}\n", entry.example);
}

}  // namespace cuco::cli
