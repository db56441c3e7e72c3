// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/rank_start.h"

#include <filesystem>
#include <span>
#include <utility>

#include "ptx/container/executable.h"
#include "system/os/files.h"
#include "system/os/kernel.h"

namespace cuco::targets {
namespace {

/// Sandboxes refuse copies between address spaces: Open MPI must not try them, nor build windows on
/// them.
struct MpiOption {
  const char* name;
  const char* value;
};
constexpr MpiOption kMpiOptions[] = {{"btl_vader_single_copy_mechanism", "none"},
                                     {"osc", "^rdma,ucx"},
                                     {"btl_base_warn_component_unused", "0"}};

/// Of our libraries, those that the program would find elsewhere: in folders it was linked with.
std::vector<const char*> hidden_from(const system::Path& program) {
  const auto bytes = system::read_file(program);
  if (!bytes) return {};
  const auto executable = ptx::probe_executable(std::as_bytes(std::span(*bytes)));
  if (!executable || !executable->fixes_libraries) return {};
  std::vector<const char*> names;
  for (const char* name : {"libcudart.so.13", "libcuda.so.1", "libnccl.so.2"}) {
    if (executable->needs(name)) names.push_back(name);
  }
  return names;
}

/// What a script starts may link MPI, and may be started under an mpirun of its own.
bool is_script(const system::Path& program) {
  const auto text = system::read_file(program);
  return text && text->starts_with("#!");
}

/// Options of mpirun, as a script's own mpirun takes them.
void set_mpi_options(system::Environment& environment) {
  for (const MpiOption& option : kMpiOptions)
    environment.set(std::string("OMPI_MCA_") + option.name, option.value);
}

Result<std::string> preloaded(bool with_mpi, const system::Path& program) {
  CUCO_TRY_ASSIGN(const system::Path libraries, find_library_folder());
  std::vector<const char*> names = hidden_from(program);
  names.push_back("libcuco-host.so");
  if (with_mpi) names.push_back("libcuco-mpi.so");
  std::string list;
  for (const char* name : names) {
    const system::Path library = libraries / name;
    if (!std::filesystem::exists(library)) continue;
    list += (list.empty() ? "" : ":") + library.string();
  }
  return list;
}

}  // namespace

Result<RankStart> start_as_one(const ServerProcess& server, std::vector<std::string> program) {
  CUCO_TRY_ASSIGN(system::Environment environment,
                  server.environment_for(system::Environment::current()));
  const bool may_use_mpi = is_script(program.front());
  if (may_use_mpi) set_mpi_options(environment);
  CUCO_TRY_ASSIGN(std::string preload, preloaded(may_use_mpi, program.front()));
  if (const auto before = environment.get("LD_PRELOAD"); before && !before->empty()) {
    preload += (preload.empty() ? "" : ":") + *before;
  }
  if (!preload.empty()) environment.set("LD_PRELOAD", preload);
  return RankStart{std::move(program), std::move(environment)};
}

Result<RankStart> start_under_mpi(const ServerProcess& server,
                                  const std::vector<std::string>& program,
                                  std::uint32_t ranks) {
  CUCO_TRY_ASSIGN(system::Environment environment,
                  server.environment_for(system::Environment::current()));
  CUCO_TRY_ASSIGN(const std::string preload, preloaded(true, program.front()));
  // Ranks share this machine's cores whatever the topology says.
  std::vector<std::string> argv = {"mpirun", "--oversubscribe", "--bind-to", "none"};
  for (const MpiOption& option : kMpiOptions)
    argv.insert(argv.end(), {"--mca", option.name, option.value});
  if (system::is_root()) argv.emplace_back("--allow-run-as-root");
  if (!preload.empty()) {
    argv.emplace_back("-x");
    argv.push_back("LD_PRELOAD=" + preload);
  }
  argv.insert(argv.end(), {"-n", std::to_string(ranks)});
  argv.insert(argv.end(), program.begin(), program.end());
  return RankStart{std::move(argv), std::move(environment)};
}

Result<RankStart> fenced(RankStart start,
                         const ServerProcess& server,
                         const system::Path& program,
                         system::Tier tier) {
  CUCO_TRY_ASSIGN(const system::Path libraries, find_library_folder());
  CUCO_TRY_ASSIGN(system::Environment environment,
                  server.environment_for(system::Environment::bare()));
  if (const auto preload = start.environment.get("LD_PRELOAD"); preload && !preload->empty())
    environment.set("LD_PRELOAD", *preload);
  environment.set("HOME", "/tmp").set("TMPDIR", "/tmp");
  // Inside it is nobody's root, but mpirun goes by the number.
  environment.set("OMPI_ALLOW_RUN_AS_ROOT", "1").set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  start.environment = std::move(environment);
  start.sandbox = system::SandboxSpec{
      .tier = tier, .read_only = {program, libraries, server.socket().parent_path()}};
  start.limits.wall = std::chrono::minutes(10);
  start.limits.memory = std::uint64_t{4} << 30U;
  start.limits.processes = 256;
  start.limits.file_size = std::uint64_t{1} << 30U;
  return start;
}

}  // namespace cuco::targets
