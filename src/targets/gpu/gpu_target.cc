// SPDX-License-Identifier: Apache-2.0
#include "targets/gpu/gpu_target.h"

#include <fmt/format.h>

#include "base/text.h"
#include "rank/start_page.h"
#include "system/memory/shared_memory.h"
#include "system/os/socket.h"
#include "targets/served_target.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::targets {
namespace {

// Descriptors of cuco-device.
constexpr int kJudgeFd = 4;
constexpr int kRankFd = 5;
constexpr int kPageFd = 6;

std::vector<system::Path> device_files() {
  std::vector<system::Path> found;
  for (const char* name : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm",
                           "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    std::error_code code;
    if (std::filesystem::exists(name, code)) found.emplace_back(name);
  }
  return found;
}

/// For programs of ours that load the CUDA runtime. Without a toolkit the loader may still find it.
system::Environment with_cuda_runtime() {
  system::Environment environment = system::Environment::bare();
  if (const auto cuda = toolchain::find_cuda(system::Environment::current()))
    environment.set("LD_LIBRARY_PATH", cuda->libraries().string());
  return environment;
}

class GpuTarget final : public ServedTarget {
 public:
  GpuTarget(system::Process device, system::Fd control, system::Fd rank_socket, system::Fd page)
      : ServedTarget("GPU's process", wire::Fd(control.release())),
        device_(std::move(device)),
        rank_socket_(std::move(rank_socket)),
        page_(std::move(page)) {}

  [[nodiscard]] bool is_measured() const override { return true; }

  [[nodiscard]] Result<RankAccess> rank_access() const override {
    RankAccess access;
    access.libraries = "-";
    access.environment = with_cuda_runtime();
    access.fds = {{rank_socket_.get(), rank::kRankSocketFd}, {page_.get(), rank::kStartPageFd}};
    if (const auto cuda = toolchain::find_cuda(system::Environment::current()))
      access.read_only = cuda->outside_system();
    access.devices = device_files();
    // How many pairs a real GPU needs is not known before.
    access.wall = std::chrono::hours(1);
    return access;
  }

  // A real GPU is neither profiled nor checked.
  Result<std::string> profile() override { return std::string("{}"); }
  Result<void> forget_profile() override { return {}; }
  Result<std::vector<check::Finding>> findings() override { return std::vector<check::Finding>(); }

 private:
  system::Process& server() override { return device_; }

  system::Process device_;
  system::Fd rank_socket_;  ///< What the rank gets, and the page that both spin on.
  system::Fd page_;
};

}  // namespace

Result<std::string> probe_gpu() {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-device"));
  system::JobSpec job;
  job.command.argv = {program.string(), "--probe"};
  job.command.environment = with_cuda_runtime();
  job.limits.wall = std::chrono::seconds(60);
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(job));
  if (outcome.succeeded()) return std::string(trim(outcome.out));
  std::string_view reason = trim(outcome.err);
  if (const auto at = reason.find(": "); at != std::string_view::npos) reason.remove_prefix(at + 2);
  return Error{ErrorKind::Unavailable,
               fmt::format("--on gpu: {}; without it times are predicted by the virtual cluster",
                           reason.empty() ? describe(outcome) : std::string(reason))};
}

Result<std::unique_ptr<Target>> start_gpu_target() {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-device"));
  CUCO_TRY_ASSIGN(auto control, system::socket_pair(system::SocketKind::Stream));
  CUCO_TRY_ASSIGN(auto rank, system::socket_pair(system::SocketKind::Stream));
  CUCO_TRY_ASSIGN(system::Fd page,
                  system::create_shared_memory("cuco-start", rank::kStartPageBytes));
  system::JobSpec job;
  job.command.argv = {program.string(),        "--judge", std::to_string(kJudgeFd), "--rank",
                      std::to_string(kRankFd), "--page",  std::to_string(kPageFd)};
  job.command.environment = with_cuda_runtime();
  job.command.fds = {
      {control.second.get(), kJudgeFd}, {rank.first.get(), kRankFd}, {page.get(), kPageFd}};
  CUCO_TRY_ASSIGN(system::Process device, system::Process::start(job));
  return std::unique_ptr<Target>(std::make_unique<GpuTarget>(
      std::move(device), std::move(control.first), std::move(rank.second), std::move(page)));
}

}  // namespace cuco::targets
