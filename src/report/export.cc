// SPDX-License-Identifier: Apache-2.0
#include "report/export.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/assert.h"
#include "program/diff.h"
#include "report/progress.h"
#include "report/template_text.h"

namespace cuco::report {

namespace {

/// nvcc does not know where MPI is; Open MPI's compiler does.
constexpr std::string_view kMpi =
    "# Of Open MPI; of another one: make MPI=\"-I… -L… -lmpi\"\n"
    "MPI ?= $(addprefix -I,$(shell mpicxx --showme:incdirs)) "
    "$(addprefix -L,$(shell mpicxx --showme:libdirs)) -lmpi\n";

}  // namespace

std::vector<program::File> export_folder(const candidate::RunState& state,
                                         candidate::Number number,
                                         std::string_view run,
                                         std::string_view workload_header) {
  const auto& entry = state.entries[static_cast<std::size_t>(number)];
  const auto& candidate = entry.candidate;
  CUCO_ASSERT(!candidate.source.empty());
  const auto workload = state.started ? state.started->workload : std::string("?");
  const std::filesystem::path path(workload);
  // The workload of a run is a folder, or the file of a whole program.
  const bool whole = path.extension() == ".cu";
  const std::string file = whole ? path.filename().string() : "program.cu";
  auto name = whole ? path.stem().string() : path.filename().string();
  if (name.empty()) name = path.parent_path().filename().string();
  std::string time = "not timed";
  if (const auto* scored = entry.scored()) {
    time = fmt::format("{} on {}, {:.2f}x the seed", time_text(*scored), scored->hardware,
                       scored->baseline_seconds / scored->seconds);
  }
  const bool uses_mpi = std::ranges::any_of(
      candidate.source.files().copy(),
      [](const program::File& one) { return one.text.find("MPI_Init") != std::string::npos; });
  const std::map<std::string, std::string> values{
      {"name", name},
      {"run", std::string(run)},
      {"number", std::to_string(number)},
      {"file", file},
      {"workload", workload},
      {"directive", design::to_text(candidate.directive)},
      {"time", time},
      {"verdict", entry.latest() == nullptr ? "not judged" : candidate::summary(*entry.latest())},
      {"hash", candidate.code_hash},
      {"mpi", std::string(uses_mpi ? kMpi : "")},
      {"because", candidate.lineage.because}};
  const auto named = [&](const program::Source& source) {
    std::vector<program::File> files = source.files().copy();
    for (program::File& one : files) {
      if (one.path == "program.cu") one.path = file;
    }
    return program::Source(std::move(files));
  };
  const program::Source made = named(candidate.source);
  std::vector<program::File> files = made.files().copy();
  files.push_back(
      {"changes.diff", program::unified_diff(named(state.entries.front().candidate.source), made)});
  files.push_back({"README.md", filled(whole ? "README.whole.md" : "README.md", values)});
  files.push_back({"Makefile", filled(whole ? "Makefile.whole" : "Makefile", values)});
  if (!whole) files.push_back({"include/cuco/workload.h", std::string(workload_header)});
  return files;
}

}  // namespace cuco::report
