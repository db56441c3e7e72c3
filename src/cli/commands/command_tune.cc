// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "cli/journey/journey.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/target_option.h"
#include "cli/models/asking_options.h"
#include "cli/models/recordings.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

class TuneCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WORKLOAD", workload_, "folder with workload.toml and program.cu")
        .completes(Completion::Workload);
    arguments.option("--rounds", rounds_, "N",
                     "rounds of profiling, planning and coding (default: 5)");
    asking_.declare(arguments);
    arguments.option("--seed", seed_, "N", "seed of the run; the same seed repeats it");
    arguments
        .option("--topology", topology_, "NAME", "tune for another cluster than the workload's")
        .completes(Completion::Topology);
    declare_target(arguments, on_);
  }

  Result<ExitCode> run(Context& context) override {
    constexpr int kMostRounds = 1000;
    workload_ = or_shipped(workload_);
    CUCO_TRY(check_exists(workload_));
    std::error_code code;
    if (!std::filesystem::is_directory(workload_, code)) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("not a workload's folder: {}; programs with main() are for cuco "
                               "optimize",
                               workload_.string())};
    }
    if (rounds_ < 1 || rounds_ > kMostRounds) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("--rounds {}: must be 1 to {}", rounds_, kMostRounds)};
    }
    JourneyOptions options;
    options.workload = workload_.string();
    CUCO_TRY(asking_.apply(context.config, &options));
    if (options.proposers.size() != 1) {
      return Error{ErrorKind::InvalidInput, "--proposer: one team tunes a program, not several"};
    }
    options.rounds = rounds_;
    options.topology = topology_;
    options.on = on_;
    options.seed =
        seed_.value_or(static_cast<std::uint64_t>(context.config.integer("search.seed")));
    const auto jobs = static_cast<int>(context.config.integer("search.jobs"));
    options.jobs =
        jobs > 0 ? jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    options.candidates = 0;
    CUCO_TRY_ASSIGN(options.secret, settle_secret({options.record, options.replay}));
    return start_journey(context, options,
                         [&] { return store::create_run(context.config.text("store.folder")); });
  }

 private:
  std::filesystem::path workload_;
  AskingOptions asking_;
  std::string topology_;
  std::string on_ = "virtual";
  int rounds_ = 5;
  std::optional<std::uint64_t> seed_;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() {
  return std::make_unique<TuneCommand>();
}

}  // namespace cuco::cli
