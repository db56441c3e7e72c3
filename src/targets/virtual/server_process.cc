// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/server_process.h"

#include <array>
#include <filesystem>

#include "shims/wire/call_site.h"
#include "shims/wire/protocol.h"
#include "system/os/poll.h"
#include "system/os/socket.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

constexpr int kListenFd = 3;
constexpr int kControlFd = 4;
// In the folder of records.
constexpr const char* kReport = "report.json";
constexpr const char* kCopies = "copies";
constexpr const char* kFindings = "findings.json";

std::vector<std::string> server_arguments(const ServerOptions& options,
                                          const system::Path& program,
                                          const system::Path& records) {
  std::vector<std::string> argv = {program.string()};
  const auto add = [&](const char* name, const std::string& value) {
    argv.emplace_back(name);
    argv.push_back(value);
  };
  const auto place = [&](const char* file) {
    return options.judged ? std::string("-") : (records / file).string();
  };
  add("--listen", std::to_string(kListenFd));
  add(options.judged ? "--judge" : "--parent", std::to_string(kControlFd));
  add("--gpu", options.gpu.string());
  add("--devices", std::to_string(options.devices));
  add("--processes", std::to_string(options.processes));
  add("--seed", std::to_string(options.seed));
  if (options.topology) add("--topology", options.topology->string());
  if (options.per_node != 0) add("--per-node", std::to_string(options.per_node));
  if (options.divisor != hardware::Divisor{}) add("--divide", hardware::to_text(options.divisor));
  if (options.schedule_seed != 0) add("--schedule-seed", std::to_string(options.schedule_seed));
  if (options.delivery_delay != 0) add("--delivery-delay", std::to_string(options.delivery_delay));
  if (options.completions_on_time) add("--completions", "on-time");
  if (options.patience_ms != 0) add("--patience", std::to_string(options.patience_ms));
  if (options.check) add("--check", place(kFindings));
  if (options.reports) add("--report", place(kReport));
  if (options.timeline) add("--timeline", "on");
  if (options.blocks) add("--blocks", "on");
  if (options.logs_copies) add("--copy-log", (records / kCopies).string());
  if (options.keep_copies != 0) add("--keep-copies", std::to_string(options.keep_copies));
  if (options.variation.key != 0) {
    add("--vary-inputs", std::to_string(options.variation.key));
    add("--vary-types", std::to_string(options.variation.types));
  }
  return argv;
}

/// It interprets somebody else's code: it gets no more of the machine than it needs.
void fence(system::JobSpec& spec, const ServerOptions& options, const system::Path& records) {
  spec.command.environment = system::Environment::bare();
  spec.sandbox = system::SandboxSpec{.tier = system::Tier::Own,
                                     .read_only = {spec.command.argv.front(), options.gpu}};
  if (options.topology) spec.sandbox->read_only.push_back(*options.topology);
  if (!options.judged) spec.sandbox->writable.push_back(records);
  spec.limits.memory = options.memory;
  spec.limits.processes = 16;
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
  // The ranks' user must get through; the name is a secret, and nobody may list or write here.
  if (options.fenced)
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0711), ignored);
  CUCO_TRY_ASSIGN(const system::Fd listener, system::listen_at(socket, system::SocketKind::Stream,
                                                               options.fenced ? 0777 : 0600));
  // The server polls this socket in a loop that must never block.
  CUCO_TRY(system::set_nonblocking(listener));
  CUCO_TRY_ASSIGN(auto control, system::socket_pair(system::SocketKind::Stream));
  system::JobSpec spec;
  spec.command.argv = server_arguments(options, program, records.path());
  spec.command.environment = system::Environment::current();
  spec.command.fds = {{listener.get(), kListenFd}, {control.second.get(), kControlFd}};
  if (!options.judged) {
    spec.command.fds.push_back({1, 1});
    spec.command.fds.push_back({options.errors, 2});
  }
  if (options.fenced) fence(spec, options, records.path());
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  ServerProcess server(std::move(folder), std::move(records), socket, std::move(control.first),
                       std::move(process));
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
  return records_.path() / kCopies;
}

Result<std::optional<system::JobOutcome>> ServerProcess::ended() {
  CUCO_TRY_ASSIGN(auto outcome, process_.wait(std::chrono::milliseconds(0)));
  has_ended_ = outcome.has_value();
  return outcome;
}

bool ServerProcess::has_left() const {
  std::array<system::Watched, 1> control{{{control_.get()}}};
  const auto ready = system::wait_for_any(control, std::chrono::milliseconds(0));
  return ready && *ready && control[0].closed;
}

Result<std::string> ServerProcess::findings() {
  constexpr std::chrono::seconds kPatience{60};
  control_ = {};
  if (!has_ended_) {
    CUCO_TRY_ASSIGN(const auto outcome, process_.wait(kPatience));
    if (!outcome) return Error{ErrorKind::Timeout, "the virtual cluster does not end"};
  }
  return system::read_file(records_.path() / kFindings);
}

Result<std::string> ServerProcess::report() {
  constexpr std::chrono::seconds kPatience{60};
  control_ = {};
  // It may have ended by itself, and have been waited for.
  if (!std::filesystem::exists(records_.path() / kReport)) (void)process_.wait(kPatience);
  return system::read_file(records_.path() / kReport);
}

}  // namespace cuco::targets
