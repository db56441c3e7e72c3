// SPDX-License-Identifier: Apache-2.0
#include "cli/manual/man_pages.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/config/config.h"
#include "cli/terminal/help.h"

namespace cuco::cli {
namespace {

/// A backslash begins an escape, a hyphen may become a dash, and what comes first on a line may be
/// a request.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
  }
  return safe.starts_with('.') || safe.starts_with('\'') ? "\\&" + safe : safe;
}

std::string head(std::string_view title, std::string_view summary, std::string_view version) {
  std::string upper(title);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"cuco {}\" \"cuco\"\n.SH NAME\n{} \\- {}\n", escaped(upper),
                     escaped(version), escaped(title), escaped(summary));
}

std::string entry_text(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", escaped(term), escaped(text));
}

std::string term_of(const Argument& argument) {
  std::string term = argument.name;
  if (argument.letter != 0) term = fmt::format("-{}, {}", argument.letter, term);
  return argument.placeholder.empty() ? term : term + " " + argument.placeholder;
}

std::string exit_status() {
  return ".SH EXIT STATUS\n" + entry_text("0", "done") +
         entry_text("1", "the job failed: nothing faster was found, a program was rejected") +
         entry_text("2", "bad usage or input") +
         entry_text("3", "this machine lacks something; cuco doctor names it") +
         entry_text("66", "run --check found something") + entry_text("130", "interrupted");
}

std::string see_also(const std::vector<std::string>& pages) {
  return fmt::format(".SH SEE ALSO\n{}\n", escaped(join(pages, ", ")));
}

program::File page_of(const CommandEntry& entry, std::string_view version) {
  Arguments arguments;
  const auto command = entry.make();
  command->declare(arguments);
  std::string text = head(fmt::format("cuco-{}", entry.name), entry.summary, version);
  text += fmt::format(".SH SYNOPSIS\n{}\n", escaped(usage_line(entry, arguments)));
  std::string positionals;
  std::string options;
  for (const Argument& argument : arguments.list()) {
    std::string help = argument.help;
    if (!argument.choices.empty()) help += fmt::format(" ({})", join(argument.choices, ", "));
    (argument.kind == Argument::Kind::Positional ? positionals : options) +=
        entry_text(term_of(argument), help);
  }
  if (arguments.rest_target() != nullptr)
    positionals += entry_text(arguments.rest_name(), arguments.rest_help());
  if (!positionals.empty()) text += ".SH ARGUMENTS\n" + positionals;
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  text += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", escaped(entry.example));
  text += exit_status() + see_also({"cuco(1)"});
  return {fmt::format("cuco-{}.1", entry.name), std::move(text)};
}

program::File main_page(std::span<const CommandEntry> commands, std::string_view version) {
  std::string text =
      head("cuco", "finds faster CUDA programs by moving communication into the kernels", version);
  text += ".SH SYNOPSIS\n" +
          escaped("cuco [--verbose|--quiet] [--json] [--no-color] [--set KEY=VALUE] COMMAND ...") +
          "\n.SH COMMANDS\n";
  for (const CommandEntry& entry : commands)
    text += entry_text(entry.name, entry.summary);
  text += ".SH OPTIONS\n" + entry_text("--verbose", "say more") +
          entry_text("--quiet", "say less") + entry_text("--json", "print JSON, for programs") +
          entry_text("--no-color", "no colour") +
          entry_text("--set KEY=VALUE", "set a key of the configuration, below") +
          entry_text("--version", "print the version; with --verbose what it was built from") +
          entry_text("--help", "print help");
  text +=
      ".SH CONFIGURATION\n" + escaped("Keys of cuco.toml; cuco config shows their values.") + "\n";
  for (const ConfigKey& key : config_keys())
    text += entry_text(key.name, key.help);
  text += ".SH FILES\n" + entry_text("runs/", "the runs, where store.folder says nothing else") +
          entry_text("cuco.toml, ~/.config/cuco/config.toml",
                     "the configuration: the nearest one upwards, and the user's") +
          entry_text("PREFIX/share/cuco/", "topologies, GPUs, workloads, templates");
  std::vector<std::string> pages;
  for (const CommandEntry& entry : commands)
    pages.push_back(fmt::format("cuco-{}(1)", entry.name));
  return {"cuco.1", text + exit_status() + see_also(pages)};
}

}  // namespace

std::vector<program::File> man_pages(std::span<const CommandEntry> commands,
                                     std::string_view version) {
  std::vector<program::File> pages{main_page(commands, version)};
  for (const CommandEntry& entry : commands)
    pages.push_back(page_of(entry, version));
  return pages;
}

}  // namespace cuco::cli
