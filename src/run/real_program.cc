// SPDX-License-Identifier: Apache-2.0
#include "run/real_program.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "cli/terminal/interrupt.h"
#include "hardware/gpu_description.h"
#include "program/tokens.h"
#include "ptx/container/executable.h"
#include "run/loopback_view.h"
#include "run/program_build.h"
#include "targets/cluster/cluster_start.h"
#include "targets/real/real_needs.h"
#include "targets/virtual/machine_files.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::run {
namespace {

using targets::RealFacts;

Error unavailable(const RealRequest& request, std::string_view why) {
  return {ErrorKind::Unavailable, fmt::format("--on {}: {}", request.target, why)};
}

/// The network or the GPUs that the user named, and of them the part that is used.
Result<std::optional<fabric::Topology>> topology_of(const RealRequest& request) {
  if (request.topology.empty()) return std::optional<fabric::Topology>();
  CUCO_TRY_ASSIGN(const system::Path file, targets::find_topology(request.topology));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  CUCO_TRY_ASSIGN(fabric::Topology topology, fabric::parse_topology(text, file.string()));
  const int ranks = request.ranks.value_or(topology.gpus());
  CUCO_TRY_ASSIGN(topology,
                  fabric::restrict_to(std::move(topology), ranks, request.per_node.value_or(0)));
  return std::optional(std::move(topology));
}

/// What nvcc builds for: the GPU that is here, or on a cluster the one that its topology names.
Result<std::uint32_t> architecture_of(const RealRequest& request,
                                      const RealFacts& facts,
                                      const std::optional<fabric::Topology>& topology) {
  if (request.target == "cluster" && topology) {
    CUCO_TRY_ASSIGN(const system::Path file, targets::find_hardware(topology->gpu));
    CUCO_TRY_ASSIGN(const hardware::GpuDescription gpu,
                    hardware::load_gpu_description(file.string(), {}));
    return gpu.compute_major * 10 + gpu.compute_minor;
  }
  if (facts.driver && !facts.driver->gpus.empty()) return facts.driver->gpus.front().sm();
  return 0U;  // of a program that is built already
}

std::string missing(const RealRequest& request,
                    const RealFacts& facts,
                    const targets::RealWish& wish) {
  if (request.target == "loopback") return targets::missing_for_loopback(facts, wish);
  if (request.target == "cluster") return targets::missing_for_cluster(facts, wish);
  return targets::missing_for_gpus(facts, wish);
}

Result<void> check_multimem(const RealRequest& request) {
  for (const system::Path& file : request.programs) {
    if (!is_source(file) || file.extension() == ".o" || file.extension() == ".a") continue;
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
    if (const std::string use = multimem_use(text); !use.empty()) {
      return unavailable(
          request, fmt::format("{} asks for multimem ({}), which one GPU does not have: load and "
                               "store each peer's memory (ncclGetLsaPointer) instead, or use --on "
                               "virtual with a topology that has multicast",
                               file.string(), use));
    }
  }
  return {};
}

/// What a built program links, or nothing for a script.
Result<std::optional<ptx::Executable>> linked(const system::Path& program) {
  CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(program));
  if (bytes.starts_with("#!")) return std::optional<ptx::Executable>();
  auto found = ptx::probe_executable(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!found) return std::move(found).error().while_doing(program.string());
  return std::optional(*std::move(found));
}

/// Our library stands in for NCCL, and devices are counted by the runtime that it finds: neither
/// can be inside the program.
Result<void> check_links(const RealRequest& request, const ptx::Executable& program) {
  if (request.target != "loopback") return {};
  const auto inside = [&](const char* what, const char* instead) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} links {} statically; on one GPU it has to be shared: rebuild with "
                             "{}",
                             request.programs.front().string(), what, instead)};
  };
  if (program.cuda_runtime == ptx::Linked::Statically)
    return inside("the CUDA runtime", "nvcc -cudart shared");
  if (program.nccl == ptx::Linked::Statically) return inside("NCCL", "-lnccl");
  return {};
}

/// compute-sanitizer, as it stands in front of the program; nothing if none is wanted.
Result<std::vector<std::string>> sanitizer(const RealRequest& request) {
  std::vector<std::string> words;
  if (request.real.sanitize.empty()) return words;
  const auto environment = system::Environment::current();
  std::string path = environment.get("PATH").value_or("");
  if (const auto cuda = toolchain::find_cuda(environment)) path += ":" + cuda->programs().string();
  const auto program = system::find_program("compute-sanitizer", path);
  if (!program) {
    return unavailable(request,
                       "--sanitize needs compute-sanitizer, which is neither in PATH nor in the "
                       "CUDA toolkit: install cuda-sanitizer");
  }
  return std::vector<std::string>{program->string(), "--tool", request.real.sanitize,
                                  "--error-exitcode",
                                  std::to_string(static_cast<int>(cli::ExitCode::Findings))};
}

Result<cli::ExitCode> run_on_gpus(cli::Context& context,
                                  const targets::ClusterOptions& options,
                                  const std::vector<std::string>& argv) {
  const auto environment = system::Environment::current();
  const targets::RealStart start =
      targets::cluster_start(options, targets::real_libraries(environment), argv, environment);
  CUCO_TRY_ASSIGN(const targets::RealEnding ending,
                  targets::run_real(start, cli::InterruptScope::requested));
  return exit_code(context, ending);
}

}  // namespace

void RealFlags::declare(cli::Arguments& arguments) {
  arguments
      .option("--hostfile", hostfile, "FILE", "with --on cluster: hosts and slots, as mpirun reads")
      .completes(cli::Completion::File);
  arguments.option("--sanitize", sanitize, "TOOL", "run under compute-sanitizer")
      .one_of({"memcheck", "racecheck", "initcheck", "synccheck"});
}

std::string multimem_use(std::string_view text) {
  const std::vector<std::string> tokens = program::tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& word = tokens[i];
    if (word.starts_with("\"") && word.find("multimem.") != std::string::npos)
      return "multimem instructions";
    const bool is_pointer =
        word.starts_with("nccl") && word.find("MultimemPointer") != std::string::npos;
    if (is_pointer) return word;
    if (word != "lsaMultimem") continue;
    const bool is_set = i + 2 < tokens.size() && tokens[i + 1] == "=";
    if (is_set && tokens[i + 2] != "false" && tokens[i + 2] != "0") return word;
  }
  return {};
}

Result<cli::ExitCode> run_real_program(cli::Context& context, const RealRequest& request) {
  const bool builds = is_source(request.programs.front());
  if (!builds && request.programs.size() > 1) {
    return Error{ErrorKind::InvalidInput,
                 "give either one built program or sources; put the program's arguments after --"};
  }
  if (!request.real.hostfile.empty() && !std::filesystem::exists(request.real.hostfile)) {
    return Error{ErrorKind::NotFound,
                 fmt::format("--hostfile: no such file: {}", request.real.hostfile.string())};
  }
  CUCO_TRY_ASSIGN(const auto topology, topology_of(request));
  const int ranks = request.ranks.value_or(topology ? topology->gpus() : 1);
  const RealFacts facts = targets::inspect_real(system::Environment::current());
  targets::RealWish wish{
      .builds = builds, .ranks = ranks, .knows_gpu = topology && request.target == "cluster"};
  if (const std::string why = missing(request, facts, wish); !why.empty())
    return unavailable(request, why);
  if (request.target == "loopback") CUCO_TRY(check_multimem(request));
  CUCO_TRY_ASSIGN(const std::vector<std::string> tool, sanitizer(request));

  system::Path program = std::filesystem::absolute(request.programs.front());
  if (builds) {
    CUCO_TRY_ASSIGN(const std::uint32_t sm, architecture_of(request, facts, topology));
    CUCO_TRY_ASSIGN(program,
                    build_program({.sources = request.programs,
                                   .flags = request.nvcc_flags,
                                   .cache = system::cache_folder(system::Environment::current()),
                                   .sm = sm}));
  }
  CUCO_TRY_ASSIGN(const auto links, linked(program));
  if (links) CUCO_TRY(check_links(request, *links));
  wish.uses_mpi = links && links->mpi == ptx::Linked::Dynamically;
  if (const std::string why = missing(request, facts, wish); !why.empty())
    return unavailable(request, why);
  if (!request.real.hostfile.empty() && !wish.uses_mpi) {
    return Error{ErrorKind::InvalidInput,
                 "--hostfile needs a program that links MPI: others cannot leave this machine"};
  }

  std::vector<std::string> argv = {program.string()};
  argv.insert(argv.end(), request.arguments.begin(), request.arguments.end());
  const cli::InterruptScope interrupts;
  if (request.target != "loopback") {
    return run_on_gpus(context,
                       {.ranks = ranks,
                        .uses_mpi = wish.uses_mpi,
                        .per_node = topology ? topology->gpus_per_node : 0,
                        .hostfile = request.real.hostfile,
                        .tool = tool},
                       argv);
  }
  const auto patience = static_cast<std::int64_t>(context.config.seconds("run.patience"));
  const targets::LoopbackOptions options{.ranks = ranks,
                                         .uses_mpi = wish.uses_mpi,
                                         .network = topology,
                                         .watchdog_seconds = patience,
                                         .tool = tool};
  return request.probe.delay.empty() ? run_loopback(context, options, argv)
                                     : probe_loopback(context, request.probe, options, argv);
}

}  // namespace cuco::run
