// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/journey.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "report/progress.h"

namespace cuco::cli {
namespace {

class BestCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'").completes(Completion::Run);
    arguments.option("--output", folder_, "FOLDER", "where to write it (default: the run's best/)")
        .with_letter('o')
        .completes(Completion::Folder);
    arguments.flag("--force", force_, "write into a folder that is not empty");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    if (!run.state.best) {
      context.terminal.error(fmt::format(
          "run {} has no correct candidate that is faster than the seed", run.folder.name));
      return ExitCode::JobFailed;
    }
    CUCO_TRY_ASSIGN(const candidate::Entry* entry, find_entry(run, *run.state.best));
    const system::Path folder = folder_.empty() ? run.folder.best() : folder_;
    if (!folder_.empty() && !force_) CUCO_TRY(check_empty(folder));
    CUCO_TRY(write_candidate(run.state, *run.state.best, run.folder.name, folder));
    const candidate::Scored* scored = entry->scored();
    if (context.json) {
      context.terminal.write(to_text(Json{{"candidate", entry->candidate.number},
                                          {"folder", folder.string()},
                                          {"code_hash", entry->candidate.code_hash}}) +
                             "\n");
      return ExitCode::Done;
    }
    context.terminal.print(
        "#{}  {}{}\nwritten to {}\n", entry->candidate.number, report::design_of(*entry),
        scored != nullptr ? fmt::format("   {} {}", time_text(*scored), speedup_text(*scored)) : "",
        folder.string());
    return ExitCode::Done;
  }

 private:
  static Result<void> check_empty(const system::Path& folder) {
    std::error_code code;
    if (!std::filesystem::exists(folder, code)) return {};
    if (!std::filesystem::is_directory(folder, code)) {
      return Error{ErrorKind::InvalidInput, fmt::format("not a folder: {}", folder.string())};
    }
    if (std::filesystem::is_empty(folder, code)) return {};
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} is not empty: choose another folder, or overwrite with --force",
                             folder.string())};
  }

  std::string run_;
  system::Path folder_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_best_command() {
  return std::make_unique<BestCommand>();
}

}  // namespace cuco::cli
