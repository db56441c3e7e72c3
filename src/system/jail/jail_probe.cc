// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include <fmt/format.h>
#include <sched.h>

#include "system/jail/jail_cgroup.h"
#include "system/jail/jail_landlock.h"
#include "system/jail/jail_privileges.h"
#include "system/jail/jail_seccomp.h"
#include "system/jail/jail_world.h"
#include "system/os/streams.h"

namespace cuco::system::jail {
namespace {

/// Tries something irrevocable in a child; the text says how, a leading '!' that it did not work.
std::string in_child(const std::function<std::string()>& attempt) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "!no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(write_all(ends[1], attempt()));
    ::_exit(0);
  }
  const Fd read(ends[0]);
  Fd(ends[1]).reset();
  auto text = read_to_end(read.get(), 4096);
  retry([&] { return ::waitpid(child, nullptr, 0); });
  return text ? *std::move(text) : "!" + text.error().message();
}

FenceReport report(Fence fence, std::string text) {
  const bool works = !text.starts_with('!');
  return {fence, works, works ? std::move(text) : text.substr(1)};
}

std::string outcome_of(const Result<void>& result, std::string how) {
  return result ? std::move(how) : "!" + result.error().message();
}

std::string space(int flag) {
  const NamespaceReport spaces = enter_namespaces();
  if ((spaces.flags & flag) == 0) return "!" + spaces.why_not;
  return spaces.user ? "by user namespace" : "as root";
}

std::string seccomp() {
  if (auto done = set_no_new_privileges(); !done) return "!" + done.error().message();
  const auto listener = refuse_forbidden_calls();
  if (!listener) return "!" + listener.error().message();
  return *listener ? "filter with reports" : "filter without reports (a listener exists already)";
}

}  // namespace

std::vector<FenceReport> probe() {
  std::vector<FenceReport> reports;
  const auto add = [&](Fence fence, const std::function<std::string()>& attempt) {
    reports.push_back(report(fence, in_child(attempt)));
  };
  add(Fence::PidNamespace, [] { return space(CLONE_NEWPID); });
  add(Fence::MountNamespace, [] { return space(CLONE_NEWNS); });
  add(Fence::NetworkNamespace, [] { return space(CLONE_NEWNET); });
  add(Fence::IpcNamespace, [] { return space(CLONE_NEWIPC); });
  add(Fence::Unprivileged, [] {
    if (::geteuid() != 0) return outcome_of(drop_capabilities(), "own user, no capabilities");
    return outcome_of(become(65534), "an own user for each job");
  });
  add(Fence::Seccomp, seccomp);
  add(Fence::Landlock, [] {
    if (auto done = set_no_new_privileges(); !done) return "!" + done.error().message();
    return outcome_of(restrict_files({}, {}), fmt::format("version {}", landlock_version()));
  });
  const JobCgroups cgroups(std::uint64_t{64} << 20U, 16);
  const auto group = [&](const std::string& by) {
    return by.empty() ? "!" + cgroups.why_not() : by;
  };
  reports.push_back(report(Fence::Memory, group(cgroups.memory_by())));
  reports.push_back(report(Fence::Processes, group(cgroups.processes_by())));
  reports.push_back(report(Fence::TreeKill,
                           cgroups.can_kill() ? "cgroup v2 kill" : "subreaper and walk of /proc"));
  for (const Fence fence : {Fence::Cpu, Fence::FileSize})
    reports.push_back(report(fence, "rlimit"));
  for (const Fence fence : {Fence::WallClock, Fence::Output}) {
    reports.push_back(report(fence, "keeper"));
  }
  return reports;
}

}  // namespace cuco::system::jail
