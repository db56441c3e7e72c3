// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/journey/journey.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"

namespace cuco::cli {

namespace {

class ResumeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'").completes(Completion::Run);
    arguments.option("--candidates", candidates_, "N",
                     "maximum number of candidates in total, the seed included");
    arguments.option("--budget", budget_, "TIME", "additional time: 90s, 30m, 2h");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    if (!run.state.started) {
      return Error{
          ErrorKind::InvalidInput,
          fmt::format("run {} ended before it started; start a new one with: cuco optimize",
                      run.folder.name)};
    }
    CUCO_TRY_ASSIGN(JourneyOptions options, parse_journey_options(run.state.started->options));
    options.planned = options.candidates;
    if (candidates_) options.candidates = *candidates_;
    if (!budget_.empty()) {
      const auto seconds = parse_duration(budget_);
      if (!seconds) {
        return Error{
            ErrorKind::InvalidInput,
            fmt::format("--budget: invalid duration (examples: 90s, 30m, 2h): {}", budget_)};
      }
      options.budget_seconds = *seconds;
    }
    return start_journey(context, options, [&] { return Result<store::RunFolder>(run.folder); });
  }

 private:
  std::string run_;
  std::string budget_;
  std::optional<int> candidates_;
};

}  // namespace

std::unique_ptr<Command> make_resume_command() {
  return std::make_unique<ResumeCommand>();
}

}  // namespace cuco::cli
