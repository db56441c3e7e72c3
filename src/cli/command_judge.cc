// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/json.h"
#include "base/text.h"
#include "candidate/event_json.h"
#include "cli/command.h"
#include "evaluation/judge.h"

namespace cuco::cli {
namespace {

class JudgeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WORKLOAD", workload_, "folder with workload.toml")
        .completes(Completion::Folder);
    arguments.positional("CANDIDATE", candidate_, "the program to judge, a .cu file");
    arguments.option("--fidelity", fidelity_, "LEVEL", "how thorough (default: final)")
        .one_of({"quick", "standard", "final"});
    arguments.option("--topology", topology_, "NAME",
                     "another cluster than the workload's: ib2x1, nvlink8 …");
    arguments.option("--seed", seed_, "N", "of the inputs; the same seed gives the same verdict");
    arguments.flag("--full", full_,
                   "check the full shapes too, every element against the GPU reference");
    arguments.flag("--own", own_,
                   "the code is yours: run it even where a sandbox fence is missing");
  }

  Result<ExitCode> run(Context& context) override {
    const evaluation::JudgeOptions options{
        .workload = workload_,
        .cache = evaluation::default_cache(system::Environment::current()),
        .seed = seed_,
        .tier = own_ ? system::Tier::Own : system::Tier::Hostile,
        .topology = topology_,
        .full = full_};
    CUCO_TRY_ASSIGN(const auto judge, evaluation::Judge::create(options));
    CUCO_TRY_ASSIGN(const std::string program, system::read_file(candidate_, 4U << 20U));
    context.terminal.progress(fmt::format("judging {} …", candidate_.filename().string()));
    const auto fidelity = fidelity_ == "quick"      ? candidate::Fidelity::Quick
                          : fidelity_ == "standard" ? candidate::Fidelity::Standard
                                                    : candidate::Fidelity::Final;
    auto judged = judge->judge(program, fidelity);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const candidate::Outcome outcome, std::move(judged));
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    context.terminal.write(context.json ? as_json(*judge, outcome)
                                        : as_text(context.terminal, *judge, outcome));
    return scored != nullptr ? ExitCode::Done : ExitCode::JobFailed;
  }

 private:
  std::string as_json(const evaluation::Judge& judge, const candidate::Outcome& outcome) const {
    CUCO_ASSERT(parse_json(candidate::to_json(outcome)));
    Json object = *parse_json(candidate::to_json(outcome));
    const candidate::Target target = judge.target();
    object["workload"] = judge.workload().name;
    object["candidate"] = candidate_.string();
    object["verdict"] = candidate::verdict(outcome);
    object["target"] = target.name;
    object["topology"] = target.topology;
    return to_text(object) + "\n";
  }

  static std::string as_text(const Terminal& terminal,
                             const evaluation::Judge& judge,
                             const candidate::Outcome& outcome) {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    if (scored == nullptr) {
      return fmt::format("{} {}\n{}\n", terminal.cross(), candidate::summary(outcome),
                         candidate::explanation(outcome));
    }
    const candidate::Target target = judge.target();
    std::string text =
        fmt::format("{} correct: {} shapes, {} hidden shapes, every iteration checked\n",
                    terminal.tick(), scored->checked_shapes, scored->checked_hidden_shapes);
    Table table(
        {Table::Align::Left, Table::Align::Right, Table::Align::Right, Table::Align::Right});
    table.row({"shape", "time", "seed", "bound"});
    for (const candidate::ShapeTime& time : scored->shapes) {
      table.row({time.shape, human_seconds(time.seconds), human_seconds(time.baseline_seconds),
                 human_seconds(time.bound_seconds)});
    }
    text += table.text(2);
    text += fmt::format("  predicted {} on {} ({}): {:.2f} x the seed, score {:.3f}\n",
                        human_seconds(scored->seconds), target.hardware, target.topology,
                        scored->baseline_seconds / scored->seconds, scored->score);
    return text;
  }

  std::filesystem::path workload_;
  std::filesystem::path candidate_;
  std::string fidelity_ = "final";
  std::string topology_;
  std::uint64_t seed_ = 0;
  bool own_ = false;
  bool full_ = false;
};

}  // namespace

std::unique_ptr<Command> make_judge_command() {
  return std::make_unique<JudgeCommand>();
}

}  // namespace cuco::cli
