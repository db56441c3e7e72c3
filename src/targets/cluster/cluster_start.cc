// SPDX-License-Identifier: Apache-2.0
#include "targets/cluster/cluster_start.h"

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/kernel.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

/// Other hosts get only what mpirun is told to give them: what the program's libraries read.
std::vector<std::string> passed_variables(const system::Environment& environment) {
  std::vector<std::string> names;
  for (const std::string& entry : environment.entries()) {
    const std::string name = entry.substr(0, entry.find('='));
    if (name == "LD_LIBRARY_PATH" || name.starts_with("NCCL_") || name.starts_with("CUDA_"))
      names.push_back(name);
  }
  return names;
}

}  // namespace

RealStart cluster_start(const ClusterOptions& options,
                        const std::vector<system::Path>& libraries,
                        const std::vector<std::string>& program,
                        system::Environment environment) {
  std::vector<std::string> search;
  if (const auto before = environment.get("LD_LIBRARY_PATH"); before && !before->empty())
    search.push_back(*before);
  for (const system::Path& folder : libraries)
    search.push_back(folder.string());
  if (!search.empty()) environment.set("LD_LIBRARY_PATH", join(search, ":"));

  RealStart start;
  if (options.uses_mpi) {
    start.argv = {"mpirun"};
    const auto add = [&](std::vector<std::string> words) {
      start.argv.insert(start.argv.end(), words.begin(), words.end());
    };
    if (!options.hostfile.empty()) add({"--hostfile", options.hostfile.string()});
    if (options.per_node > 0) add({"--map-by", fmt::format("ppr:{}:node", options.per_node)});
    if (system::is_root()) add({"--allow-run-as-root"});
    for (const std::string& name : passed_variables(environment))
      add({"-x", name});
    add({"-n", std::to_string(options.ranks)});
  }
  start.argv.insert(start.argv.end(), options.tool.begin(), options.tool.end());
  start.argv.insert(start.argv.end(), program.begin(), program.end());
  start.environment = std::move(environment);
  return start;
}

std::vector<system::Path> real_libraries(const system::Environment& environment) {
  const auto cuda = toolchain::find_cuda(environment);
  if (!cuda) return {};
  std::vector<system::Path> folders = {cuda->libraries()};
  if (cuda->nccl_include) {
    const system::Path beside = cuda->nccl_include->parent_path() / "lib";
    std::error_code code;
    if (std::filesystem::is_directory(beside, code)) folders.push_back(beside);
  }
  return folders;
}

}  // namespace cuco::targets
