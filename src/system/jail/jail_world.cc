// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_world.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <dirent.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>

#include "system/jail/jail_landlock.h"
#include "system/jail/jail_mounts.h"
#include "system/jail/jail_privileges.h"
#include "system/jail/jail_seccomp.h"
#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system::jail {
namespace {

constexpr int kSpaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
constexpr std::uint32_t kNobody = 65534;
// Every job its own user, so that jobs side by side cannot reach each other either.
constexpr std::uint32_t kFirstJobUser = 700'000'000;
constexpr std::uint64_t kMostScratch = std::uint64_t{256} << 20U;

bool put(const char* file, const std::string& text) {
  const Fd fd(::open(file, O_WRONLY | O_CLOEXEC));
  return fd.is_open() && ::write(fd.get(), text.data(), text.size()) == std::ssize(text);
}

void bring_loopback_up() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  ::ioctl(socket.get(), SIOCSIFFLAGS, &request);  // without it only loopback users suffer
}

/// Processes in our /proc besides the first.
int count_others() {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string_view name(entry->d_name);
    const bool number =
        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number && name != "1") ++count;
  }
  ::closedir(folder);
  return count;
}

struct State {
  NamespaceReport spaces;
  std::uint32_t user = 0;
  [[nodiscard]] bool has(int flag) const { return (spaces.flags & flag) != 0; }
};

std::vector<Path> readable_paths(const SandboxSpec& sandbox) {
  std::vector<Path> paths = sandbox.system_paths ? system_paths() : std::vector<Path>();
  paths.insert(paths.end(), sandbox.read_only.begin(), sandbox.read_only.end());
  for (const char* path : {"/proc", "/dev", "/etc/passwd", "/etc/group", "/etc/hosts"}) {
    paths.emplace_back(path);
  }
  return paths;
}

std::vector<Path> writable_paths(const SandboxSpec& sandbox, bool private_root) {
  std::vector<Path> paths = sandbox.writable;
  paths.insert(paths.end(), sandbox.devices.begin(), sandbox.devices.end());
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full"})
    paths.emplace_back(path);
  if (private_root) {
    paths.emplace_back("/tmp");
    paths.emplace_back("/dev/shm");
  }
  // The CUDA driver names its threads (/proc/self/task/*/comm) and does not start where it cannot.
  // What else is there is guarded by the kernel: others' entries by their user, the rest by root.
  if (private_root && !sandbox.devices.empty()) paths.emplace_back("/proc");
  return paths;
}

void restrain(const World& world, const State& state) {
  const SandboxSpec& sandbox = *world.spec.sandbox;
  const Reporter& report = world.reporter;
  if (state.has(CLONE_NEWNS)) {
    auto became = become(state.user);
    if (!became && state.user != kNobody) became = become(kNobody);
    if (!became) report.missing(Fence::Unprivileged, became.error().message());
  } else {
    // Without an own file system another user could not even reach our folders.
    report.missing(Fence::Unprivileged, "needs a mount namespace");
    static_cast<void>(drop_capabilities());
  }
  if (auto done = set_no_new_privileges(); !done) {
    report.missing(Fence::Unprivileged, done.error().message());
  }
  if (auto done =
          restrict_files(readable_paths(sandbox), writable_paths(sandbox, state.has(CLONE_NEWNS)));
      !done) {
    report.missing(Fence::Landlock, done.error().message());
  }
  auto listener = refuse_forbidden_calls();
  if (!listener) return report.missing(Fence::Seccomp, listener.error().message());
  if (*listener) report.seccomp_listener((*listener)->get());
}

void arrange_fds(const World& world) {
  // Out of the way first, then to their places, so that no move overwrites what is still to move.
  std::vector<PassedFd> fds = {{world.input, 0}, {world.output, 1}, {world.errors, 2}};
  for (const PassedFd& fd : world.spec.command.fds) {
    std::erase_if(fds, [&](const PassedFd& other) { return other.theirs == fd.theirs; });
    fds.push_back(fd);
  }
  int highest = 2;
  for (const PassedFd& fd : fds)
    highest = std::max(highest, fd.theirs);
  for (PassedFd& fd : fds)
    fd.ours = ::fcntl(fd.ours, F_DUPFD_CLOEXEC, highest + 100);
  for (const PassedFd& fd : fds)
    ::dup2(fd.ours, fd.theirs);
}

/// All but stdio and what was passed on purpose gets close-on-exec (the reporter stays until then).
void close_rest(const std::vector<PassedFd>& passed) {
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const PassedFd& fd : passed) {
    if (fd.theirs > 2) ::fcntl(fd.theirs, F_SETFD, 0);
  }
}

[[noreturn]] void become_program(const World& world, const State& state) {
  const Command& command = world.spec.command;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Moved first of all: its number may be one that the program is to have.
  int highest = 2;
  for (const PassedFd& fd : command.fds)
    highest = std::max({highest, fd.theirs, fd.ours});
  const int report_fd = ::fcntl(world.report_fd, F_DUPFD_CLOEXEC, highest + 300);
  const Tier tier = world.spec.sandbox ? world.spec.sandbox->tier : Tier::Own;
  const World moved{world.spec,   world.cgroups, Reporter(report_fd, tier), report_fd, world.input,
                    world.output, world.errors};
  const Reporter& report = moved.reporter;
  arrange_fds(moved);
  close_rest(command.fds);

  if (world.spec.sandbox) restrain(moved, state);
  if (::chdir(command.folder.c_str()) != 0) {
    report.failed(os_error(fmt::format("enter '{}'", command.folder.string())).message());
  }
  std::string program = command.argv.front();
  if (program.find('/') == std::string::npos) {
    auto found = find_program(program, command.environment.get("PATH").value_or("/usr/bin:/bin"));
    if (!found) report.failed(found.error().message());
    program = found->string();
  }
  std::vector<std::string> words = command.argv;
  std::vector<std::string> entries = command.environment.entries();
  std::vector<char*> argv;
  std::vector<char*> environment;
  for (std::string& word : words)
    argv.push_back(word.data());
  for (std::string& entry : entries)
    environment.push_back(entry.data());
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  // Last: a limit on memory may be below what this process itself has.
  const bool own_memory = world.spec.limits.memory != 0 && world.cgroups.memory_by().empty();
  const bool own_processes =
      world.spec.limits.processes != 0 && world.cgroups.processes_by().empty();
  if (auto done = set_limits(world.spec.limits, own_memory, own_processes); !done) {
    report.failed(done.error().message());
  }
  ::execve(program.c_str(), argv.data(), environment.data());
  report.failed(os_error(fmt::format("execute '{}'", program)).message());
}

/// Reaps all, ends with the program. As pid 1 its own end is that of every process in the job.
[[noreturn]] void run_init(const World& world, const State& state) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (world.spec.sandbox) {
    if (state.has(CLONE_NEWNET)) bring_loopback_up();
    if (state.has(CLONE_NEWUTS)) ::sethostname("cuco", 4);
    if (state.has(CLONE_NEWNS)) {
      // Of /tmp and of /dev/shm: what no honest job fills, and no hostile one can fill a disk with.
      const std::uint64_t memory = world.spec.limits.memory;
      const std::uint64_t scratch = memory != 0 ? std::min(memory, kMostScratch) : kMostScratch;
      if (auto done = enter_private_root(*world.spec.sandbox, state.user, scratch); !done) {
        world.reporter.failed(
            fmt::format("{}: {}", name_of(Fence::MountNamespace), done.error().message()));
      }
    }
  }
  const pid_t program = ::fork();
  if (program < 0) world.reporter.failed(os_error("fork").message());
  if (program == 0) become_program(world, state);
  // Whatever init held open, the program's readers and writers would wait for.
  const auto keep = static_cast<unsigned>(world.report_fd);
  ::close_range(0, keep - 1, 0);
  ::close_range(keep + 1, ~0U, 0);
  while (true) {
    int status = 0;
    const pid_t pid = retry([&] { return ::waitpid(-1, &status, 0); });
    if (pid < 0) world.reporter.failed("the program is nobody's child");
    if (pid != program) continue;
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // the dead are no stragglers
    }
    world.reporter.ended(status, state.has(CLONE_NEWPID) ? count_others() : 0);
    ::_exit(0);
  }
}

void tell_missing_spaces(const World& world, const NamespaceReport& spaces) {
  struct Space {
    int flag;
    Fence fence;
  };
  for (const Space space : {Space{CLONE_NEWPID, Fence::PidNamespace},
                            {CLONE_NEWNS, Fence::MountNamespace},
                            {CLONE_NEWNET, Fence::NetworkNamespace},
                            {CLONE_NEWIPC, Fence::IpcNamespace}}) {
    if ((spaces.flags & space.flag) == 0) world.reporter.missing(space.fence, spaces.why_not);
  }
  const Limits& limits = world.spec.limits;
  // In an own user namespace the kernel counts processes for this job alone; elsewhere it does not.
  if (limits.processes != 0 && world.cgroups.processes_by().empty() && !spaces.user) {
    world.reporter.missing(Fence::Processes, world.cgroups.why_not());
  }
  if (limits.memory != 0 && world.cgroups.memory_by().empty()) {
    world.reporter.missing(Fence::Memory, world.cgroups.why_not());
  }
}

bool enter_with_user() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWUSER | kSpaces) != 0) return false;
  return put("/proc/self/setgroups", "deny") &&
         put("/proc/self/uid_map", fmt::format("{} {} 1\n", kNobody, uid)) &&
         put("/proc/self/gid_map", fmt::format("{} {} 1\n", kNobody, gid));
}

}  // namespace

NamespaceReport enter_namespaces() {
  if (::unshare(kSpaces) == 0) return {kSpaces, false, {}};
  if (enter_with_user()) return {kSpaces, true, {}};
  NamespaceReport report;
  report.why_not = os_error("unshare").message();
  for (const int flag : {CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS}) {
    if (::unshare(flag) == 0) report.flags |= flag;
  }
  // A mount namespace without the pid namespace's /proc would show every process: all or nothing.
  if ((report.flags & CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWNS) == 0) {
    report.flags |= CLONE_NEWNS;
  }
  return report;
}

void run_world(const World& world) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (auto done = world.cgroups.enter(); !done) world.reporter.failed(done.error().message());
  State state;
  if (world.spec.sandbox) {
    state.user =
        ::geteuid() == 0 ? kFirstJobUser + static_cast<std::uint32_t>(::getppid()) : kNobody;
    state.spaces = enter_namespaces();
    if (state.spaces.user) state.user = kNobody;
    tell_missing_spaces(world, state.spaces);
  }
  const pid_t init = ::fork();
  if (init < 0) world.reporter.failed(os_error("fork").message());
  if (init == 0) run_init(world, state);
  ::close_range(0, ~0U, 0);
  retry([&] { return ::waitpid(init, nullptr, 0); });
  ::_exit(0);
}

}  // namespace cuco::system::jail
