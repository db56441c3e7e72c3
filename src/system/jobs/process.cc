// SPDX-License-Identifier: Apache-2.0
#include "system/jobs/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>

#include "base/assert.h"
#include "base/json.h"
#include "system/jobs/job_codec.h"
#include "system/os/os_error.h"
#include "system/os/socket.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

constexpr int kControlFd = 3;     // where cuco-jail expects its socket
constexpr int kFirstPassed = 10;  // and, from here on, the descriptors to pass on

/// posix_spawn's file actions and attributes, freed on every path.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    // Its own process group: a Ctrl-C at the terminal reaches us, and we decide.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  void give(int ours, int theirs) { ::posix_spawn_file_actions_adddup2(&actions_, ours, theirs); }
  void open_null(int fd) {
    ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
  }
  void close_from(int fd) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, fd); }

  Result<pid_t> spawn(const Path& program, std::vector<std::string> words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    char* no_environment = nullptr;
    pid_t pid = -1;
    const int code =
        ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv.data(), &no_environment);
    if (code != 0) return os_error(fmt::format("start '{}'", program.string()), code);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A copy of `fd` with a number so high that no dup2 of the plan lands on it.
Result<Fd> out_of_the_way(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 256));
  if (!copy.is_open()) return os_error(fmt::format("pass descriptor {}", fd));
  return copy;
}

Result<std::pair<Fd, pid_t>> start_keeper(JobSpec& spec, std::vector<std::string> arguments) {
  CUCO_TRY_ASSIGN(const Path program, find_helper("cuco-jail"));
  CUCO_TRY_ASSIGN(auto pair, socket_pair(SocketKind::Stream));
  std::vector<Fd> copies;
  SpawnPlan plan;
  plan.open_null(0);
  plan.open_null(1);
  CUCO_TRY_ASSIGN(Fd control, out_of_the_way(pair.second.get()));
  plan.give(control.get(), kControlFd);
  copies.push_back(std::move(control));
  int next = kFirstPassed;
  for (PassedFd& fd : spec.command.fds) {
    CUCO_TRY_ASSIGN(Fd copy, out_of_the_way(fd.ours));
    plan.give(copy.get(), next);
    copies.push_back(std::move(copy));
    fd.ours = next++;
  }
  // 4 to 9 may be descriptors of ours without close-on-exec; the keeper closes those itself.
  plan.close_from(next);
  arguments.insert(arguments.begin(), program.string());
  CUCO_TRY_ASSIGN(const pid_t pid, plan.spawn(program, std::move(arguments)));
  return std::pair<Fd, pid_t>(std::move(pair.first), pid);
}

}  // namespace

Result<Process> Process::start(const JobSpec& spec) {
  if (spec.command.argv.empty()) return Error{ErrorKind::InvalidInput, "empty command"};
  JobSpec passed = spec;
  CUCO_TRY_ASSIGN(auto keeper, start_keeper(passed, {}));
  Process process(std::move(keeper.first), keeper.second);
  CUCO_TRY(send_message(process.control_, encode(passed)));
  return process;
}

Process::Process(Process&& other) noexcept
    : control_(std::move(other.control_)), keeper_(std::exchange(other.keeper_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    reap();
    control_ = std::move(other.control_);
    keeper_ = std::exchange(other.keeper_, -1);
  }
  return *this;
}

Process::~Process() {
  reap();
}

void Process::reap() {
  control_.reset();  // the keeper sees the end of the stream and ends the job
  if (keeper_ > 0) retry([&] { return ::waitpid(keeper_, nullptr, 0); });
  keeper_ = -1;
}

Result<std::optional<JobOutcome>> Process::wait(std::optional<std::chrono::milliseconds> timeout) {
  CUCO_ASSERT(control_.get() >= 0);  // the outcome is given once; a second wait would never end
  CUCO_TRY_ASSIGN(const bool ready, wait_readable(control_.get(), timeout));
  if (!ready) return std::optional<JobOutcome>();
  auto outcome = receive_outcome(control_);
  reap();
  if (!outcome) return std::move(outcome).error().while_doing("wait for cuco-jail");
  return std::optional<JobOutcome>(*std::move(outcome));
}

void Process::kill() {
  ::shutdown(control_.get(), SHUT_WR);
}

Error become(const Path& program, std::vector<std::string> arguments) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return os_error(fmt::format("start '{}'", program.string()));
}

Result<JobOutcome> run_job(const JobSpec& spec) {
  CUCO_TRY_ASSIGN(Process process, Process::start(spec));
  CUCO_TRY_ASSIGN(std::optional<JobOutcome> outcome, process.wait());
  return *std::move(outcome);
}

Result<std::vector<FenceReport>> probe_fences() {
  JobSpec none;
  CUCO_TRY_ASSIGN(auto keeper, start_keeper(none, {"--probe"}));
  auto text = receive_message(keeper.first);
  retry([&] { return ::waitpid(keeper.second, nullptr, 0); });
  if (!text) return std::move(text).error().while_doing("probe fences");
  CUCO_TRY_ASSIGN(const Json json, parse_json(*text));
  std::vector<FenceReport> reports;
  for (const Json& item : json) {
    reports.push_back({static_cast<Fence>(item.at(0).get<int>()), item.at(1).get<bool>(),
                       item.at(2).get<std::string>()});
  }
  return reports;
}

}  // namespace cuco::system
