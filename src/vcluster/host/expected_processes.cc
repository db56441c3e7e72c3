// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/expected_processes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "shims/wire/protocol.h"
#include "system/os/socket.h"

namespace cuco::vcluster {
namespace {

constexpr const char* kRuntime = "/libcudart.so.13";

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The variable as it stands among others, each ended by a zero byte.
std::string variable_of(const system::Fd& listener) {
  const std::string path = system::path_of(listener);
  return path.empty() ? "" : std::string(wire::kSocketVariable) + "=" + path + '\0';
}

/// It runs, or waits for a disk: what it does next cannot be known.
bool is_busy(const std::filesystem::path& process) {
  const std::string line = content_of(process / "stat");
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 2 >= line.size()) return false;
  const char state = line[end_of_name + 2];
  return state == 'R' || state == 'D';
}

}  // namespace

ExpectedProcesses find_expected_processes(const system::Fd& listener,
                                          const std::set<std::uint32_t>& known) {
  const std::string variable = variable_of(listener);
  if (variable.empty()) return ExpectedProcesses::None;
  ExpectedProcesses found = ExpectedProcesses::None;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    if (known.contains(static_cast<std::uint32_t>(std::stoul(name)))) continue;
    if (content_of(entry.path() / "environ").find(variable) == std::string::npos) continue;
    if (is_busy(entry.path())) return ExpectedProcesses::Coming;
    if (content_of(entry.path() / "maps").find(kRuntime) != std::string::npos) {
      return ExpectedProcesses::Coming;
    }
    found = ExpectedProcesses::Waiting;
  }
  return found;
}

}  // namespace cuco::vcluster
