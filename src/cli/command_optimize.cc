// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>

#include "cli/command.h"

namespace cuco::cli {
namespace {

class OptimizeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WORKLOAD", workload_, "folder with workload.toml and program.cu")
        .completes(Completion::Folder);
  }

  Result<ExitCode> run(Context&) override {
    if (!std::filesystem::exists(workload_ / "workload.toml")) {
      return Error(ErrorKind::NotFound,
                   fmt::format("{} has no workload.toml; workloads shipped with cuco are under "
                               "workloads/",
                               workload_.string()));
    }
    // TODO(#5): first light. Until then this command must not pretend.
    return Error(ErrorKind::Unavailable,
                 "optimize: no stage of the search is built yet (analysis, fast path, slow path "
                 "and judge are all still to come); cuco doctor tells what works");
  }

 private:
  std::filesystem::path workload_;
};

}  // namespace

std::unique_ptr<Command> make_optimize_command() {
  return std::make_unique<OptimizeCommand>();
}

}  // namespace cuco::cli
