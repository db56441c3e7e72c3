// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/expected_processes.h"

#include <string>

#include "shims/wire/protocol.h"
#include "system/os/other_process.h"
#include "system/os/socket.h"

namespace cuco::vcluster {
namespace {

constexpr const char* kRuntime = "/libcudart.so.13";

/// The variable as it stands among others, each ended by a zero byte.
std::string variable_of(const system::Fd& listener) {
  const std::string path = system::path_of(listener);
  return path.empty() ? "" : std::string(wire::kSocketVariable) + "=" + path + '\0';
}

/// It runs, or waits for a disk: what it does next cannot be known.
bool is_busy(std::uint32_t pid) {
  const auto state = system::state_of_thread(pid, pid);
  return state == 'R' || state == 'D';
}

}  // namespace

ExpectedProcesses find_expected_processes(const system::Fd& listener,
                                          const std::set<std::uint32_t>& known) {
  const std::string variable = variable_of(listener);
  if (variable.empty()) return ExpectedProcesses::None;
  ExpectedProcesses found = ExpectedProcesses::None;
  for (const std::uint32_t pid : system::all_processes()) {
    if (known.contains(pid)) continue;
    if (system::environment_of(pid).find(variable) == std::string::npos) continue;
    if (is_busy(pid) || system::has_mapped(pid, kRuntime)) return ExpectedProcesses::Coming;
    found = ExpectedProcesses::Waiting;
  }
  return found;
}

}  // namespace cuco::vcluster
