// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "judge/judge.h"
#include "judge/whole_program.h"

namespace cuco::cli {
namespace {

/// One thing that a workload must have right.
struct Check {
  std::string what;
  bool passed = false;
  std::string detail{};
};

class CheckCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments
        .positional("WORKLOAD", workload_, "folder with workload.toml, program.cu and oracle.cpp")
        .completes(Completion::Folder);
    arguments.flag("--no-run", no_run_,
                   "only read the files and test the oracle; do not run the seed");
  }

  Result<ExitCode> run(Context& context) override {
    std::error_code code;
    if (!std::filesystem::is_regular_file(workload_ / "workload.toml", code)) {
      return Error{ErrorKind::NotFound,
                   fmt::format("no workload.toml in {}; create one with: cuco init {}",
                               workload_.string(), workload_.string())};
    }
    std::vector<Check> checks;
    const auto whole = judge::load_whole_program(workload_);
    if (!whole) return tell(context, {{whole.error().message(), false, ""}});
    if (*whole) return check_whole(context, **whole);
    const judge::JudgeOptions options{.workload = workload_,
                                      .cache = system::cache_folder(system::Environment::current()),
                                      .tier = system::Tier::Own};
    if (const auto loaded = workload::load_workload(workload_); !loaded) {
      // Everything that is wrong with the files, a line each.
      for (const std::string_view line : split(loaded.error().message(), '\n'))
        checks.push_back({std::string(line), false, ""});
    } else if (const auto judge = judge::Judge::create(options); !judge) {
      checks.push_back({judge.error().message(), false, ""});
    } else {
      checks.push_back({"workload.toml, program.cu and oracle.cpp", true, ""});
      look_at(**judge, checks, context.terminal);
    }
    return tell(context, checks);
  }

 private:
  static ExitCode tell(Context& context, const std::vector<Check>& checks) {
    const bool good = std::ranges::all_of(checks, &Check::passed);
    context.terminal.write(context.json ? as_json(checks, good)
                                        : as_text(checks, context.terminal));
    return good ? ExitCode::Done : ExitCode::JobFailed;
  }

  /// Shapes, oracle, seed. A check that cannot run has failed; the others still run.
  void look_at(judge::Judge& judge, std::vector<Check>& checks, Terminal& terminal) const {
    checks.push_back({"has a hidden shape",
                      !judge.workload().shapes_for(workload::Use::Hidden).empty(),
                      "one that no proposer sees"});
    if (const auto sizes = judge.memory_of_shapes()) {
      for (const judge::ShapeMemory& size : *sizes) {
        checks.push_back({fmt::format("shape fits on one GPU, {}", size.shape),
                          size.bytes <= size.capacity,
                          fmt::format("{} of {} for all buffer sets of a rank",
                                      human_bytes(static_cast<double>(size.bytes)),
                                      human_bytes(static_cast<double>(size.capacity)))});
      }
    } else {
      checks.push_back({"shapes", false, sizes.error().message()});
    }
    if (const auto oracle = judge.test_oracle()) {
      for (const judge::OracleTest& test : *oracle) {
        checks.push_back({fmt::format("oracle, {}: {}", test.shape, test.what), test.passed, ""});
      }
    } else {
      checks.push_back({"oracle.cpp runs", false, oracle.error().message()});
    }
    if (no_run_) return;
    terminal.progress("running the seed …");
    // At final fidelity: a workload whose hidden shapes fail is broken, too.
    const auto judged = judge.judge(judge.workload().program, candidate::Fidelity::Final);
    terminal.clear_progress();
    if (judged) return add_seed(checks, *judged);
    checks.push_back({"the seed can be judged", false, judged.error().message()});
  }

  /// There is no oracle: the seed must run, copy something back, and agree with itself.
  Result<ExitCode> check_whole(Context& context, const judge::WholeProgram& program) {
    const InterruptScope interrupts;
    CUCO_TRY_ASSIGN(
        const judge::WholeVerdict verdict,
        judge::judge_whole_program(
            program,
            {.candidate = program.seed, .schedules = 1, .interrupted = InterruptScope::requested}));
    const std::vector<Check> checks{
        {"workload.toml and program.cu", true, std::string(judge::kWholeProgramMark)},
        {"the seed copies data back, and the same data under another schedule", verdict.same,
         verdict.same ? fmt::format("{} copies", verdict.copies)
                      : join(verdict.differences, "; ")}};
    return tell(context, checks);
  }

  static void add_seed(std::vector<Check>& checks, const candidate::Outcome& outcome) {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    checks.push_back({"the seed passes on check, hidden and timed shapes", scored != nullptr,
                      scored != nullptr ? "" : candidate::explanation(outcome)});
    if (scored == nullptr) return;
    for (const candidate::ShapeTime& time : scored->shapes) {
      checks.push_back(
          {fmt::format("bound below the seed's time, {}", time.shape),
           time.bound_seconds < time.seconds,
           fmt::format("bound {}, seed {} predicted", human_seconds(time.bound_seconds),
                       human_seconds(time.seconds))});
    }
  }

  static std::string as_json(const std::vector<Check>& checks, bool good) {
    Json object{{"passed", good}, {"checks", Json::array()}};
    for (const Check& check : checks) {
      object["checks"].push_back(
          {{"what", check.what}, {"passed", check.passed}, {"detail", check.detail}});
    }
    return to_text(object) + "\n";
  }

  static std::string as_text(const std::vector<Check>& checks, const Terminal& terminal) {
    std::string text;
    for (const Check& check : checks) {
      text += fmt::format("{} {}", check.passed ? terminal.tick() : terminal.cross(), check.what);
      if (!check.detail.empty()) text += fmt::format(" ({})", check.detail);
      text += "\n";
    }
    return text;
  }

  std::filesystem::path workload_;
  bool no_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check_command() {
  return std::make_unique<CheckCommand>();
}

}  // namespace cuco::cli
