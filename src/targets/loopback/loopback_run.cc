// SPDX-License-Identifier: Apache-2.0
#include "targets/loopback/loopback_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "ptx/container/executable.h"
#include "system/os/kernel.h"
#include "system/os/streams.h"
#include "targets/loopback/mps_daemon.h"
#include "targets/loopback/network_file.h"
#include "targets/loopback/network_process.h"
#include "targets/real/real_needs.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

constexpr const char* kNetwork = "network";
constexpr const char* kReport = "report";
/// The library's name for it.
constexpr const char* kSocket = "socket";
constexpr const char* kPreload = "libcuco_loopback_preload.so";
constexpr const char* kNccl = "libnccl.so.2";
constexpr const char* kNetworkProcess = "cuco-loopback-network";
// Streams of one connection wait for each other, but the Multi-Process Service has not that many
// for all processes: with 32 each, four found no room on an H200.
constexpr const char* kConnections = "32";
constexpr const char* kConnectionsOfAProcess = "8";

void put_first(system::Environment* environment, const char* name, const std::string& value) {
  const auto before = environment->get(name);
  environment->set(name, before && !before->empty() ? value + ":" + *before : value);
}

void set_if_absent(system::Environment* environment, const char* name, const char* value) {
  if (!environment->get(name)) environment->set(name, value);
}

std::vector<std::string> mpirun(int ranks) {
  std::vector<std::string> argv = {"mpirun", "--oversubscribe", "--bind-to", "none"};
  if (system::is_root()) argv.emplace_back("--allow-run-as-root");
  argv.insert(argv.end(), {"-n", std::to_string(ranks)});
  return argv;
}

/// Folders that it was linked with come before those of the environment.
bool fixes_libraries(const system::Path& program) {
  const auto bytes = system::read_file(program);
  if (!bytes) return false;
  const auto executable = ptx::probe_executable(std::as_bytes(std::span(*bytes)));
  return executable && executable->fixes_libraries;
}

}  // namespace

RealStart loopback_start(const LoopbackOptions& options,
                         const LoopbackPlaces& places,
                         const std::vector<std::string>& program,
                         system::Environment environment) {
  if (!places.cuda_runtime.empty())
    put_first(&environment, "LD_LIBRARY_PATH", places.cuda_runtime.string());
  put_first(&environment, "LD_LIBRARY_PATH", places.libraries.string());
  // mpirun itself has no business with a GPU: only the program is given what is preloaded.
  std::string preload = (places.libraries / kPreload).string();
  if (places.hides_machine) preload = (places.libraries / kNccl).string() + ":" + preload;
  if (const auto before = environment.get("LD_PRELOAD"); before && !before->empty())
    preload += ":" + *before;

  environment.set("CUCO_LOOPBACK_RANKS", std::to_string(options.ranks));
  environment.set("CUCO_LOOPBACK_DIR", places.work.string());
  environment.set("CUCO_LOOPBACK_REPORT", (places.work / kReport).string());
  environment.set("CUCO_LOOPBACK_WATCHDOG", std::to_string(options.watchdog_seconds));
  environment.set("CUCO_LOOPBACK_DELAY_US", std::to_string(options.delay_us));
  environment.set("CUCO_LOOPBACK_TOPOLOGY",
                  options.network ? (places.work / kNetwork).string() : "");
  // A module that is loaded while a kernel spins waits for that kernel.
  set_if_absent(&environment, "CUDA_MODULE_LOADING", "EAGER");
  set_if_absent(&environment, "CUDA_DEVICE_MAX_CONNECTIONS",
                options.are_processes() ? kConnectionsOfAProcess : kConnections);

  RealStart start;
  if (options.uses_mpi) {
    start.argv = mpirun(options.ranks);
    start.argv.insert(start.argv.end(), {"-x", "LD_PRELOAD=" + preload});
  } else {
    environment.set("LD_PRELOAD", preload);
  }
  start.argv.insert(start.argv.end(), options.tool.begin(), options.tool.end());
  start.argv.insert(start.argv.end(), program.begin(), program.end());
  start.environment = std::move(environment);
  return start;
}

Result<LoopbackRun> run_on_loopback(const LoopbackOptions& options,
                                    const std::vector<std::string>& program,
                                    const std::function<bool()>& interrupted,
                                    const std::optional<RunStreams>& streams) {
  CUCO_TRY_ASSIGN(const system::TempFolder work, system::TempFolder::create("cuco-loopback"));
  const auto own = system::Environment::current();
  LoopbackPlaces places{.work = work.path()};
  CUCO_TRY_ASSIGN(places.libraries, find_loopback_folder());
  if (const auto cuda = toolchain::find_cuda(own)) places.cuda_runtime = cuda->libraries();
  places.hides_machine = fixes_libraries(program.front());
  if (options.network) {
    CUCO_TRY(system::write_file(work.path() / kNetwork, network_text(*options.network)));
  }
  RealStart start = loopback_start(options, places, program, own);
  std::unique_ptr<MpsDaemon> mps;
  std::unique_ptr<NetworkProcess> network;
  if (options.are_processes()) {
    CUCO_TRY_ASSIGN(const system::Path control, find_mps_control(own));
    CUCO_TRY_ASSIGN(mps, MpsDaemon::start(control, own));
    mps->add_to(&start.environment);
    CUCO_TRY_ASSIGN(network, NetworkProcess::start(places.libraries / kNetworkProcess,
                                                   work.path() / kSocket, start.environment));
  }
  LoopbackRun run;
  const auto begin = std::chrono::steady_clock::now();
  if (streams) {
    CUCO_TRY_ASSIGN(run.run.ending, run_real(start, interrupted, *streams));
  } else {
    CUCO_TRY_ASSIGN(run.run, run_and_keep_real(start, interrupted));
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (network != nullptr) {
    // Whom it ended, and why.
    const std::string said = network->end();
    run.run.errors += said;
    if (streams) (void)system::write_all(streams->errors, said);
  }
  // A program that ended before it had a communicator leaves none.
  if (const auto text = system::read_file(work.path() / kReport))
    run.report = parse_loopback_report(*text);
  return run;
}

}  // namespace cuco::targets
