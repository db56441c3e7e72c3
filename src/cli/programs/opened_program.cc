// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/opened_program.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/programs/program_files.h"

namespace cuco::cli {

namespace {

/// What the workload.toml beside a workload's program.cu says of it; otherwise what its name does.
Result<judge::WholeProgram> described(const system::Path& file) {
  std::error_code code;
  const system::Path folder = file.parent_path();
  if (file.filename() == "program.cu" && std::filesystem::exists(folder / "workload.toml", code)) {
    CUCO_TRY_ASSIGN(auto whole, judge::load_whole_program(folder));
    if (whole) return *std::move(whole);
  }
  judge::WholeProgram program;
  program.name = file.filename().string();
  return program;
}

}  // namespace

Result<OpenedProgram> open_program(const ProgramUse& use, judge::JudgeOptions options) {
  constexpr int kMostRanks = 64;
  if (use.ranks < 1 || use.ranks > kMostRanks) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("--ranks must be 1 to {}: {}", kMostRanks, use.ranks)};
  }
  CUCO_TRY_ASSIGN(ProgramFiles read, read_program_files(use.files, options.cache));
  CUCO_TRY_ASSIGN(system::TempFolder copy, system::TempFolder::create("cuco-program"));
  CUCO_TRY_ASSIGN(judge::WholeProgram program, described(use.files.front()));
  program.ranks = use.ranks;
  program.topology = judge::usual_topology(use.ranks);
  program.args = use.args;
  program.flags = judge::compiler_flags(read.text, use.files.front(), use.includes, use.flags);
  for (const system::Path& source : read.beside)
    program.flags.push_back(source.string());
  program.rules.ranks = use.ranks;
  program.seed = copy.path() / "program.cu";
  CUCO_TRY(system::write_file(program.seed, read.text));
  options.workload = copy.path();
  CUCO_TRY_ASSIGN(auto judge, judge::WholeProgramJudge::create(std::move(program), options));
  return OpenedProgram{std::move(copy), std::move(read.text), std::move(read.to_write),
                       std::move(judge)};
}

Error described_twice() {
  return {
      ErrorKind::InvalidInput,
      "--ranks, --include, --nvcc and arguments are for programs: a workload's folder says these "
      "itself"};
}

}  // namespace cuco::cli
