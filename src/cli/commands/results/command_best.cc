// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/commands/results/torch_kernel.h"
#include "cli/journey/journey.h"
#include "cli/journey/program_reading.h"
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
    arguments.flag("--torch", torch_,
                   "write it as a PyTorch extension, with a test against the seed");
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
    if (torch_ && folder_.empty())
      return Error{ErrorKind::InvalidInput, "--torch: say where to write it with --output"};
    const system::Path folder = folder_.empty() ? run.folder.best() : folder_;
    if (!folder_.empty() && !force_) CUCO_TRY(check_empty(folder));
    CUCO_TRY(torch_ ? write_extension(run, folder)
                    : write_candidate(run.state, *run.state.best, run.folder.name, folder));
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
  static Result<void> write_extension(const StoredRun& run, const system::Path& folder) {
    const std::string source = run.state.started ? run.state.started->workload : "";
    CUCO_TRY(check_exists(source));
    if (!std::filesystem::is_directory(source)) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("--torch is for workloads of one GPU; {} is a program", source)};
    }
    CUCO_TRY_ASSIGN(const auto workload, workload::load_workload(source));
    CUCO_TRY_ASSIGN(const auto kernel, torch_kernel(workload));
    CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
    CUCO_TRY_ASSIGN(const std::string header, system::read_file(include / "cuco/workload.h"));
    CUCO_TRY_ASSIGN(const auto files, report::torch_folder(run.state, *run.state.best,
                                                           run.folder.name, kernel, header));
    return write_files(files, folder);
  }

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
  bool torch_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_best_command() {
  return std::make_unique<BestCommand>();
}

}  // namespace cuco::cli
