// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/fd.h"
#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system::jail {
namespace {

constexpr std::string_view kPrefix = "cuco-";

// Files of a cgroup are commands: one plain write, no temporary, no rename.
bool put(const Path& file, std::string_view text) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.is_open() && retry([&] { return ::write(fd.get(), text.data(), text.size()); }) ==
                             static_cast<ssize_t>(text.size());
}

bool is_there(const Path& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Empty where it cannot be read.
std::string text_of(const Path& file) {
  auto text = read_file(file, 1U << 20U);
  return text ? *std::move(text) : std::string();
}

std::optional<std::uint64_t> number_in(const Path& file) {
  const std::string text = text_of(file);
  const std::string_view digits = trim(text);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

/// The value after `key` in a file of "key value" lines; 0 if it is not there. The file is read
/// many times a second, so it stays open.
std::uint64_t counter_in(const Fd& file, std::string_view key) {
  std::array<char, 4096> buffer;
  const ssize_t size = retry([&] { return ::pread(file.get(), buffer.data(), buffer.size(), 0); });
  std::string_view rest(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(key) || line.substr(key.size(), 1) != " ") continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

/// Mounted hierarchies by controller name; v2 under the empty name. The folder is that of this
/// process where it is visible, so that limits nest, else the top.
std::map<std::string, Path> hierarchies() {
  std::map<std::string, std::string> own;  // controller -> our path in it
  const std::string membership = text_of("/proc/self/cgroup");
  for (const std::string_view line : split(membership, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() != 3) continue;
    for (const std::string_view name : split(fields[1], ',')) {
      own[std::string(name)] = std::string(fields[2]);
    }
  }
  std::map<std::string, Path> found;
  const std::string mounts = text_of("/proc/self/mounts");
  for (const std::string_view line : split(mounts, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() < 4) continue;
    std::vector<std::string> names;
    if (fields[2] == "cgroup2") names.emplace_back();
    if (fields[2] == "cgroup") {
      for (const std::string_view option : split(fields[3], ','))
        names.emplace_back(option);
    }
    for (const std::string& name : names) {
      Path folder = Path(fields[1]);
      const Path nested = folder / Path(own[name]).relative_path();
      if (is_there(nested / "cgroup.procs")) folder = nested;
      found.emplace(name, folder.lexically_normal());
    }
  }
  return found;
}

/// The nearest folder, from our own upwards, that can limit memory and processes of groups in it. A
/// folder with processes of its own (ours, usually) cannot, unless it is the top.
Path governing_folder(const Path& own) {
  for (Path folder = own; is_there(folder / "cgroup.procs"); folder = folder.parent_path()) {
    for (const char* controller : {"+memory", "+pids"})
      put(folder / "cgroup.subtree_control", controller);
    const std::string enabled = text_of(folder / "cgroup.subtree_control");
    const auto words = split(trim(enabled), ' ');
    const auto has = [&](std::string_view name) {
      return std::find(words.begin(), words.end(), name) != words.end();
    };
    if (has("memory") && has("pids")) return folder;
  }
  return own;  // for ending all processes at once; limits are seen to elsewhere, or missing
}

/// Removes groups whose keeper was killed before it could. The name carries the keeper's pid.
void sweep(const Path& parent) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(parent, code)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kPrefix, 0) != 0) continue;
    pid_t pid = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (pid <= 0 || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    put(entry.path() / "cgroup.kill", "1");
    ::rmdir(entry.path().c_str());
  }
}

}  // namespace

JobCgroups::JobCgroups(std::uint64_t memory, std::uint32_t processes) {
  make_v2(memory, processes);
  make_v1(memory, processes);
  const auto opened = [](const Path& file) {
    return Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  };
  if (!memory_by_.empty()) {
    const bool v2 = memory_by_ == "cgroup v2";
    memory_events_ = opened(memory_group_ / (v2 ? "memory.events" : "memory.oom_control"));
  }
  if (!processes_by_.empty()) processes_events_ = opened(processes_group_ / "pids.events");
}

std::optional<Path> JobCgroups::make_group(const Path& parent) {
  sweep(parent);
  const Path group = parent / fmt::format("{}{}", kPrefix, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) {
    why_not_ = os_error(fmt::format("make '{}'", group.string())).message();
    return std::nullopt;
  }
  groups_.push_back(group);
  return group;
}

void JobCgroups::make_v2(std::uint64_t memory, std::uint32_t processes) {
  const auto all = hierarchies();
  const auto unified = all.find("");
  if (unified == all.end()) return;
  const auto group = make_group(governing_folder(unified->second));
  if (!group) return;
  if (is_there(*group / "cgroup.kill")) kill_file_ = *group / "cgroup.kill";
  if (memory != 0 && put(*group / "memory.max", std::to_string(memory))) {
    put(*group / "memory.swap.max", "0");
    memory_group_ = *group;
    memory_by_ = "cgroup v2";
  }
  if (processes != 0 && put(*group / "pids.max", std::to_string(processes))) {
    processes_group_ = *group;
    processes_by_ = "cgroup v2";
  }
}

void JobCgroups::make_v1(std::uint64_t memory, std::uint32_t processes) {
  const auto all = hierarchies();
  if (memory != 0 && memory_by_.empty() && all.contains("memory")) {
    const auto group = make_group(all.at("memory"));
    if (group && put(*group / "memory.limit_in_bytes", std::to_string(memory))) {
      put(*group / "memory.memsw.limit_in_bytes", std::to_string(memory));
      put(*group / "memory.swappiness", "0");
      memory_group_ = *group;
      memory_by_ = "cgroup v1";
    }
  }
  if (processes != 0 && processes_by_.empty() && all.contains("pids")) {
    const auto group = make_group(all.at("pids"));
    if (group && put(*group / "pids.max", std::to_string(processes))) {
      processes_group_ = *group;
      processes_by_ = "cgroup v1";
    }
  }
}

JobCgroups::~JobCgroups() {
  for (const Path& group : groups_) {
    // Members are dead, but the kernel may take a moment to let go of them.
    for (int attempt = 0; attempt < 50 && ::rmdir(group.c_str()) != 0 && errno == EBUSY;
         ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

Result<void> JobCgroups::enter() const {
  for (const Path& group : groups_) {
    if (!put(group / "cgroup.procs", "0")) {
      return os_error(fmt::format("enter '{}'", group.string()));
    }
  }
  return {};
}

void JobCgroups::kill() const {
  if (can_kill()) put(kill_file_, "1");
}

std::uint64_t JobCgroups::oom_kills() const {
  return memory_by_.empty() ? 0 : counter_in(memory_events_, "oom_kill");
}

std::uint64_t JobCgroups::refused_forks() const {
  return processes_by_.empty() ? 0 : counter_in(processes_events_, "max");
}

std::optional<std::uint64_t> JobCgroups::peak_memory() const {
  if (memory_by_.empty()) return std::nullopt;
  const bool v2 = memory_by_ == "cgroup v2";
  return number_in(memory_group_ / (v2 ? "memory.peak" : "memory.max_usage_in_bytes"));
}

}  // namespace cuco::system::jail
