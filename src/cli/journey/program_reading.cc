// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/program_reading.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "analysis/analyse.h"
#include "base/text.h"
#include "cli/programs/program_files.h"
#include "fabric/topology.h"
#include "system/os/environment.h"
#include "targets/virtual/machine_files.h"
#include "workload/workload.h"

namespace cuco::cli {
namespace {

constexpr std::size_t kLargestProgram = 4U << 20U;

Error invalid(std::string why) {
  return {ErrorKind::InvalidInput, std::move(why)};
}

bool is_source_name(const system::Path& file) {
  constexpr std::array<std::string_view, 5> kEndings = {".cu", ".cuh", ".cc", ".cpp", ".cxx"};
  return std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

/// The first thing that is wrong, where it is wrong.
Error first_problem(const system::Path& file, const std::vector<std::string>& problems) {
  const auto& problem = problems.front();
  const auto colon = problem.find(": ");
  const auto more = problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : "";
  return invalid(fmt::format("{}:{}: does not compile: {}{}", file.string(),
                             problem.substr(0, colon), problem.substr(colon + 2), more));
}

Result<std::string> read_source(const system::Path& file) {
  if (!is_source_name(file)) return invalid("not a CUDA source (.cu): " + file.string());
  return system::read_file(file, kLargestProgram);
}

bool has_cuda(const analysis::CommunicationGraph& graph) {
  return !graph.kernels.empty() || !graph.operations.empty();
}
Error no_cuda(const std::string& who) {
  return invalid(who + " no CUDA in it: no kernel and no call of CUDA or NCCL");
}

}  // namespace

std::vector<system::Path> include_folders(const system::Path& file,
                                          const std::vector<std::string>& named) {
  std::vector<system::Path> folders{std::filesystem::absolute(file).parent_path()};
  for (const std::string& folder : named)
    folders.push_back(std::filesystem::absolute(folder));
  return folders;
}

system::Path or_shipped(const system::Path& path) {
  std::error_code code;
  if (path.is_absolute() || std::filesystem::exists(path, code)) return path;
  const auto folder = system::find_data("workloads");
  if (!folder) return path;
  const system::Path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  const bool is_named = path.lexically_normal() == name || path.begin()->string() == "workloads";
  const bool is_there = std::filesystem::exists(*folder / name / "workload.toml", code);
  return is_named && is_there ? *folder / name : path;
}

std::vector<std::string> shipped_workloads() {
  std::vector<std::string> names;
  const auto folder = system::find_data("workloads");
  std::error_code code;
  if (!folder) return names;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, code)) {
    if (std::filesystem::exists(entry.path() / "workload.toml", code))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<void> check_exists(const system::Path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    const auto names = shipped_workloads();
    const auto near = nearest(path.filename().string(), names);
    return Error{ErrorKind::NotFound,
                 fmt::format("no such file or folder: {}{}; give a program (.cu), a folder, or one "
                             "of {}",
                             path.string(), near ? fmt::format(" (did you mean '{}'?)", *near) : "",
                             join(names, ", "))};
  }
  if (std::filesystem::is_directory(path, code) &&
      !std::filesystem::exists(path / "workload.toml", code)) {
    return Error{ErrorKind::NotFound,
                 fmt::format("no workload.toml in {}; create one with: cuco init {}", path.string(),
                             path.string())};
  }
  return {};
}

Result<analysis::CommunicationGraph> analyse_text(const std::vector<system::Path>& files,
                                                  const std::string& text,
                                                  const std::vector<std::string>& includes,
                                                  const std::vector<std::string>& flags) {
  CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
  analysis::AnalysisOptions options{.cuda = {}, .include_paths = {include}, .flags = flags};
  for (const system::Path& file : files) {
    for (const system::Path& folder : include_folders(file, includes))
      options.include_paths.push_back(folder);
  }
  return analysis::analyse(files.front().filename().string(), text, options);
}

Result<ReadProgram> read_program(const system::Path& path,
                                 const std::vector<std::string>& includes,
                                 const std::vector<std::string>& flags) {
  CUCO_TRY(check_exists(path));
  ReadProgram read;
  system::Path file = path;
  std::error_code code;
  read.name = path.filename().string();
  if (std::filesystem::is_directory(path, code)) {
    CUCO_TRY_ASSIGN(const workload::Workload workload, workload::load_workload(path));
    file = path / "program.cu";
    read.name = workload.name;
    read.topology = workload.topology;
    read.ranks = workload.ranks;
  }
  CUCO_TRY_ASSIGN(read.text, read_source(file));
  CUCO_TRY_ASSIGN(read.graph, analyse_text({file}, read.text, includes, flags));
  if (!read.graph.problems.empty()) return first_problem(file, read.graph.problems);
  if (!has_cuda(read.graph)) return no_cuda(file.string() + " has");
  return read;
}

Result<ReadProgram> read_program(const std::vector<system::Path>& files,
                                 const std::vector<std::string>& includes,
                                 const std::vector<std::string>& flags) {
  if (files.size() == 1) return read_program(files.front(), includes, flags);
  bool any_cuda = false;
  for (const system::Path& file : files) {
    CUCO_TRY_ASSIGN(const std::string text, read_source(file));
    CUCO_TRY_ASSIGN(const auto graph, analyse_text({file}, text, includes, flags));
    if (!graph.problems.empty()) return first_problem(file, graph.problems);
    any_cuda = any_cuda || has_cuda(graph);
  }
  if (!any_cuda) return no_cuda("these files have");
  ReadProgram read;
  read.name = files.front().filename().string();
  const system::Path cache = system::cache_folder(system::Environment::current());
  CUCO_TRY_ASSIGN(ProgramFiles one, read_program_files(files, cache));
  read.text = std::move(one.text);
  CUCO_TRY_ASSIGN(read.graph, analyse_text(files, read.text, includes, flags));
  if (read.graph.problems.empty()) return read;
  return invalid(fmt::format("the files of {} that call NCCL do not compile as one text: {}",
                             read.name, read.graph.problems.front()));
}

Result<ReadProgram> read_sources(std::vector<system::Path>& files,
                                 const std::vector<std::string>& includes,
                                 const std::vector<std::string>& flags) {
  CUCO_TRY(check_exists(files.front()));
  CUCO_TRY_ASSIGN(files, main_first(std::move(files)));
  return read_program(files, includes, flags);
}

Result<design::TopologyFacts> topology_facts(const std::string& name, int ranks) {
  CUCO_TRY_ASSIGN(const system::Path file, targets::find_topology(name));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  CUCO_TRY_ASSIGN(const fabric::Topology topology, fabric::parse_topology(text, file.string()));
  design::TopologyFacts facts;
  facts.ranks = ranks > 0 ? ranks : topology.gpus();
  facts.lsa_ranks = std::min(topology.domain_size(), facts.ranks);
  facts.gin = topology.nic.has_value();
  facts.multimem = topology.multicast;
  return facts;
}

}  // namespace cuco::cli
