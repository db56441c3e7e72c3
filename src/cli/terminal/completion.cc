// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/completion.h"

#include <array>

#include <fmt/format.h>

namespace cuco::cli {
namespace {

const std::string& global_words() {
  static const std::string words = fmt::format("{}", fmt::join(kGlobalOptions, " "));
  return words;
}

std::string option_words(const Arguments& arguments) {
  std::string words;
  for (const Argument& argument : arguments.list()) {
    if (argument.kind != Argument::Kind::Positional) words += argument.name + " ";
  }
  return words;
}

/// What `cuco completion values` is asked for; empty for what a shell knows itself.
std::string_view kind_of_values(Completion completion) {
  switch (completion) {
    case Completion::Hardware:
      return "hardware";
    case Completion::Topology:
      return "topology";
    case Completion::Workload:
      return "workload";
    case Completion::Run:
      return "run";
    default:
      return "";
  }
}

/// What completes the value of one of these arguments, as bash's compgen wants it.
std::string bash_action(std::span<const Argument* const> arguments) {
  std::string words, paths;
  for (const Argument* argument : arguments) {
    const std::string_view kind = kind_of_values(argument->completion);
    if (!argument->choices.empty()) {
      words += fmt::format("{} ", fmt::join(argument->choices, " "));
    } else if (!kind.empty()) {
      words += fmt::format("$(values {}) ", kind);
    }
    const bool is_file = argument->completion == Completion::File ||
                         (!kind.empty() && argument->completion != Completion::Run);
    if (argument->choices.empty() && is_file) paths = "-f";
    if (argument->completion == Completion::Folder && paths.empty()) paths = "-d";
  }
  if (!words.empty()) words = fmt::format("-W \"{}\"", words);
  return fmt::format("{}{}{}", paths, paths.empty() || words.empty() ? "" : " ", words);
}

/// Commands are asked for their arguments, so completion cannot fall behind the parser.
std::string bash_case(const CommandEntry& entry) {
  Arguments arguments;
  const auto command = entry.make();
  command->declare(arguments);
  std::string text = fmt::format("    {})\n      case \"$previous\" in\n", entry.name);
  std::vector<const Argument*> positionals;
  for (const Argument& argument : arguments.list()) {
    if (argument.kind == Argument::Kind::Positional) positionals.push_back(&argument);
    if (argument.kind != Argument::Kind::Option) continue;
    const bool completes = !argument.choices.empty() || argument.completion != Completion::Nothing;
    text += fmt::format(
        "        {}) {} ;;\n", argument.name,
        completes ? fmt::format("complete_with {}; return", bash_action(std::array{&argument}))
                  : "return");
  }
  const std::string positional = bash_action(positionals);
  text += fmt::format(
      "      esac\n      case \"$word\" in\n        -*) complete_with -W \"{}{}\" ;;\n"
      "        *) complete_with {} ;;\n      esac\n      ;;\n",
      option_words(arguments), global_words(), positional.empty() ? "-W ''" : positional);
  return text;
}

/// Single quotes and colons mean something to zsh's _arguments.
std::string zsh_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == ':' || c == '[' || c == ']') {
      quoted += fmt::format("\\{}", c);
    } else {
      quoted += c;
    }
  }
  return quoted;
}

std::string zsh_action(const Argument& argument) {
  if (!argument.choices.empty()) return fmt::format("({})", fmt::join(argument.choices, " "));
  switch (argument.completion) {
    case Completion::File:
      return "_files";
    case Completion::Folder:
      return "_files -/";
    case Completion::Nothing:
      return "";
    default:
      break;
  }
  return fmt::format("{{compadd -- $(${{words[1]}} completion values {} 2>/dev/null){}}}",
                     kind_of_values(argument.completion),
                     argument.completion == Completion::Run ? "" : "; _files");
}

std::string zsh_case(const CommandEntry& entry) {
  Arguments arguments;
  const auto command = entry.make();
  command->declare(arguments);
  std::string text = fmt::format("    {})\n      _arguments $global", entry.name);
  for (const Argument& argument : arguments.list()) {
    const std::string help = zsh_quoted(argument.help);
    switch (argument.kind) {
      case Argument::Kind::Flag:
        text += fmt::format(" \\\n        '{}[{}]'", argument.name, help);
        break;
      case Argument::Kind::Option:
        text += fmt::format(" \\\n        '{}[{}]:{}:{}'", argument.name, help,
                            zsh_quoted(argument.placeholder), zsh_action(argument));
        break;
      case Argument::Kind::Positional:
        text += fmt::format(" \\\n        '{}:{}:{}'", argument.repeated ? "*" : "",
                            zsh_quoted(argument.name), zsh_action(argument));
        break;
    }
  }
  return text + "\n      ;;\n";
}

std::string fish_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

/// What completes an argument's value: -F offers files beside the words of -a, -x nothing but
/// those.
std::string fish_action(const Argument& argument) {
  const bool is_option = argument.kind == Argument::Kind::Option;
  const char* only = is_option ? " -x" : "";
  if (!argument.choices.empty())
    return fmt::format("{} -a '{}'", only,
                       fish_quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
  const std::string_view kind = kind_of_values(argument.completion);
  switch (argument.completion) {
    case Completion::Nothing:
      return only;
    case Completion::File:
      return is_option ? " -r -F" : " -F";
    case Completion::Folder:
      return fmt::format("{} -a '(__fish_complete_directories)'", only);
    case Completion::Run:
      return fmt::format("{} -a '(__cuco_values {})'", only, kind);
    default:
      return fmt::format("{} -F -a '(__cuco_values {})'", is_option ? " -r" : "", kind);
  }
}

std::string fish_lines(const CommandEntry& entry) {
  Arguments arguments;
  const auto command = entry.make();
  command->declare(arguments);
  std::string text;
  for (const Argument& argument : arguments.list()) {
    const bool is_positional = argument.kind == Argument::Kind::Positional;
    const std::string action = argument.kind == Argument::Kind::Flag ? "" : fish_action(argument);
    if (is_positional && action.empty()) continue;
    text += fmt::format("complete -c cuco -n '__cuco_is {}'{}{}", entry.name,
                        is_positional ? "" : " -l " + argument.name.substr(2), action);
    // Fish shows a description beside every value: of a file it would be noise.
    text += is_positional ? "\n" : fmt::format(" -d '{}'\n", fish_quoted(argument.help));
  }
  return text;
}

}  // namespace

std::string bash_completion(std::span<const CommandEntry> commands) {
  std::string names;
  std::string cases;
  for (const CommandEntry& entry : commands) {
    names += fmt::format("{} ", entry.name);
    cases += bash_case(entry);
  }
  return fmt::format(R"(# bash completion for cuco: source <(cuco completion bash)
_cuco() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" i
  values() {{ "${{COMP_WORDS[0]}}" completion values "$1" 2>/dev/null; }}
  complete_with() {{ mapfile -t COMPREPLY < <(compgen "$@" -- "$word"); }}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      -*) ;;
      *) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  case "$command" in
    "") complete_with -W "{0}{1}" ;;
{2}  esac
}}
complete -o filenames -F _cuco cuco ./cuco
)",
                     names, global_words(), cases);
}

std::string zsh_completion(std::span<const CommandEntry> commands) {
  std::string names;
  std::string cases;
  for (const CommandEntry& entry : commands) {
    names += fmt::format("    '{}:{}'\n", entry.name, zsh_quoted(entry.summary));
    cases += zsh_case(entry);
  }
  return fmt::format(R"(#compdef cuco
# zsh completion for cuco: source <(cuco completion zsh)
_cuco() {{
  local -a commands global
  global=('--verbose[say more]' '--quiet[say less]' '--json[print JSON]' '--no-color[no colour]' '--help[show help]')
  commands=(
{0}  )
  local context state line
  _arguments -C $global '1:command:->command' '*::argument:->argument'
  case "$state" in
    command) _describe command commands; return ;;
  esac
  case "$line[1]" in
{1}  esac
}}
compdef _cuco cuco
# As a file in fpath it is run for the first time in the middle of a completion.
if [ "$funcstack[1]" = _cuco ]; then _cuco "$@"; fi
)",
                     names, cases);
}

std::string fish_completion(std::span<const CommandEntry> commands) {
  std::string names;
  std::string lines;
  for (const CommandEntry& entry : commands) {
    names += fmt::format("complete -c cuco -n '__cuco_is' -a {} -d '{}'\n", entry.name,
                         fish_quoted(entry.summary));
    lines += fish_lines(entry);
  }
  std::string options;
  for (const std::string_view option : kGlobalOptions)
    options +=
        fmt::format("complete -c cuco -l {}{}\n", option.substr(2), option == "--set" ? " -x" : "");
  return fmt::format(R"(# fish completion for cuco: cuco completion fish | source
# Whether the command is this one; without argument, whether there is none yet.
function __cuco_is
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    test "$word" = "$argv[1]"
    return
  end
  test (count $argv) -eq 0
end
function __cuco_values
  set -l words (commandline -opc)
  $words[1] completion values $argv 2>/dev/null
end
complete -c cuco -f
{0}{1}{2})",
                     options, names, lines);
}

}  // namespace cuco::cli
