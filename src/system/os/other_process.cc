// SPDX-License-Identifier: Apache-2.0
#include "system/os/other_process.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "system/os/files.h"

namespace cuco::system {
namespace {

/// Empty: there is no such file, or its process ended while it was read.
std::string content_of(const std::string& file) {
  auto content = read_file(file);
  return content ? *std::move(content) : std::string();
}

}  // namespace

std::vector<std::uint32_t> all_processes() {
  std::vector<std::uint32_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    const bool is_pid =
        std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_pid) pids.push_back(static_cast<std::uint32_t>(std::stoul(name)));
  }
  return pids;
}

std::optional<char> state_of_thread(std::uint32_t pid, std::uint32_t tid) {
  const std::string line = content_of(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  // The program's name stands before it, in brackets, and may hold anything.
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 2 >= line.size()) return std::nullopt;
  return line[end_of_name + 2];
}

std::string environment_of(std::uint32_t pid) {
  return content_of(fmt::format("/proc/{}/environ", pid));
}

bool has_mapped(std::uint32_t pid, const std::string& ending) {
  return (content_of(fmt::format("/proc/{}/maps", pid)) + "\n").find(ending + "\n") !=
         std::string::npos;
}

std::optional<MappedFile> file_at(std::uint32_t pid, std::uint64_t address) {
  std::istringstream maps(content_of(fmt::format("/proc/{}/maps", pid)));
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    char dash = 0;
    std::string flags;
    std::string device;
    std::string inode;
    std::string path;
    fields >> std::hex >> begin >> dash >> end >> flags >> offset >> device >> inode >> path;
    if (address >= begin && address < end) return MappedFile{path, address - begin + offset};
  }
  return std::nullopt;
}

}  // namespace cuco::system
