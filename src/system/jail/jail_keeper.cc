// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "system/jail/jail_cgroup.h"
#include "system/jail/jail_report.h"
#include "system/jail/jail_seccomp.h"
#include "system/jail/jail_tree.h"
#include "system/jail/jail_world.h"
#include "system/os/os_error.h"
#include "system/os/socket.h"
#include "system/os/streams.h"

namespace cuco::system::jail {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// How often the counters that cannot be polled for are read: a hog is seen this late.
constexpr Milliseconds kTick{10};

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error("pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// One output stream of the program: what is kept of it.
struct Capture {
  Fd pipe;
  std::string text;
  bool more = false;  ///< There was more than the limit.

  void take(std::size_t limit) {
    std::array<char, 1U << 16U> chunk;
    while (pipe.is_open()) {
      const ssize_t n = retry([&] { return ::read(pipe.get(), chunk.data(), chunk.size()); });
      if (n < 0) return;  // EAGAIN
      if (n == 0) return pipe.reset();
      const std::size_t room = limit - std::min(limit, text.size());
      const auto size = static_cast<std::size_t>(n);
      text.append(chunk.data(), std::min(room, size));
      more = more || size > room;
      if (more) return;  // one chunk at a time, so that a flood cannot keep us here
    }
  }
};

class Keeper {
 public:
  Keeper(const JobSpec& spec, const Fd& control)
      : spec_(spec),
        control_(control),
        cgroups_(spec.limits.memory, spec.limits.processes),
        input_left_(spec.command.input) {}

  JobOutcome run() {
    start_ = SteadyClock::now();
    if (auto started = start(); !started) {
      outcome_.detail = started.error().message();
      return std::move(outcome_);
    }
    while (!over_)
      step();
    finish();
    return std::move(outcome_);
  }

 private:
  Result<void> start();
  void step();
  void hear(Report report);
  void feed();
  void watch();
  void finish();
  void judge_status();
  void end(Ending ending, std::optional<Fence> fence, std::string detail = {});

  const JobSpec& spec_;
  const Fd& control_;
  JobCgroups cgroups_;
  SteadyClock::time_point start_;
  std::string_view input_left_;
  pid_t outer_ = -1;
  Fd input_;
  Fd reports_;
  Fd listener_;
  Capture out_;
  Capture err_;
  std::optional<int> status_;
  bool decided_ = false;
  bool over_ = false;
  JobOutcome outcome_;
};

Result<void> Keeper::start() {
  CUCO_TRY_ASSIGN(Pipe input, make_pipe());
  CUCO_TRY_ASSIGN(Pipe output, make_pipe());
  CUCO_TRY_ASSIGN(Pipe errors, make_pipe());
  CUCO_TRY_ASSIGN(auto reports, socket_pair(SocketKind::Packet));
  outer_ = ::fork();
  if (outer_ < 0) return os_error("fork");
  if (outer_ == 0) {
    const Tier tier = spec_.sandbox ? spec_.sandbox->tier : Tier::Own;
    run_world({spec_, cgroups_, Reporter(reports.second.get(), tier), reports.second.get(),
               input.read.get(), output.write.get(), errors.write.get()});
  }
  input_ = std::move(input.write);
  out_.pipe = std::move(output.read);
  err_.pipe = std::move(errors.read);
  reports_ = std::move(reports.first);
  for (const PassedFd& fd : spec_.command.fds)
    ::close(fd.ours);
  for (const Fd* fd : {&input_, &out_.pipe, &err_.pipe})
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return {};
}

void Keeper::step() {
  // Closed descriptors are -1, which poll leaves alone.
  std::array<pollfd, 6> fds{{{control_.get(), POLLIN, 0},
                             {reports_.get(), POLLIN, 0},
                             {listener_.get(), POLLIN, 0},
                             {out_.pipe.get(), POLLIN, 0},
                             {err_.pipe.get(), POLLIN, 0},
                             {input_.get(), POLLOUT, 0}}};
  const bool limited = !cgroups_.memory_by().empty() || !cgroups_.processes_by().empty();
  Milliseconds timeout = limited ? kTick : Milliseconds(1000);
  if (spec_.limits.wall) {
    const auto rest =
        std::chrono::ceil<Milliseconds>(start_ + *spec_.limits.wall - SteadyClock::now());
    timeout = std::clamp(rest, Milliseconds(0), timeout);
  }
  if (::poll(fds.data(), fds.size(), static_cast<int>(timeout.count())) < 0) return;
  if (fds[0].revents != 0) end(Ending::Cancelled, std::nullopt);
  if (fds[3].revents != 0) out_.take(spec_.limits.output);
  if (fds[4].revents != 0) err_.take(spec_.limits.output);
  if (fds[5].revents != 0) feed();
  if ((fds[2].revents & POLLIN) != 0) {
    if (auto call = refuse_next_call(listener_)) {
      const bool hostile = spec_.sandbox && spec_.sandbox->tier == Tier::Hostile;
      if (hostile) end(Ending::ForbiddenCall, Fence::Seccomp, *call);
      if (outcome_.denied.size() < 100) outcome_.denied.push_back(*std::move(call));
    }
  } else if (fds[2].revents != 0) {
    listener_.reset();  // nobody is left under the filter
  }
  if (fds[1].revents != 0) {
    if (auto report = next_report(reports_)) {
      hear(*std::move(report));
    } else {
      over_ = true;  // the inner processes are gone without a word: killed
    }
  }
  watch();
}

void Keeper::hear(Report report) {
  switch (report.kind) {
    case Report::Kind::Missing:
      outcome_.missing.push_back({static_cast<Fence>(report.number), report.text});
      break;
    case Report::Kind::Refused:
      outcome_.missing.push_back({static_cast<Fence>(report.number), report.text});
      end(Ending::NotStarted, static_cast<Fence>(report.number),
          fmt::format("{} is missing on this machine: {}",
                      name_of(static_cast<Fence>(report.number)), report.text));
      break;
    case Report::Kind::Failed:
      end(Ending::NotStarted, std::nullopt, report.text);
      break;
    case Report::Kind::Listener:
      listener_ = std::move(report.fd);
      break;
    case Report::Kind::Ended:
      status_ = report.number;
      outcome_.stragglers = report.stragglers;
      over_ = true;
      break;
  }
}

void Keeper::feed() {
  const ssize_t n = ::write(input_.get(), input_left_.data(), input_left_.size());
  if (n > 0) input_left_.remove_prefix(static_cast<std::size_t>(n));
  const bool gone = n < 0 && errno != EAGAIN && errno != EINTR;
  if (input_left_.empty() || gone) input_.reset();
}

void Keeper::watch() {
  const Limits& limits = spec_.limits;
  if (limits.wall && SteadyClock::now() - start_ >= *limits.wall) {
    end(Ending::TimedOut, Fence::WallClock, fmt::format("after {} ms", limits.wall->count()));
  }
  if (limits.output_ends_job && (out_.more || err_.more)) {
    end(Ending::OutputLimit, Fence::Output, fmt::format("more than {} bytes", limits.output));
  }
  if (cgroups_.oom_kills() > 0) {
    end(Ending::OutOfMemory, Fence::Memory,
        fmt::format("more than {} bytes, {}", limits.memory, cgroups_.memory_by()));
  }
  if (cgroups_.refused_forks() > 0) {
    end(Ending::ProcessLimit, Fence::Processes,
        fmt::format("more than {} processes, {}", limits.processes, cgroups_.processes_by()));
  }
}

void Keeper::end(Ending ending, std::optional<Fence> fence, std::string detail) {
  over_ = true;
  if (decided_) return;  // what came first was the cause
  decided_ = true;
  outcome_.ending = ending;
  outcome_.caught_by = fence;
  outcome_.detail = std::move(detail);
}

void Keeper::judge_status() {
  if (!status_) {
    outcome_.code = SIGKILL;
    return end(Ending::Signalled, std::nullopt, "the job was killed from outside");
  }
  if (WIFEXITED(*status_)) {
    outcome_.code = WEXITSTATUS(*status_);
    return end(Ending::Exited, std::nullopt);
  }
  outcome_.code = WTERMSIG(*status_);
  if (outcome_.code == SIGXCPU) return end(Ending::CpuLimit, Fence::Cpu);
  if (outcome_.code == SIGXFSZ) return end(Ending::FileLimit, Fence::FileSize);
  end(Ending::Signalled, std::nullopt);
}

void Keeper::finish() {
  watch();  // a limit may have been hit just before the program ended
  if (status_) {
    // Init has said its last word and outer waits for it alone: what is alive then was left behind.
    // In a pid namespace that is nobody, and init has counted before it went.
    retry([&] { return ::waitpid(outer_, nullptr, 0); });
    outcome_.stragglers = std::max(outcome_.stragglers, count_alive());
  }
  end_descendants(cgroups_);
  out_.take(spec_.limits.output);
  err_.take(spec_.limits.output);
  judge_status();
  outcome_.out = std::move(out_.text);
  outcome_.err = std::move(err_.text);
  outcome_.truncated = out_.more || err_.more;
  outcome_.wall = SteadyClock::now() - start_;
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
    outcome_.cpu += std::chrono::seconds(part.tv_sec) + std::chrono::microseconds(part.tv_usec);
  }
  outcome_.peak_memory =
      cgroups_.peak_memory().value_or(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
}

}  // namespace

JobOutcome keep(const JobSpec& spec, const Fd& control) {
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return Keeper(spec, control).run();
}

}  // namespace cuco::system::jail
