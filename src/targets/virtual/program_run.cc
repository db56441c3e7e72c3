// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/program_run.h"

#include <poll.h>
#include <sys/socket.h>

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "shims/wire/call_site.h"
#include "shims/wire/protocol.h"
#include "system/os/files.h"
#include "system/os/os_error.h"
#include "system/os/socket.h"
#include "targets/virtual/rank_start.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

constexpr int kListenFd = 3;
constexpr int kParentFd = 4;
constexpr const char* kReport = "report.json";
constexpr const char* kCopies = "copies";
constexpr std::uint64_t kFencedMemory = std::uint64_t{8} << 30U;
constexpr std::chrono::milliseconds kLook{200};
/// In the run's own folder.
constexpr const char* kFindings = "findings.json";

std::vector<std::string> server_arguments(const ServerOptions& options,
                                          const system::Path& program,
                                          const system::Path& findings) {
  std::vector<std::string> argv = {program.string(),
                                   "--listen",
                                   std::to_string(kListenFd),
                                   "--parent",
                                   std::to_string(kParentFd),
                                   "--gpu",
                                   options.gpu.string(),
                                   "--devices",
                                   std::to_string(options.devices),
                                   "--processes",
                                   std::to_string(options.processes),
                                   "--seed",
                                   std::to_string(options.seed)};
  if (options.schedule_seed != 0) {
    argv.insert(argv.end(), {"--schedule-seed", std::to_string(options.schedule_seed)});
  }
  if (options.delivery_delay != 0) {
    argv.insert(argv.end(), {"--delivery-delay", std::to_string(options.delivery_delay)});
  }
  if (options.patience_ms != 0) {
    argv.insert(argv.end(), {"--patience", std::to_string(options.patience_ms)});
  }
  if (options.check) {
    argv.emplace_back("--check");
    argv.push_back(findings.string());
  }
  if (options.topology) {
    argv.emplace_back("--topology");
    argv.push_back(options.topology->string());
  }
  return argv;
}

}  // namespace

Result<system::Path> find_library_folder() {
  CUCO_TRY_ASSIGN(const system::Path library, system::find_data("lib/cuco/libcudart.so.13"));
  return library.parent_path();
}

Result<ServerProcess> ServerProcess::start(const ServerOptions& options) {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-vcluster"));
  CUCO_TRY_ASSIGN(system::TempFolder folder, system::TempFolder::create("cuco-run"));
  CUCO_TRY_ASSIGN(system::TempFolder records, system::TempFolder::create("cuco-records"));
  const system::Path socket = folder.path() / "vcluster";
  std::error_code ignored;
  // The ranks' user must get through; nobody may list or write here.
  if (options.fenced)
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0711), ignored);
  CUCO_TRY_ASSIGN(const system::Fd listener, system::listen_at(socket, system::SocketKind::Stream,
                                                               options.fenced ? 0777 : 0600));
  CUCO_TRY_ASSIGN(auto parent, system::socket_pair(system::SocketKind::Stream));
  system::JobSpec spec;
  spec.command.argv = server_arguments(options, program, records.path() / kFindings);
  if (options.reports) {
    spec.command.argv.insert(spec.command.argv.end(),
                             {"--report", (records.path() / kReport).string()});
  }
  if (options.logs_copies) {
    spec.command.argv.insert(spec.command.argv.end(),
                             {"--copy-log", (records.path() / kCopies).string()});
  }
  spec.command.environment = system::Environment::current();
  spec.command.fds = {
      {1, 1}, {options.errors, 2}, {listener.get(), kListenFd}, {parent.second.get(), kParentFd}};
  if (options.fenced) {
    spec.command.environment = system::Environment::bare();
    spec.sandbox = system::SandboxSpec{.tier = system::Tier::Own,
                                       .read_only = {program, options.gpu},
                                       .writable = {records.path()}};
    if (options.topology) spec.sandbox->read_only.push_back(*options.topology);
    spec.limits.memory = kFencedMemory;
    spec.limits.processes = 16;
  }
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  ServerProcess server(std::move(folder), socket, std::move(parent.first), std::move(process));
  server.records_ = std::move(records);
  server.is_checked_ = options.check;
  return server;
}

Result<system::Environment> ServerProcess::environment_for(system::Environment base) const {
  CUCO_TRY_ASSIGN(const system::Path libraries, find_library_folder());
  std::string search = libraries.string();
  if (const auto before = base.get("LD_LIBRARY_PATH"); before && !before->empty())
    search += ":" + *before;
  // NVRTC itself runs, on the CPU, and loads parts of its own: the loader may not know the
  // toolkit's folder. What we replace is found before.
  if (const auto cuda = toolchain::find_cuda(system::Environment::current()))
    search += ":" + cuda->libraries().string();
  base.set("LD_LIBRARY_PATH", search);
  base.set(wire::kSocketVariable, socket_.string());
  if (is_checked_) base.set(wire::kCheckVariable, "1");
  return base;
}

system::Path ServerProcess::copy_log() const {
  return records_->path() / kCopies;
}

Result<std::optional<system::JobOutcome>> ServerProcess::ended() {
  CUCO_TRY_ASSIGN(auto outcome, process_.wait(std::chrono::milliseconds(0)));
  has_ended_ = outcome.has_value();
  return outcome;
}

bool ServerProcess::has_left() const {
  pollfd parent = {parent_.get(), POLLIN, 0};
  return ::poll(&parent, 1, 0) > 0 && (parent.revents & POLLHUP) != 0;
}

Result<std::string> ServerProcess::findings() {
  constexpr std::chrono::seconds kPatience{60};
  parent_ = {};
  if (!has_ended_) {
    CUCO_TRY_ASSIGN(const auto outcome, process_.wait(kPatience));
    if (!outcome) return Error{ErrorKind::Timeout, "the virtual cluster does not end"};
  }
  return system::read_file(records_->path() / kFindings);
}

Result<std::string> ServerProcess::report() {
  constexpr std::chrono::seconds kPatience{60};
  parent_ = {};
  // It may have ended by itself, and have been waited for.
  if (!std::filesystem::exists(records_->path() / kReport)) (void)process_.wait(kPatience);
  return system::read_file(records_->path() / kReport);
}

Result<RunEnding> run_against(ServerProcess& server,
                              const RankStart& ranks,
                              const std::function<bool()>& interrupted,
                              const RunStreams& streams) {
  system::JobSpec spec;
  spec.command.argv = ranks.argv;
  spec.command.environment = ranks.environment;
  spec.sandbox = ranks.sandbox;
  spec.limits = ranks.limits;
  if (ranks.sandbox) {  // its words are kept, up to a limit
    spec.command.folder = "/tmp";
  } else {
    spec.command.folder = std::filesystem::current_path();
    spec.command.fds = {{streams.in, 0}, {streams.out, 1}, {streams.errors, 2}};
  }
  CUCO_TRY_ASSIGN(system::Process program, system::Process::start(spec));
  RunEnding ending;
  bool asked = false;
  for (;;) {
    pollfd fds[2] = {{program.fd(), POLLIN, 0}, {server.fd(), POLLIN, 0}};
    ::poll(fds, ending.server_failed ? 1 : 2, static_cast<int>(kLook.count()));
    CUCO_TRY_ASSIGN(auto outcome, program.wait(std::chrono::milliseconds(0)));
    if (outcome) {
      ending.program = *std::move(outcome);
      ending.server_failed |= server.has_left();
      return ending;
    }
    if (!ending.server_failed && (fds[1].revents & (POLLIN | POLLHUP)) != 0) {
      CUCO_TRY_ASSIGN(const auto server_outcome, server.ended());
      ending.server_failed = server_outcome.has_value();
    }
    ending.interrupted = interrupted();
    if ((ending.server_failed || ending.interrupted) && !std::exchange(asked, true)) program.kill();
  }
}

}  // namespace cuco::targets
