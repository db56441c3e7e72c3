// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/journey/program_reading.h"
#include "cli/programs/program_files.h"
#include "cli/programs/split/split_plan.h"
#include "cli/programs/split/split_proposal.h"
#include "cli/programs/split/split_text.h"
#include "cli/terminal/command.h"
#include "judge/whole/whole_program.h"
#include "program/tokens.h"
#include "system/os/files.h"
#include "targets/virtual/machine_files.h"

namespace cuco::cli {
namespace {

/// Continues behind each inserted value: a name may itself look like a mark.
std::string filled(std::string text, std::string_view key, std::string_view value) {
  const std::string mark = fmt::format("{{{{{}}}}}", key);
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), value);
    at += value.size();
  }
  return text;
}

/// The entry point that a split program lacks, if it lacks one.
std::optional<std::string> missing_entry(std::span<const std::string> tokens) {
  for (const char* name : {"cuco_setup", "cuco_run", "cuco_teardown"}) {
    if (std::ranges::find(tokens, name) == tokens.end()) return name;
  }
  return std::nullopt;
}

/// A file's name as it may stand in comments and strings of what is written.
std::string mentioned(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  std::ranges::replace_if(
      name,
      [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\' || c == '\'';
      },
      '_');
  return name;
}

class InitCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FOLDER", folder_, "workload folder to create, e.g. workloads/mine")
        .completes(Completion::Folder);
    arguments
        .option("--from", program_, "FILE",
                "start from this program; with main() it becomes a whole-program workload")
        .completes(Completion::File);
    arguments.option("--ranks", ranks_, "N", "number of GPUs (default: 4)");
    arguments.option("--topology", topology_, "NAME", "cluster to simulate: nvlink8, roce2x4 …");
    arguments
        .option("--include", includes_, "DIR", "header folder that --from needs; may be repeated")
        .completes(Completion::Folder);
    arguments.option("--nvcc", flags_, "FLAG", "compiler flag that --from needs; may be repeated");
    arguments.rest("ARGS", args_, "arguments for a whole program");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY(check());
    std::string source;
    if (!program_.empty()) {
      CUCO_TRY_ASSIGN(source, system::read_file(program_, 4U << 20U));
    }
    const auto tokens = program::tokens(source);
    const bool whole = has_main(source);
    const auto missing = program_.empty() || whole ? std::nullopt : missing_entry(tokens);
    if (missing) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("not a program to start from (neither main() nor {1}): {0}",
                               program_.string(), *missing)};
    }
    if (!whole && (!flags_.empty() || !includes_.empty())) {
      return Error{ErrorKind::InvalidInput,
                   "--nvcc and --include need a whole program, with main(); a split program is one "
                   "file, and the judge sets its flags"};
    }
    CUCO_TRY(system::make_folder(folder_));
    CUCO_TRY(whole ? write_whole(source) : write_split(source));
    Split made;
    if (whole) {
      CUCO_TRY_ASSIGN(made, split());
    }
    context.terminal.write(context.json ? as_json(whole, made)
                                        : context.terminal.tick() + as_text(whole, made));
    return ExitCode::Done;
  }

 private:
  /// What became of the attempt to split a whole program.
  struct Split {
    std::string folder;   ///< Empty: there is none,…
    std::string why_not;  ///< …for this reason.
  };

  [[nodiscard]] std::string as_text(bool whole, const Split& made) const {
    const auto next = [](const std::string& folder, std::string_view between) {
      return fmt::format("  next: cuco check {0}, {1}then cuco optimize {0}\n", folder, between);
    };
    std::string text = fmt::format(" {}\n", folder_.string());
    if (whole) text += fmt::format("  {}\n", judge::kWholeProgramMark);
    text += next(folder_.string(), "");
    if (!made.why_not.empty()) text += fmt::format("  not split: {}\n", made.why_not);
    if (made.folder.empty()) return text;
    return text + fmt::format("  split, with fresh inputs and an oracle: {}\n", made.folder) +
           next(made.folder, fmt::format("read {}/README.md, ", made.folder));
  }

  [[nodiscard]] std::string as_json(bool whole, const Split& made) const {
    Json json{{"folder", folder_.string()}, {"whole_program", whole}};
    if (!made.folder.empty()) json["split"] = made.folder;
    if (!made.why_not.empty()) json["not_split"] = made.why_not;
    return to_text(json) + "\n";
  }

  Result<void> check() {
    if (ranks_ < 1 || ranks_ > 64) {
      return Error{ErrorKind::InvalidInput, fmt::format("--ranks must be 1 to 64: {}", ranks_)};
    }
    if (folder_.filename().empty()) folder_ = folder_.parent_path();  // "mine/"
    const std::string name = folder_.filename().string();
    const bool plain = std::ranges::all_of(name, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    });
    if (name.empty() || !plain) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("invalid workload name (use letters, digits, _ and -): {}",
                               name.empty() ? folder_.string() : name)};
    }
    for (const char* file : {"workload.toml", "program.cu", "oracle.cpp", "README.md", "split"}) {
      std::error_code code;
      if (!std::filesystem::exists(folder_ / file, code)) continue;
      return Error{ErrorKind::InvalidInput,
                   fmt::format("already exists: {}", (folder_ / file).string())};
    }
    if (topology_.empty()) topology_ = judge::usual_topology(ranks_);
    CUCO_TRY(targets::find_topology(topology_));
    return {};
  }

  /// All four files; a given program takes the place of the example.
  Result<void> write_split(const std::string& source) const {
    CUCO_TRY_ASSIGN(const system::Path templates, system::find_data("templates/workload"));
    for (const char* name : {"workload.toml", "program.cu", "oracle.cpp", "README.md"}) {
      CUCO_TRY_ASSIGN(std::string text, system::read_file(templates / name));
      if (std::string_view(name) == "program.cu" && !source.empty()) text = source;
      text = filled(std::move(text), "name", folder_.filename().string());
      text = filled(std::move(text), "ranks", std::to_string(ranks_));
      text = filled(std::move(text), "topology", topology_);
      CUCO_TRY(system::write_file(folder_ / name, text));
    }
    return {};
  }

  /// As a list of TOML. Strings of JSON are strings of TOML: words may hold quotes and backslashes.
  static std::string list_of(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words)
      list += (list.empty() ? "" : ", ") + to_text(Json(word));
    return list;
  }

  Result<void> write_whole(const std::string& source) const {
    const std::string name = folder_.filename().string();
    CUCO_TRY(system::write_file(
        folder_ / "workload.toml",
        fmt::format(
            "# A whole program with main(): second class. Candidates must copy the same data\n"
            "# back from the devices as program.cu, up to rounding errors. There are no fresh\n"
            "# inputs, no oracle and no score. For a full judgement, split it: cuco init --help.\n"
            "# Optional keys of [whole]: exact = true (bit by bit), type = \"fp32\" (fp64, fp16,\n"
            "# bf16, exact; default: as program.cu writes it), reduction = N (terms of a sum).\n"
            "name = \"{}\"\nsummary = \"{}, as a whole\"\nranks = {}\ntopology = \"{}\"\n\n"
            "[whole]\nargs = [{}]\nflags = [{}]\n",
            name, mentioned(program_), ranks_, topology_, list_of(args_),
            list_of(judge::compiler_flags(source, program_, includes_, flags_)))));
    CUCO_TRY(system::write_file(folder_ / "program.cu", source));
    return system::write_file(folder_ / "README.md",
                              fmt::format("# {}\n\nA {}.\n", name, judge::kWholeProgramMark));
  }

  /// A program that cannot be read or split is a workload all the same: nvcc may know more.
  Result<Split> split() const {
    const auto read = read_program(program_, includes_, flags_);
    if (!read) return Split{.why_not = read.error().message()};
    SplitSubject subject{folder_.filename().string(), mentioned(program_), ranks_, topology_};
    CUCO_TRY(system::write_file(folder_ / "SPLIT.md", split_proposal(read->graph, subject)));
    CUCO_TRY_ASSIGN(const std::string source, system::read_file(program_, 4U << 20U));
    const auto plan = plan_split(read->graph, source);
    if (!plan) {
      return Split{.why_not = fmt::format("{}; by hand: {}/SPLIT.md", plan.error().message(),
                                          folder_.string())};
    }
    const std::filesystem::path folder = folder_ / "split";
    subject.name += "_split";
    CUCO_TRY(system::make_folder(folder));
    CUCO_TRY(system::write_file(folder / "program.cu", split_program(*plan, source, subject)));
    CUCO_TRY(system::write_file(folder / "oracle.cpp", split_oracle(*plan, source, subject)));
    CUCO_TRY(system::write_file(folder / "workload.toml", split_description(*plan, subject)));
    CUCO_TRY(system::write_file(folder / "README.md", split_readme(*plan, subject)));
    return Split{.folder = folder.string()};
  }

  std::filesystem::path folder_;
  std::filesystem::path program_;
  int ranks_ = 4;
  std::string topology_;
  std::vector<std::string> includes_;
  std::vector<std::string> flags_;
  std::vector<std::string> args_;
};

}  // namespace

std::unique_ptr<Command> make_init_command() {
  return std::make_unique<InitCommand>();
}

}  // namespace cuco::cli
