// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/terminal/completion.h"

namespace cuco::cli {
namespace {

class CompletionCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SHELL", shell_, "shell").one_of({"bash", "zsh"});
  }

  Result<ExitCode> run(Context& context) override {
    context.terminal.write(shell_ == "bash" ? bash_completion(all_commands())
                                            : zsh_completion(all_commands()));
    return ExitCode::Done;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace cuco::cli
