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
#include "cli/programs/opened_program.h"
#include "cli/programs/program_files.h"
#include "cli/terminal/command.h"
#include "judge/whole/whole_program.h"
#include "search/policy.h"
#include "store/run_folder.h"

namespace cuco::cli {

namespace {

constexpr int kExpertWindow = 4;
constexpr std::size_t kLargestStart = 4U << 20U;

/// `optimize` and `evolve`, which leaves the fast path out.
class OptimizeCommand final : public Command {
 public:
  explicit OptimizeCommand(bool fast_path) : fast_path_(fast_path) {}

  void declare(Arguments& arguments) override {
    arguments
        .positional("WORKLOAD", files_,
                    "folder with workload.toml and program.cu, or the sources of a CUDA program")
        .completes(Completion::Workload);
    arguments.option("--ranks", ranks_, "N", "number of GPUs of such a program (default: 4)");
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
    asking_.declare(arguments);
    arguments.option("--candidates", candidates_, "N",
                     "maximum number of candidates, the seed included (default: 40)");
    arguments.option("--budget", budget_, "TIME",
                     "maximum duration: 90s, 30m, 2h (default: no limit)");
    arguments.option("--seed", seed_, "N", "seed of the search; the same seed repeats it");
    arguments.option("--jobs", jobs_, "N", "number of candidates to evaluate in parallel");
    arguments.option("--window", window_, "N",
                     "number of decisions made before the first verdict is seen");
    if (!fast_path_) {
      arguments.option("--start", start_, "FILE", "program to go on from (default: the seed)")
          .completes(Completion::File);
    }
    arguments.option("--policy", policy_, "NAME",
                     "search (default), greedy, power-law, random, best-of-n or survey");
    arguments.flag("--knowledge", knowledge_, "start from what earlier runs have taught");
    arguments
        .option("--topology", topology_, "NAME", "search on another cluster than the workload's")
        .completes(Completion::Topology);
    declare_target(arguments, on_);
    arguments.rest("ARGS", args_, "arguments for such a program");
  }

  Result<ExitCode> run(Context& context) override {
    std::error_code code;
    files_.front() = or_shipped(files_.front());
    CUCO_TRY(check_exists(files_.front()));
    CUCO_TRY_ASSIGN(files_, main_first(std::move(files_)));
    const bool is_file = std::filesystem::is_regular_file(files_.front(), code);
    if (!is_file && (ranks_ || !includes_.empty() || !flags_.empty() || !args_.empty())) {
      return described_twice();
    }
    if (!start_.empty() && !std::filesystem::is_regular_file(start_, code)) {
      return Error{ErrorKind::NotFound, fmt::format("--start: no such file: {}", start_.string())};
    }
    // Before the seed is judged, which may take minutes.
    if (!start_.empty()) CUCO_TRY(system::read_file(start_, kLargestStart));
    CUCO_TRY(search::parse_policy(policy_));
    CUCO_TRY_ASSIGN(JourneyOptions options, chosen(context.config));
    CUCO_TRY_ASSIGN(options.secret, settle_secret({options.record, options.replay}));
    return start_journey(context, options,
                         [&] { return store::create_run(context.config.text("store.folder")); });
  }

 private:
  Result<JourneyOptions> chosen(const Config& config) const {
    JourneyOptions options;
    options.workload = files_.front().string();
    for (std::size_t i = 1; i < files_.size(); ++i)
      options.sources.push_back(files_[i].string());
    options.ranks = ranks_.value_or(options.ranks);
    options.args = args_;
    options.includes = includes_;
    options.flags = flags_;
    options.topology = topology_;
    options.on = on_;
    CUCO_TRY(take_whole_program(options));
    CUCO_TRY(asking_.apply(config, &options));
    if (candidates_ < 1) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("--candidates {}: must be at least 1", candidates_)};
    }
    options.candidates = candidates_;
    options.policy = policy_;
    options.fast_path = fast_path_;
    options.start = start_;
    options.knowledge = knowledge_;
    options.seed = seed_.value_or(static_cast<std::uint64_t>(config.integer("search.seed")));
    options.budget_seconds = config.seconds("search.budget");
    if (!budget_.empty()) {
      const auto seconds = parse_duration(budget_);
      if (budget_.find("gpu") != std::string::npos) {
        return Error{ErrorKind::InvalidInput,
                     fmt::format("--budget {}: there is no budget in GPU-seconds: candidates are "
                                 "judged on virtual GPUs; limit --candidates, or the time (90s, "
                                 "30m, 2h)",
                                 budget_)};
      }
      if (!seconds || *seconds <= 0) {
        return Error{
            ErrorKind::InvalidInput,
            fmt::format("--budget: invalid duration (examples: 90s, 30m, 2h): {}", budget_)};
      }
      options.budget_seconds = *seconds;
    }
    if (jobs_ && *jobs_ < 1) {
      return Error{ErrorKind::InvalidInput, fmt::format("--jobs {}: must be at least 1", *jobs_)};
    }
    const auto jobs = jobs_.value_or(static_cast<int>(config.integer("search.jobs")));
    options.jobs =
        jobs > 0 ? jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    // A model learns from every verdict; the expert's ideas do not depend on them.
    const bool asks_models = !is_self_contained(options);
    if (window_ && *window_ < 1) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("--window {}: must be at least 1", *window_)};
    }
    const auto window = window_.value_or(static_cast<int>(config.integer("search.window")));
    options.window = window > 0 ? window : asks_models ? 1 : kExpertWindow;
    return options;
  }

  /// A folder whose workload.toml says how a program with main() is used stands for that program.
  static Result<void> take_whole_program(JourneyOptions& options) {
    if (!std::filesystem::is_directory(options.workload)) return {};
    CUCO_TRY_ASSIGN(const auto whole, judge::load_whole_program(options.workload));
    if (!whole) return {};
    options.workload = whole->seed.string();
    options.ranks = whole->ranks;
    options.args = whole->args;
    options.flags = whole->flags;
    if (options.topology.empty()) options.topology = whole->topology;
    return {};
  }

  std::vector<system::Path> files_;
  std::optional<int> ranks_;
  std::vector<std::string> includes_;
  std::vector<std::string> flags_;
  std::vector<std::string> args_;
  AskingOptions asking_;
  std::string budget_;
  std::string topology_;
  std::string on_ = "virtual";
  int candidates_ = 40;
  bool fast_path_;
  std::filesystem::path start_;
  std::string policy_ = "search";
  bool knowledge_ = false;
  std::optional<std::uint64_t> seed_;
  std::optional<int> jobs_;
  std::optional<int> window_;
};

}  // namespace

std::unique_ptr<Command> make_optimize_command() {
  return std::make_unique<OptimizeCommand>(true);
}

std::unique_ptr<Command> make_evolve_command() {
  return std::make_unique<OptimizeCommand>(false);
}

}  // namespace cuco::cli
