// SPDX-License-Identifier: Apache-2.0
#include "targets/loopback/network_process.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/socket.h"

namespace cuco::targets {
namespace {

constexpr std::chrono::milliseconds kPause{5};
constexpr std::chrono::seconds kUntilItListens{30};
constexpr std::chrono::seconds kUntilItEnds{10};

Error network_not_started(std::string_view why) {
  return {ErrorKind::Unavailable,
          fmt::format("the process that plays the network does not start: {}", trim(why))};
}

}  // namespace

Result<std::unique_ptr<NetworkProcess>> NetworkProcess::start(
    const system::Path& program,
    const system::Path& socket,
    const system::Environment& environment) {
  CUCO_TRY_ASSIGN(auto ends, system::socket_pair(system::SocketKind::Stream));
  system::JobSpec spec;
  spec.command.argv = {program.string()};
  spec.command.environment = environment;
  spec.command.folder = std::filesystem::current_path();
  spec.command.fds = {{ends.second.get(), 0}};
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  const auto latest = std::chrono::steady_clock::now() + kUntilItListens;
  while (!std::filesystem::exists(socket)) {
    CUCO_TRY_ASSIGN(const auto outcome, process.wait(kPause));
    if (outcome) return network_not_started(describe(*outcome) + " " + outcome->err);
    if (std::chrono::steady_clock::now() > latest) return network_not_started("it does not listen");
  }
  return std::unique_ptr<NetworkProcess>(
      new NetworkProcess(std::move(ends.first), std::move(process)));
}

std::string NetworkProcess::end() {
  input_.reset();
  const auto waited = process_.wait(kUntilItEnds);
  if (!waited) return {};
  const std::optional<system::JobOutcome>& outcome = *waited;
  return outcome ? outcome->err : std::string();
}

}  // namespace cuco::targets
