// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/journey/program_reading.h"
#include "cli/terminal/completion.h"
#include "store/run_folder.h"
#include "system/os/files.h"
#include "targets/virtual/machine_files.h"

namespace cuco::cli {
namespace {

/// The shipped workloads, as one would name them from here.
std::vector<std::string> workloads() {
  std::vector<std::string> names = shipped_workloads();
  const auto folder = system::find_data("workloads");
  std::error_code code;
  const auto here = std::filesystem::current_path(code);
  for (std::string& name : names) {
    const auto relative = (*folder / name).lexically_relative(here);
    if (!relative.empty() && *relative.begin() != "..") name = relative.string();
  }
  return names;
}

Result<std::vector<std::string>> runs(const Config& config) {
  CUCO_TRY_ASSIGN(const auto folders, store::list_runs(config.text("store.folder")));
  std::vector<std::string> names;
  for (const store::RunFolder& folder : folders)
    names.push_back(folder.name);
  if (!names.empty()) names.emplace_back("last");
  return names;
}

class CompletionCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SHELL", shell_, "whose script is printed; values: what it asks for")
        .one_of({"bash", "zsh", "fish", "values"});
    arguments.positional("KIND", kind_, "kind of values")
        .optional()
        .one_of({"hardware", "topology", "workload", "run"});
  }

  Result<ExitCode> run(Context& context) override {
    if (shell_ != "values") {
      context.terminal.write(shell_ == "bash"  ? bash_completion(all_commands())
                             : shell_ == "zsh" ? zsh_completion(all_commands())
                                               : fish_completion(all_commands()));
      return ExitCode::Done;
    }
    if (kind_.empty()) return Error{ErrorKind::InvalidInput, "missing KIND"};
    CUCO_TRY_ASSIGN(const auto names, values(context.config));
    if (!names.empty()) context.terminal.write(join(names, "\n") + "\n");
    return ExitCode::Done;
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> values(const Config& config) const {
    if (kind_ == "run") return runs(config);
    if (kind_ == "workload") return workloads();
    return targets::machine_names(kind_);
  }

  std::string shell_;
  std::string kind_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace cuco::cli
