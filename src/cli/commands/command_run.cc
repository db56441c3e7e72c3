// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "ptx/container/executable.h"
#include "run/check_findings.h"
#include "run/delay_probe.h"
#include "run/profile_view.h"
#include "run/program_build.h"
#include "run/real_program.h"
#include "run/schedule_runs.h"
#include "targets/virtual/machine_files.h"
#include "targets/virtual/program_run.h"
#include "targets/virtual/rank_start.h"

namespace cuco::cli {
namespace {

class RunCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROGRAM", programs_, "CUDA sources (.cu …), or one built program");
    arguments.option("--on", target_, "TARGET", "where to run; loopback: all on one GPU")
        .one_of({"virtual", "gpu", "loopback", "cluster"});
    arguments.option("--hardware", hardware_, "GPU", "GPU to simulate: h200, a100 or a file")
        .completes(Completion::Hardware);
    arguments
        .option("--topology", topology_, "NAME",
                "cluster to simulate: nvlink8, roce2x4 … or a file")
        .completes(Completion::Topology);
    arguments.option("--ranks", ranks_, "N",
                     "number of GPUs (default 1, or all of --topology); MPI starts a process each");
    arguments.option("--per-node", per_node_, "N",
                     "number of those GPUs in each node of --topology (default: fill nodes)");
    arguments.option("--processes", processes_, "N",
                     "number of MPI processes (default: one per GPU)");
    arguments.option("--seed", seed_, "N", "seed for block order and start jitter");
    check_.declare(arguments);
    schedules_.declare(arguments);
    probe_.declare(arguments);
    profile_.declare(arguments);
    real_.declare(arguments);
    arguments.option("--nvcc", flags_, "FLAG", "extra flag for nvcc; may be repeated");
    arguments.rest("ARGS", arguments_, "arguments for the program");
    arguments.rest_follows_program([](const std::string& word) { return run::is_source(word); });
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY(check_arguments());
    CUCO_TRY(check_starter(system::Environment::current()));
    if (target_ != "virtual") return run_on_real(context);
    CUCO_TRY(check_virtual());
    CUCO_TRY_ASSIGN(targets::ServerOptions server_options, server_options_for(context));
    CUCO_TRY_ASSIGN(const hardware::GpuDescription gpu,
                    hardware::load_gpu_description(server_options.gpu.string(), {}));
    CUCO_TRY_ASSIGN(const system::Path program, find_program(gpu));
    const bool uses_mpi = links_mpi(program);
    if (uses_mpi) {
      server_options.processes =
          processes_ ? static_cast<std::uint32_t>(*processes_) : server_options.devices;
    } else if (processes_.value_or(1) > 1) {
      return Error{ErrorKind::InvalidInput, "--processes needs a program that links MPI"};
    }
    const InterruptScope interrupts;
    std::vector<std::string> argv = {program.string()};
    argv.insert(argv.end(), arguments_.begin(), arguments_.end());
    return run_all(context, server_options, {argv, uses_mpi});
  }

 private:
  Result<ExitCode> run_on_real(Context& context) const {
    // Only the virtual GPU sees every access, has other schedules, and knows where time goes.
    for (const auto& [name, is_used] :
         {std::pair("--check", check_.enabled),
          {"--schedules", schedules_.count > 0},
          {"--schedule-seed", schedules_.seed != 0},
          {"--profile", profile_.enabled},
          {"--profile-json", !profile_.file.empty()},
          {"--timeline", !profile_.timeline.empty()},
          {"--hardware", !hardware_.empty()},
          {"--processes", processes_.has_value()},
          {"--seed", seed_ != 0},
          {"--probe-delay", target_ != "loopback" && !probe_.delay.empty()},
          {"--hostfile", target_ != "cluster" && !real_.hostfile.empty()}}) {
      if (!is_used) continue;
      return Error{ErrorKind::InvalidInput, fmt::format("{} has no meaning with --on {}: {}", name,
                                                        target_, reason_against(name))};
    }
    return run::run_real_program(context, {.target = target_,
                                           .programs = programs_,
                                           .arguments = arguments_,
                                           .nvcc_flags = flags_,
                                           .topology = topology_,
                                           .ranks = ranks_,
                                           .per_node = per_node_,
                                           .real = real_,
                                           .probe = probe_});
  }

  static std::string_view reason_against(std::string_view option) {
    if (option == "--hardware") return "the GPU is what it is";
    if (option == "--processes") return "MPI programs have a process for each rank";
    if (option == "--hostfile") return "it stays on this machine";
    if (option == "--probe-delay")
      return "there nothing of ours can hold deliveries back; use --on loopback or virtual";
    if (option == "--check")
      return "only virtual GPUs see every access; --sanitize memcheck or racecheck is what there "
             "is";
    return "only virtual GPUs can do that; leave --on out";
  }

  /// What has a meaning on real GPUs only.
  Result<void> check_virtual() const {
    if (real_.hostfile.empty() && real_.sanitize.empty()) return {};
    return real_.sanitize.empty()
               ? Error{ErrorKind::InvalidInput, "--hostfile needs --on cluster"}
               : Error{ErrorKind::InvalidInput,
                       "--sanitize needs a real GPU: --on gpu, loopback or cluster; on virtual "
                       "ones --check finds more"};
  }

  /// Check or schedules, then probe, then profile, each in runs of its own. The first that reports
  /// something decides the exit code.
  Result<ExitCode> run_all(Context& context,
                           targets::ServerOptions options,
                           const targets::ProgramStart& start) const {
    const bool probes = !probe_.delay.empty();
    const bool profiles = profile_.any();
    ExitCode code = ExitCode::Done;
    if (schedules_.count > 0) {
      CUCO_TRY_ASSIGN(code, run::run_schedules(context, schedules_, check_, start, options));
    } else if (check_.enabled || (!probes && !profiles)) {
      CUCO_TRY_ASSIGN(code, run_once(context, options, start.argv, start.uses_mpi));
    }
    options.check = false;
    // A profile is worth having of a program with findings, too.
    const auto goes_on = [&] { return code == ExitCode::Done || code == ExitCode::Findings; };
    if (probes && goes_on()) {
      CUCO_TRY_ASSIGN(const ExitCode probed, run::run_probe(context, probe_, start, options));
      if (code == ExitCode::Done) code = probed;
    }
    if (profiles && goes_on()) {
      CUCO_TRY_ASSIGN(const ExitCode profiled,
                      run::run_profiled(context, profile_, start, options));
      if (code == ExitCode::Done) code = profiled;
    }
    return code;
  }

  Result<ExitCode> run_once(Context& context,
                            const targets::ServerOptions& server_options,
                            const std::vector<std::string>& argv,
                            bool uses_mpi) const {
    CUCO_TRY_ASSIGN(targets::ServerProcess server, targets::ServerProcess::start(server_options));
    CUCO_TRY_ASSIGN(const targets::RankStart ranks,
                    uses_mpi ? targets::start_under_mpi(server, argv, server_options.processes)
                             : targets::start_as_one(server, argv));
    // With --json, what stands on standard output is the report alone.
    const bool reports = context.json && check_.enabled;
    const auto ending =
        targets::run_against(server, ranks, InterruptScope::requested, {.out = reports ? 2 : 1});
    if (!ending) {
      context.terminal.error(ending.error().message());
      return ExitCode::Internal;
    }
    const ExitCode code = exit_code(context, *ending);
    if (!check_.enabled || ending->interrupted) return code;
    CUCO_TRY_ASSIGN(const std::string found, server.findings());
    run::CheckReport report(context, check_);
    CUCO_TRY(report.add(found, server_options.schedule_seed));
    return report.finish({.otherwise = code, .is_whole = run::ran_to_its_end(*ending)});
  }

  Result<void> check_arguments() const {
    CUCO_TRY(check_.check());
    CUCO_TRY(schedules_.check());
    CUCO_TRY(profile_.check());
    for (const auto& [name, number] :
         {std::pair("--ranks", ranks_), {"--processes", processes_}, {"--per-node", per_node_}}) {
      if (number && (*number < 1 || *number > 64)) {
        return Error{ErrorKind::InvalidInput, fmt::format("{} must be 1 to 64: {}", name, *number)};
      }
    }
    if (per_node_ && topology_.empty()) {
      return Error{ErrorKind::InvalidInput, "--per-node needs a cluster: --topology NAME"};
    }
    for (const system::Path& path : programs_) {
      if (!std::filesystem::exists(path)) {
        return Error{ErrorKind::NotFound, fmt::format("no such file: {}", path.string())};
      }
      if (std::filesystem::is_directory(path)) {
        return Error{ErrorKind::InvalidInput,
                     fmt::format("not a file but a folder: {}", path.string())};
      }
    }
    return {};
  }

  /// mpirun would start as many clusters as there are ranks.
  static Result<void> check_starter(const system::Environment& environment) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
      const auto size = environment.get(name);
      if (!size || *size == "1") continue;
      return Error{ErrorKind::InvalidInput,
                   fmt::format("cuco starts the ranks itself: instead of mpirun -n {} cuco run …, "
                               "use: cuco run --ranks {} …",
                               *size, *size)};
    }
    return {};
  }

  /// Says what was assumed, where one might expect something else.
  void tell_cluster(Context& context, const std::optional<fabric::Topology>& topology) const {
    constexpr int kUsualNode = 8;
    if (!topology) {
      if (ranks_.value_or(1) > kUsualNode) {
        context.terminal.note(
            "cuco: note: one node of {} GPUs, all linked by NVLink; for several nodes: --topology "
            "ib2x8",
            *ranks_);
      }
      return;
    }
    const auto used =
        fabric::restrict_to(*topology, ranks_.value_or(topology->gpus()), per_node_.value_or(0));
    if (!used || used->gpus() == topology->gpus()) return;
    context.terminal.note(
        "cuco: note: {} of the {} GPUs of {}: {} in {}", used->gpus(), topology->gpus(),
        topology->name, used->gpus_per_node,
        used->nodes == 1 ? "one node" : fmt::format("each of {} nodes", used->nodes));
  }

  Result<targets::ServerOptions> server_options_for(Context& context) const {
    targets::ServerOptions options;
    options.devices = static_cast<std::uint32_t>(ranks_.value_or(1));
    std::string name = hardware_.empty() ? context.config.text("run.hardware") : hardware_;
    std::optional<fabric::Topology> topology;
    if (!topology_.empty()) {
      CUCO_TRY_ASSIGN(options.topology, targets::find_topology(topology_));
      CUCO_TRY_ASSIGN(const std::string text, system::read_file(*options.topology));
      CUCO_TRY_ASSIGN(topology, fabric::parse_topology(text, options.topology->string()));
      if (!ranks_) options.devices = static_cast<std::uint32_t>(topology->gpus());
      options.per_node = static_cast<std::uint32_t>(per_node_.value_or(0));
      CUCO_TRY(
          fabric::restrict_to(*topology, static_cast<int>(options.devices), per_node_.value_or(0)));
      if (hardware_.empty()) name = topology->gpu;
    }
    CUCO_TRY_ASSIGN(options.gpu, targets::find_hardware(name));
    tell_cluster(context, topology);
    options.seed = seed_;
    options.patience_ms = static_cast<std::int64_t>(context.config.seconds("run.patience") * 1000);
    options.check = check_.enabled;
    options.schedule_seed = schedules_.seed;
    return options;
  }

  /// False for a script: what it starts is its own business.
  static bool links_mpi(const system::Path& program) {
    const auto bytes = system::read_file(program);
    if (!bytes) return false;
    const auto executable =
        ptx::probe_executable(std::as_bytes(std::span(bytes->data(), bytes->size())));
    return executable && executable->mpi == ptx::Linked::Dynamically;
  }

  /// The program to start: built if sources were given, and checked to be one we can run.
  Result<system::Path> find_program(const hardware::GpuDescription& gpu) const {
    const std::uint32_t sm = gpu.compute_major * 10 + gpu.compute_minor;
    if (run::is_source(programs_.front())) {
      std::vector<std::string> flags = flags_;
      // Findings name lines of the host's code too.
      if (check_.enabled) flags.emplace_back("-g");
      return run::build_program({.sources = programs_,
                                 .flags = std::move(flags),
                                 .cache = system::cache_folder(system::Environment::current()),
                                 .sm = sm,
                                 .watches_host = check_.enabled});
    }
    const system::Path program = std::filesystem::absolute(programs_.front());
    if (programs_.size() > 1) {
      return Error{
          ErrorKind::InvalidInput,
          "give either one built program or sources; put the program's arguments after --"};
    }
    CUCO_TRY_ASSIGN(const std::string bytes, system::read_file(program));
    // A script may start a program of ours; what it starts is checked by the runtime itself.
    if (bytes.starts_with("#!")) return program;
    auto executable = ptx::probe_executable(std::as_bytes(std::span(bytes.data(), bytes.size())));
    if (!executable) {
      return std::move(executable).error().while_doing(programs_.front().string());
    }
    // Its calls never reach our libcudart: it would look for a real GPU.
    if (executable->cuda_runtime == ptx::Linked::Statically) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{} links the CUDA runtime statically; rebuild with: nvcc -cudart "
                               "shared -gencode arch=compute_{},code=compute_{}",
                               programs_.front().string(), sm, sm)};
    }
    if (const std::string reason = ptx::reason_not_runnable(*executable, sm); !reason.empty()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{}: {}", programs_.front().string(), reason)};
    }
    if (executable->nccl == ptx::Linked::Dynamically) {
      for (const std::string& text :
           ptx::ptx_texts(std::as_bytes(std::span(bytes.data(), bytes.size())), sm)) {
        run::tell_nccl_warnings(program::lint_nccl_2_28_ptx(text), programs_.front());
      }
    }
    if (ptx::takes_newer_ptx(*executable, sm)) {
      fmt::print(
          stderr,
          "cuco: note: {} has machine code for sm_{} but PTX only for compute_{}; running that "
          "PTX, in which __CUDA_ARCH__ is {}0\n",
          programs_.front().string(), sm, executable->ptx_versions.front(),
          executable->ptx_versions.front());
    }
    return program;
  }

  /// The program's own code is passed on, a signal as shells do, so that scripts see no difference.
  static ExitCode exit_code(Context& context, const targets::RunEnding& ending) {
    if (ending.interrupted) return ExitCode::Interrupted;
    if (ending.server_failed) return ExitCode::Internal;
    const system::JobOutcome& program = ending.program;
    if (program.ending == system::Ending::Exited) return passed_on(program.code);
    if (program.ending == system::Ending::Signalled) {
      context.terminal.error("the program was " + system::describe(program));
      return passed_on(128 + program.code);
    }
    context.terminal.error("the program did not start: " + system::describe(program));
    return ExitCode::Internal;
  }

  std::vector<system::Path> programs_;
  std::string target_ = "virtual";
  std::string hardware_;
  std::string topology_;
  std::optional<int> ranks_;  ///< Default: one, or as many as the topology has.
  std::optional<int> per_node_;
  std::optional<int> processes_;  ///< Default: one for each GPU.
  std::uint64_t seed_ = 0;
  run::CheckFlags check_;
  run::ScheduleFlags schedules_;
  run::ProbeFlags probe_;
  run::ProfileFlags profile_;
  run::RealFlags real_;
  std::vector<std::string> flags_;
  std::vector<std::string> arguments_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() {
  return std::make_unique<RunCommand>();
}

}  // namespace cuco::cli
