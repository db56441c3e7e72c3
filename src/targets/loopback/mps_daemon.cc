// SPDX-License-Identifier: Apache-2.0
#include "targets/loopback/mps_daemon.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::targets {
namespace {

constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::seconds kStart{10};
constexpr std::chrono::seconds kEnd{5};

void set_folders(system::Environment* environment, const system::Path& folder) {
  environment->set("CUDA_MPS_PIPE_DIRECTORY", (folder / "pipes").string());
  environment->set("CUDA_MPS_LOG_DIRECTORY", (folder / "logs").string());
}

Error not_started(std::string_view why) {
  return {ErrorKind::Unavailable,
          fmt::format("nvidia-cuda-mps-control does not start: {}", trim(why))};
}

}  // namespace

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::start(const system::Path& control,
                                                    const system::Environment& environment) {
  CUCO_TRY_ASSIGN(system::TempFolder folder, system::TempFolder::create("cuco-mps"));
  for (const char* name : {"pipes", "logs"})
    CUCO_TRY(system::make_folder(folder.path() / name));
  system::JobSpec spec;
  spec.command.argv = {control.string(), "-f"};  // in the foreground: it ends with us
  spec.command.environment = environment;
  set_folders(&spec.command.environment, folder.path());
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  const auto end = std::chrono::steady_clock::now() + kStart;
  while (!std::filesystem::exists(folder.path() / "pipes/control")) {
    CUCO_TRY_ASSIGN(const auto outcome, process.wait(kLook));
    if (outcome) return not_started(describe(*outcome) + " " + outcome->out + outcome->err);
    if (std::chrono::steady_clock::now() > end) return not_started("it takes no clients");
  }
  return std::unique_ptr<MpsDaemon>(new MpsDaemon(control, std::move(folder), std::move(process)));
}

MpsDaemon::~MpsDaemon() {
  system::JobSpec quit;
  quit.command.argv = {control_.string()};
  quit.command.environment = system::Environment::current();
  set_folders(&quit.command.environment, folder_.path());
  quit.command.input = "quit -t 2\n";
  quit.limits.wall = kEnd;
  (void)system::run_job(quit);
  (void)process_.wait(kEnd);  // what is left ends with process_
}

void MpsDaemon::add_to(system::Environment* environment) const {
  set_folders(environment, folder_.path());
}

}  // namespace cuco::targets
