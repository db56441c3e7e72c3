// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/waits.h"

#include <fmt/format.h>

#include "check/spelling.h"

namespace cuco::vcluster {
namespace {

struct Words {
  std::string operator()(const LostProcess& process) const {
    return process.name + ": ended without finishing";
  }
  std::string operator()(const WaitingThread& wait) const {
    return fmt::format("{}: {}{}", wait.thread, wait.runs ? "runs" : "waits for ",
                       describe(wait.what));
  }
  std::string operator()(const WaitingStream& wait) const {
    constexpr std::string_view kKernel = "kernel ";
    if (!wait.work.starts_with(kKernel)) return wait.stream + ": " + wait.work;
    return fmt::format("{}: kernel {}", wait.stream,
                       check::demangle(wait.work.substr(kKernel.size())));
  }
  std::string operator()(const WaitingCall& wait) const { return "NCCL: " + wait.what; }
  std::string operator()(const WaitingKernel& wait) const {
    return fmt::format("device {}: {}{}", wait.device, vgpu::describe(wait.what),
                       wait.awaited ? ": " + *wait.awaited : "");
  }
};

}  // namespace

std::string describe(const ClusterWait& wait) {
  return std::visit(Words{}, wait);
}

std::vector<std::string> describe(const std::vector<ClusterWait>& waits) {
  std::vector<std::string> lines;
  for (const ClusterWait& wait : waits)
    lines.push_back(describe(wait));
  return lines;
}

std::vector<check::Waiter> waiters_of(const std::vector<ClusterWait>& waits) {
  std::vector<check::Waiter> waiters;
  for (const ClusterWait& wait : waits) {
    check::Waiter& waiter = waiters.emplace_back(check::Waiter{describe(wait), {}});
    if (const auto* call = std::get_if<WaitingCall>(&wait); call && !call->missing.empty()) {
      waiter.what = check::MissingRank{};
    }
    if (const auto* kernel = std::get_if<WaitingKernel>(&wait)) waiter.what = kernel->what;
  }
  return waiters;
}

}  // namespace cuco::vcluster
