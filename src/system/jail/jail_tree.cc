// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <dirent.h>
#include <fmt/format.h>

#include "base/text.h"

namespace cuco::system::jail {
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

pid_t parent_of(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return -1;
  // "pid (name) state ppid ...", where the name may hold anything, also ')' and spaces.
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos) return -1;
  const auto fields = split(std::string_view(*stat).substr(close + 1), ' ');
  pid_t parent = -1;
  if (fields.size() > 2) {
    std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), parent);
  }
  return parent;
}

void reap_dead() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes())
    children.emplace(parent_of(pid), pid);
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child)
      found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

int count_alive() {
  reap_dead();
  return static_cast<int>(descendants().size());
}

void end_descendants(const JobCgroups& cgroups) {
  while (true) {
    cgroups.kill();
    std::set<pid_t> stopped;
    for (bool grew = true; grew && !cgroups.can_kill();) {
      grew = false;
      for (const pid_t pid : descendants()) {
        if (stopped.insert(pid).second) grew = ::kill(pid, SIGSTOP) == 0 || grew;
      }
    }
    for (const pid_t pid : descendants())
      ::kill(pid, SIGKILL);
    reap_dead();
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

}  // namespace cuco::system::jail
