// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/target_option.h"
#include "cli/terminal/command.h"
#include "judge/program_judge.h"

namespace cuco::cli {
namespace {

using judge::WorkloadTest;

class CheckCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments
        .positional("WORKLOAD", workload_, "folder with workload.toml, program.cu and oracle.cpp")
        .completes(Completion::Workload);
    arguments.flag("--no-run", no_run_,
                   "only read the files and test the oracle; do not run the seed");
    declare_target(arguments, on_);
  }

  Result<ExitCode> run(Context& context) override {
    workload_ = or_shipped(workload_);
    std::error_code code;
    if (!std::filesystem::is_regular_file(workload_ / "workload.toml", code)) {
      return Error{ErrorKind::NotFound,
                   fmt::format("no workload.toml in {}; create one with: cuco init {}",
                               workload_.string(), workload_.string())};
    }
    const judge::JudgeOptions options{.workload = workload_,
                                      .cache = system::cache_folder(system::Environment::current()),
                                      .tier = system::Tier::Own,
                                      .on = target_of(on_)};
    const auto judge = judge::open_judge(options);
    if (!judge && judge.error().kind() == ErrorKind::Unavailable) return judge.error();
    if (!judge) {
      // Everything that is wrong with the files, a line each.
      std::vector<WorkloadTest> failures;
      for (const std::string_view line : split(judge.error().message(), '\n'))
        failures.push_back({std::string(line), false, ""});
      return report(context, failures);
    }
    context.terminal.progress(no_run_ ? "trying the oracle …" : "running the seed …");
    const auto tests = (*judge)->test_workload(!no_run_);
    context.terminal.clear_progress();
    return report(context, tests);
  }

 private:
  static ExitCode report(Context& context, const std::vector<WorkloadTest>& tests) {
    const bool good = std::ranges::all_of(tests, &WorkloadTest::passed);
    context.terminal.write(context.json ? as_json(tests, good) : as_text(tests, context.terminal));
    return good ? ExitCode::Done : ExitCode::JobFailed;
  }

  static std::string as_json(const std::vector<WorkloadTest>& tests, bool good) {
    Json object{{"passed", good}, {"checks", Json::array()}};
    for (const WorkloadTest& test : tests) {
      object["checks"].push_back(
          {{"what", test.what}, {"passed", test.passed}, {"detail", test.detail}});
    }
    return to_text(object) + "\n";
  }

  static std::string as_text(const std::vector<WorkloadTest>& tests, const Terminal& terminal) {
    std::string text;
    for (const WorkloadTest& test : tests) {
      text += fmt::format("{} {}", test.passed ? terminal.tick() : terminal.cross(), test.what);
      if (!test.detail.empty()) text += fmt::format(" ({})", test.detail);
      text += "\n";
    }
    return text;
  }

  std::filesystem::path workload_;
  std::string on_ = "virtual";
  bool no_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check_command() {
  return std::make_unique<CheckCommand>();
}

}  // namespace cuco::cli
