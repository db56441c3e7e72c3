// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/judge_report.h"
#include "cli/terminal/command.h"
#include "expert/emit/emit.h"
#include "expert/standalone/standalone.h"
#include "judge/whole/whole_program_judge.h"
#include "program/diff.h"

namespace cuco::cli {
namespace {

/// All ranks in one node store to each other; otherwise the network card takes part.
Result<design::Backend> backend_for(const candidate::Target& target) {
  if (target.facts.lsa_ranks >= target.facts.ranks) return design::Backend::Lsa;
  if (!target.facts.gin) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} has no network card that GPUs can drive", target.topology)};
  }
  return target.facts.lsa_ranks > 1 ? design::Backend::Hybrid : design::Backend::Gin;
}

class TransformCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROGRAM", file_, "a CUDA program with main() that calls NCCL")
        .completes(Completion::File);
    arguments.option("--output", folder_, "FOLDER", "where to write the new program")
        .with_letter('o')
        .completes(Completion::Folder);
    arguments.option("--ranks", ranks_, "N", "number of GPUs (default: 4)");
    arguments.option("--topology", topology_, "NAME", "cluster to simulate: nvlink8, roce2x4 …");
    arguments.option("--fidelity", fidelity_, "LEVEL", "how thoroughly to verify (default: final)")
        .one_of({"quick", "standard", "final"});
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
    arguments.flag("--own", own_, "trust the code: run it even if a sandbox fence is missing");
    arguments.rest("ARGS", args_, "arguments for the program");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY(check());
    CUCO_TRY_ASSIGN(const std::string source, system::read_file(file_, 4U << 20U));
    CUCO_TRY_ASSIGN(const system::TempFolder copy, system::TempFolder::create("cuco-transform"));
    CUCO_TRY_ASSIGN(const auto judge, open_judge(source, copy.path()));
    CUCO_TRY_ASSIGN(const design::Backend backend, backend_for(judge->target()));
    auto transformed = expert::with_own_collectives(source, {.backend = backend});
    if (!transformed) {
      return Error{ErrorKind::InvalidInput, fmt::format("{} is left as it is: {}", file_.string(),
                                                        transformed.error().message())};
    }
    context.terminal.progress(fmt::format("verifying {} …", file_.filename().string()));
    auto judged =
        judge->judge(transformed->as_one_file(),
                     candidate::parse_fidelity(fidelity_).value_or(candidate::Fidelity::Final));
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const candidate::Outcome outcome, std::move(judged));
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    if (scored != nullptr) CUCO_TRY(write(*transformed, source));
    context.terminal.write(context.json ? as_json(*judge, outcome, *transformed)
                                        : as_text(context, *judge, outcome, *transformed));
    return scored != nullptr ? ExitCode::Done : ExitCode::JobFailed;
  }

 private:
  Result<void> check() const {
    if (ranks_ < 1 || ranks_ > 64)
      return Error{ErrorKind::InvalidInput, fmt::format("--ranks must be 1 to 64: {}", ranks_)};
    if (folder_.empty())
      return Error{ErrorKind::InvalidInput, "where to? name a folder with -o FOLDER"};
    std::error_code code;
    if (std::filesystem::exists(folder_, code) && (!std::filesystem::is_directory(folder_, code) ||
                                                   !std::filesystem::is_empty(folder_, code))) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("already exists, and is no empty folder: {}", folder_.string())};
    }
    if (!std::filesystem::is_regular_file(file_, code))
      return Error{ErrorKind::InvalidInput, fmt::format("no file: {}", file_.string())};
    return {};
  }

  Result<std::unique_ptr<judge::WholeProgramJudge>> open_judge(const std::string& source,
                                                               const system::Path& copy) const {
    judge::WholeProgram program;
    program.name = file_.filename().string();
    program.ranks = ranks_;
    program.topology = topology_.empty() ? std::string(judge::usual_topology(ranks_)) : topology_;
    program.args = args_;
    program.flags = judge::compiler_flags(source, file_, includes_, flags_);
    program.rules.ranks = ranks_;
    program.seed = copy / "program.cu";
    CUCO_TRY(system::write_file(program.seed, source));
    return judge::WholeProgramJudge::create(
        std::move(program), {.workload = copy,
                             .cache = system::cache_folder(system::Environment::current()),
                             .tier = own_ ? system::Tier::Own : system::Tier::Hostile});
  }

  Result<void> write(const expert::Standalone& transformed, const std::string& source) const {
    CUCO_TRY(system::make_folder(folder_));
    const std::string name = file_.filename().string();
    CUCO_TRY(system::write_file(folder_ / name, transformed.program));
    CUCO_TRY(system::write_file(folder_ / expert::kCollectivesHeaderName, transformed.header));
    CUCO_TRY(system::write_file(folder_ / expert::emit::kDeviceHeaderName,
                                expert::emit::device_header()));
    return system::write_file(folder_ / "changes.diff",
                              program::unified_diff(name, source, transformed.program));
  }

  [[nodiscard]] std::string as_text(Context& context,
                                    const judge::ProgramJudge& judge,
                                    const candidate::Outcome& outcome,
                                    const expert::Standalone& transformed) const {
    std::vector<std::string> calls;
    for (const auto& [name, count] : transformed.replaced)
      calls.push_back(count == 1 ? name : fmt::format("{} ({})", name, count));
    std::string text = fmt::format("replaced   {}\n", join(calls, ", "));
    text += verdict_text(context.terminal, judge, outcome);
    if (std::holds_alternative<candidate::Scored>(outcome)) {
      text += fmt::format("written    {0}: {1}, {2}, {3}, changes.diff\n", folder_.string(),
                          file_.filename().string(), expert::kCollectivesHeaderName,
                          expert::emit::kDeviceHeaderName);
    } else {
      text += "nothing was written: what was made is not what the program does\n";
    }
    return text;
  }

  [[nodiscard]] std::string as_json(const judge::ProgramJudge& judge,
                                    const candidate::Outcome& outcome,
                                    const expert::Standalone& transformed) const {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    Json json{{"program", file_.string()},
              {"verdict", judge.verdict(outcome)},
              {"replaced", transformed.replaced}};
    if (scored != nullptr) {
      json["folder"] = folder_.string();
      json["seconds"] = scored->seconds;
      json["seed_seconds"] = scored->baseline_seconds;
      json["predicted"] = true;
      json["basis"] = judge.basis(*scored);
      json["left_out"] = scored->left_out;
    } else {
      json["explanation"] = candidate::explanation(outcome);
    }
    return to_text(json) + "\n";
  }

  system::Path file_;
  system::Path folder_;
  int ranks_ = 4;
  std::string topology_;
  std::string fidelity_ = "final";
  std::vector<std::string> includes_;
  std::vector<std::string> flags_;
  bool own_ = false;
  std::vector<std::string> args_;
};

}  // namespace

std::unique_ptr<Command> make_transform_command() {
  return std::make_unique<TransformCommand>();
}

}  // namespace cuco::cli
