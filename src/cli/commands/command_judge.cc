// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/json.h"
#include "candidate/event_json.h"
#include "cli/journey/judge_report.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/target_option.h"
#include "cli/live/live_judgement.h"
#include "cli/terminal/command.h"
#include "judge/program_judge.h"
#include "system/os/system_clock.h"
#include "targets/virtual/run_trace.h"

namespace cuco::cli {
namespace {

class JudgeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WORKLOAD", workload_, "folder with workload.toml")
        .completes(Completion::Workload);
    arguments.positional("CANDIDATE", candidate_, "the program to judge, a .cu file");
    arguments.option("--fidelity", fidelity_, "LEVEL", "how thorough (default: final)")
        .one_of({"check", "quick", "standard", "scaled", "final"});
    arguments
        .option("--topology", topology_, "NAME",
                "judge on another cluster than the workload's: ib2x1, nvlink8 …")
        .completes(Completion::Topology);
    declare_target(arguments, on_);
    arguments.option("--seed", seed_, "N",
                     "seed for the inputs; the same seed gives the same verdict");
    arguments.option("--scale", scale_, "K",
                     "time full shapes as 1/K of their work on 1/K of the machine");
    arguments.flag("--small", small_, "do not time full shapes");
    arguments.flag("--full", full_,
                   "also verify full shapes, every element against the GPU reference");
    arguments.flag("--check", check_,
                   "watch every access at lower fidelities, too; final always does");
    arguments
        .option("--timeline", timeline_, "FILE",
                "write a trace of seed and candidate for ui.perfetto.dev")
        .completes(Completion::File);
    arguments.flag("--exact", exact_, "compare a whole program with its seed bit by bit");
    arguments.option("--jobs", jobs_, "N", "number of trials to run in parallel (default: cores)");
    arguments.flag("--own", own_, "trust the code: run it even if a sandbox fence is missing");
  }

  Result<ExitCode> run(Context& context) override {
    workload_ = or_shipped(workload_);
    CUCO_TRY(check_exists(workload_));
    // Before anything is started: opening a pipe would wait for whoever writes to it.
    CUCO_TRY(read_candidate());
    if (scale_ && !(*scale_ >= 1))
      return Error{ErrorKind::InvalidInput, "--scale must be at least 1"};
    if (jobs_ && *jobs_ < 1) return Error{ErrorKind::InvalidInput, "--jobs must be at least 1"};
    CUCO_TRY(check_timeline());
    const system::SystemClock clock;
    InFlight table(clock);
    const judge::JudgeOptions options{
        .workload = workload_,
        .cache = system::cache_folder(system::Environment::current()),
        .timeline = timeline_,
        .seed = seed_,
        .tier = own_ ? system::Tier::Own : system::Tier::Hostile,
        .topology = topology_,
        .on = target_of(on_),
        .full = full_,
        .check = check_,
        .exact = exact_,
        .small = small_,
        .scale = scale_.value_or(0),
        .threads = jobs_.value_or(cores()),
        .on_progress = [&](const judge::JudgeProgress& progress) { table.advance(progress); }};
    CUCO_TRY_ASSIGN(const auto judge, judge::open_judge(options));
    CUCO_TRY_ASSIGN(const std::string program, read_candidate());
    std::optional<LiveJudgement> live;
    live.emplace(context.terminal, table, program,
                 JudgementView{.candidate = candidate_.filename().string(),
                               .workload = judge->name(),
                               .fidelity = fidelity_});
    if (fidelity_ == "check") {
      auto checked = judge->check(program);
      live.reset();
      return check_only(context, *judge, std::move(checked));
    }
    auto judged = judge->judge(
        program, candidate::parse_fidelity(fidelity_).value_or(candidate::Fidelity::Final));
    live.reset();
    CUCO_TRY_ASSIGN(const candidate::Outcome outcome, std::move(judged));
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    context.terminal.write(context.json ? as_json(*judge, outcome)
                                        : verdict_text(context.terminal, *judge, outcome));
    if (!timeline_.empty()) tell_of_timeline(context, scored != nullptr);
    return scored != nullptr ? ExitCode::Done : ExitCode::JobFailed;
  }

 private:
  [[nodiscard]] static int cores() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  [[nodiscard]] Result<std::string> read_candidate() const {
    std::error_code code;
    const auto type = std::filesystem::status(candidate_, code).type();
    using std::filesystem::file_type;
    if (!code && type != file_type::regular && type != file_type::not_found) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("'{}' is {}, not a file with a program", candidate_.string(),
                               type == file_type::directory ? "a folder"
                               : type == file_type::fifo    ? "a pipe"
                               : type == file_type::socket  ? "a socket"
                                                            : "a device")};
    }
    return system::read_file(candidate_, 4U << 20U);
  }

  [[nodiscard]] Result<void> check_timeline() const {
    if (timeline_.empty()) return {};
    if (on_ != "virtual") {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("--timeline shows virtual time: --on {} has none", on_)};
    }
    if (fidelity_ == "check") {
      return Error{ErrorKind::InvalidInput,
                   "--timeline shows what is timed: --fidelity check times nothing"};
    }
    return targets::check_trace_file(timeline_);
  }

  void tell_of_timeline(Context& context, bool is_written) const {
    if (is_written) {
      context.terminal.note("timeline (predicted): {}; open it in ui.perfetto.dev",
                            timeline_.string());
    } else {
      context.terminal.note("no timeline: only what passes is timed");
    }
  }

  /// No time, no schedules: the quickest answer to "is it right?".
  Result<ExitCode> check_only(Context& context,
                              const judge::ProgramJudge& judge,
                              Result<std::optional<candidate::Outcome>> checked) const {
    CUCO_TRY_ASSIGN(const auto outcome, std::move(checked));
    if (outcome) {
      context.terminal.write(context.json ? as_json(judge, *outcome)
                                          : verdict_text(context.terminal, judge, *outcome));
      return ExitCode::JobFailed;
    }
    context.terminal.write(context.json ? to_text(Json{{"workload", judge.name()},
                                                       {"candidate", candidate_.string()},
                                                       {"verdict", "correct"},
                                                       {"stages", judge.stages()}}) +
                                              "\n"
                                        : fmt::format("{} correct on the check shapes; not timed\n",
                                                      context.terminal.tick()));
    return ExitCode::Done;
  }

  std::string as_json(const judge::ProgramJudge& judge, const candidate::Outcome& outcome) const {
    CUCO_ASSERT(parse_json(candidate::to_json(outcome)));
    Json object = *parse_json(candidate::to_json(outcome));
    const candidate::Target target = judge.target();
    object["workload"] = judge.name();
    object["candidate"] = candidate_.string();
    object["verdict"] = judge.verdict(outcome);
    if (exact_) object["exact"] = true;
    object["summary"] = candidate::summary(outcome);
    object["target"] = target.name;
    object["topology"] = target.topology;
    if (!judge.note().empty()) object["note"] = judge.note();
    object["stages"] = judge.stages();
    object["host_seconds"] = judge.host_seconds();
    for (const judge::MeasuredShape& measured : judge.measured())
      object["measured"].push_back(as_json(measured));
    return to_text(object) + "\n";
  }

  /// Every sample, also those that were dropped, with what was seen around it.
  static Json as_json(const judge::MeasuredShape& measured) {
    const auto list = [](const judge::TrialTimes& times) {
      Json items = Json::array();
      for (std::size_t i = 0; i < times.samples.size(); ++i) {
        const measure::Sample& sample = times.samples[i];
        items.push_back({{"seconds", sample.seconds},
                         {"iterations", times.iterations[i]},
                         {"after_seconds", sample.after_seconds},
                         {"probe_seconds", sample.probe_seconds},
                         {"clock_mhz", sample.clock_mhz},
                         {"throttled", sample.throttled}});
      }
      return items;
    };
    const judge::PairTimes& times = measured.times;
    return {{"shape", measured.shape},
            {"decision", describe(measured)},
            {"starts", times.starts},
            {"throttled", times.throttled},
            {"disturbed", times.disturbed},
            {"speedup", {times.speedup.low, times.speedup.high}},
            {"incumbent", list(times.incumbent)},
            {"candidate", list(times.candidate)}};
  }

  std::filesystem::path workload_;
  std::filesystem::path candidate_;
  std::string fidelity_ = "final";
  std::string topology_;
  std::string on_ = "virtual";
  std::uint64_t seed_ = 0;
  std::optional<double> scale_;
  std::optional<int> jobs_;
  std::filesystem::path timeline_;
  bool small_ = false;
  bool own_ = false;
  bool full_ = false;
  bool check_ = false;
  bool exact_ = false;
};

}  // namespace

std::unique_ptr<Command> make_judge_command() {
  return std::make_unique<JudgeCommand>();
}

}  // namespace cuco::cli
