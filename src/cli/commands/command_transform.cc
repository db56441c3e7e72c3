// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/judge_report.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/transformed.h"
#include "cli/programs/opened_program.h"
#include "cli/programs/program_files.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

class TransformCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments
        .positional("PROGRAM", files_,
                    "the sources of a CUDA program that calls NCCL, or a workload's folder")
        .completes(Completion::Workload);
    arguments.option("--output", folder_, "FOLDER", "where to write the new program")
        .with_letter('o')
        .completes(Completion::Folder);
    arguments.option("--ranks", ranks_, "N", "number of GPUs (default: 4)");
    arguments.option("--topology", topology_, "NAME", "cluster to simulate: nvlink8, roce2x4 …")
        .completes(Completion::Topology);
    arguments.option("--fidelity", fidelity_, "LEVEL", "how thoroughly to verify (default: final)")
        .one_of({"quick", "standard", "final"});
    arguments.option("--include", includes_, "DIR", "header folder that it needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that it needs; may be repeated");
    arguments.flag("--overlap", overlap_, "let run side by side what nothing orders");
    arguments.flag("--own", own_, "trust the code: run it even if a sandbox fence is missing");
    arguments.rest("ARGS", args_, "arguments for the program");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY(check());
    CUCO_TRY_ASSIGN(files_, main_first(std::move(files_)));
    CUCO_TRY_ASSIGN(const Opened opened, open());
    judge::ProgramJudge* const judge = opened.judge;
    const std::string& source = opened.source;
    CUCO_TRY_ASSIGN(const design::Backend backend, usual_backend(judge->target()));
    auto transformed = is_split() ? transform_split(file(), source, backend, overlap_)
                                  : transform_whole(name_to_write(), source, backend,
                                                    opened.graph ? &*opened.graph : nullptr);
    if (!transformed) {
      return Error{ErrorKind::InvalidInput, fmt::format("{} is left as it is: {}", file().string(),
                                                        transformed.error().message())};
    }
    if (opened.program) add_beside(*opened.program, *transformed);
    context.terminal.progress(fmt::format("verifying {} …", file().filename().string()));
    auto judged =
        judge->judge(transformed->judged,
                     candidate::parse_fidelity(fidelity_).value_or(candidate::Fidelity::Final));
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const candidate::Outcome outcome, std::move(judged));
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    if (scored != nullptr) CUCO_TRY(write(*transformed));
    context.terminal.write(context.json ? as_json(*judge, outcome, *transformed)
                                        : as_text(context, *judge, outcome, *transformed));
    return scored != nullptr ? ExitCode::Done : ExitCode::JobFailed;
  }

 private:
  Result<void> check() const {
    if (folder_.empty())
      return Error{ErrorKind::InvalidInput, "where to? name a folder with -o FOLDER"};
    std::error_code code;
    if (std::filesystem::exists(folder_, code) && (!std::filesystem::is_directory(folder_, code) ||
                                                   !std::filesystem::is_empty(folder_, code))) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("already exists, and is no empty folder: {}", folder_.string())};
    }
    CUCO_TRY(check_exists(file()));
    const bool describes = ranks_ || !includes_.empty() || !flags_.empty() || !args_.empty();
    if (is_folder() && describes) {
      return described_twice();
    }
    return {};
  }

  [[nodiscard]] bool is_folder() const {
    std::error_code code;
    return std::filesystem::is_directory(file(), code);
  }
  [[nodiscard]] const system::Path& file() const { return files_.front(); }
  [[nodiscard]] system::Path program_file() const {
    return is_folder() ? file() / "program.cu" : file();
  }
  /// It has kernels now, whatever it was.
  [[nodiscard]] std::string name_to_write() const {
    system::Path name = program_file().filename();
    return name.extension() == ".cu" ? name.string() : name.replace_extension(".cu").string();
  }
  /// A folder may hold a whole program, too.
  [[nodiscard]] bool is_split() const {
    const auto whole = judge::load_whole_program(file());
    return is_folder() && (!whole || !*whole);
  }

  struct Opened {
    std::string source;
    judge::ProgramJudge* judge = nullptr;
    std::optional<OpenedProgram> program;
    std::unique_ptr<judge::ProgramJudge> of_folder;
    std::optional<analysis::CommunicationGraph> graph;  ///< Of a file, if it is needed.
  };
  Result<Opened> open() const {
    const judge::JudgeOptions options{.workload = file(),
                                      .cache = system::cache_folder(system::Environment::current()),
                                      .tier = own_ ? system::Tier::Own : system::Tier::Hostile,
                                      .topology = topology_};
    Opened opened;
    if (is_folder()) {
      CUCO_TRY_ASSIGN(opened.source, system::read_file(program_file(), 4U << 20U));
      CUCO_TRY_ASSIGN(opened.of_folder, judge::open_judge(options));
      opened.judge = opened.of_folder.get();
      return opened;
    }
    CUCO_TRY_ASSIGN(ReadProgram read, read_program(files_, includes_, flags_));
    CUCO_TRY_ASSIGN(opened.program,
                    open_program({files_, ranks_.value_or(4), args_, includes_, flags_}, options));
    opened.source = opened.program->source;
    opened.judge = opened.program->judge.get();
    if (!overlap_) return opened;
    // Places in the graph are those of the text that changes, with its headers.
    opened.graph = std::move(read.graph);
    if (read.text != opened.source) {
      CUCO_TRY_ASSIGN(opened.graph, analyse_text(files_, opened.source, includes_, flags_));
    }
    return opened;
  }

  /// What does not communicate is written as it is, changes.diff still last.
  static void add_beside(const OpenedProgram& program, Transformed& transformed) {
    transformed.files.insert(transformed.files.end() - 1, program.beside.begin(),
                             program.beside.end());
  }

  Result<void> write(const Transformed& transformed) const {
    CUCO_TRY(system::make_folder(folder_));
    for (const program::File& file : transformed.files)
      CUCO_TRY(system::write_file(folder_ / file.path, file.text));
    return {};
  }

  [[nodiscard]] std::string as_text(Context& context,
                                    const judge::ProgramJudge& judge,
                                    const candidate::Outcome& outcome,
                                    const Transformed& transformed) const {
    std::vector<std::string> calls;
    for (const auto& [name, count] : transformed.replaced)
      calls.push_back(count == 1 ? name : fmt::format("{} ({})", name, count));
    std::string text = fmt::format("replaced   {}\n", join(calls, ", "));
    text += verdict_text(context.terminal, judge, outcome);
    if (std::holds_alternative<candidate::Scored>(outcome)) {
      std::vector<std::string> files;
      for (const program::File& file : transformed.files)
        files.push_back(file.path);
      text += fmt::format("written    {}: {}\n", folder_.string(), join(files, ", "));
    } else {
      text += "nothing was written: what was made is not what the program does\n";
    }
    return text;
  }

  [[nodiscard]] std::string as_json(const judge::ProgramJudge& judge,
                                    const candidate::Outcome& outcome,
                                    const Transformed& transformed) const {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    Json json{{"program", file().string()},
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

  std::vector<system::Path> files_;
  system::Path folder_;
  std::optional<int> ranks_;
  std::string topology_;
  std::string fidelity_ = "final";
  std::vector<std::string> includes_;
  std::vector<std::string> flags_;
  bool overlap_ = false;
  bool own_ = false;
  std::vector<std::string> args_;
};

}  // namespace

std::unique_ptr<Command> make_transform_command() {
  return std::make_unique<TransformCommand>();
}

}  // namespace cuco::cli
