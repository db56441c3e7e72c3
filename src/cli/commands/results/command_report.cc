// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "report/page.h"

namespace cuco::cli {
namespace {

class ReportCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, 'last' or 'demo'")
        .completes(Completion::Run);
    arguments
        .option("--output", file_, "FILE", "where to write it (default: report.html in the run)")
        .with_letter('o')
        .completes(Completion::File);
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    const system::Path file = file_.empty() ? run.folder.path / "report.html" : file_;
    CUCO_TRY(system::write_file(
        file, report::run_page(run.state, {.run = run.folder.name, .state = state_text(run)})));
    context.terminal.write(context.json ? to_text(Json{{"report", file.string()}}) + "\n"
                                        : fmt::format("written to {}\n", file.string()));
    return ExitCode::Done;
  }

 private:
  std::string run_;
  system::Path file_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace cuco::cli
