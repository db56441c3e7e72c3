// SPDX-License-Identifier: Apache-2.0
/// \file
/// What to run, behind which fences, and what became of it. Values only; see process.h to run one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::system {

/// A descriptor of ours that the program finds under a number of its own.
struct PassedFd {
  int ours = -1;
  int theirs = -1;
};

struct Command {
  std::vector<std::string> argv;  ///< argv[0]: an absolute path, or a name found along PATH.
  Environment environment;        ///< Exactly what the program sees.
  Path folder = "/";              ///< Working folder.
  std::string input;              ///< Standard input, then its end.
  std::vector<PassedFd> fds;      ///< Everything else is closed. 1 or 2 here: not captured.
};

/// 0 or nothing: no such limit.
struct Limits {
  std::optional<std::chrono::milliseconds> wall;
  std::optional<std::chrono::seconds> cpu;  ///< For each process.
  std::uint64_t memory = 0;                 ///< Bytes, all processes and their tmpfs together.
  std::uint32_t processes = 0;              ///< Processes and threads together.
  std::uint64_t file_size = 0;
  std::uint32_t open_files = 0;
  std::size_t output = std::size_t{4} << 20U;  ///< Bytes kept of each of stdout and stderr.
  bool output_ends_job = false;                ///< More output: end the job, or drop the rest?
};

/// How a fence that is missing is answered.
enum class Tier {
  Hostile,  ///< Code that a model wrote: the job does not start.
  Own,  ///< Code that the built-in expert wrote: it runs, and the outcome names what is missing.
};

enum class Fence {
  PidNamespace,      ///< Sees and reaches no process outside; all die with the first one.
  MountNamespace,    ///< Sees only the paths that are named.
  NetworkNamespace,  ///< Only an own loopback.
  IpcNamespace,      ///< No System V or POSIX IPC with the outside.
  Unprivileged,      ///< An own user, no capabilities, no way to get any.
  Seccomp,           ///< System calls that no honest job makes are refused and reported.
  Landlock,          ///< Files again, by the kernel's second opinion.
  Memory,            ///< Limits::memory over the whole job.
  Processes,         ///< Limits::processes over the whole job.
  TreeKill,          ///< Every descendant can be found and ended.
  Cpu,               ///< Limits::cpu
  FileSize,          ///< Limits::file_size
  WallClock,         ///< Limits::wall
  Output,            ///< Limits::output
};
inline constexpr int kFences = 14;

[[nodiscard]] std::string_view name_of(Fence fence);

/// The world of a sandboxed job: these paths under their own names, private /tmp, /dev/shm, /proc
/// and a minimal /dev, no network but an own loopback, an own user.
struct SandboxSpec {
  Tier tier = Tier::Hostile;
  bool system_paths = true;     ///< /usr, /bin, /lib*, the loader's cache: what compilers need.
  std::vector<Path> read_only;  ///< Must be readable by everybody.
  std::vector<Path> writable;   ///< Handed to the job's user.
  std::vector<Path> devices;    ///< Device files, e.g. /dev/nvidia0.
};

struct JobSpec {
  Command command;
  Limits limits;
  std::optional<SandboxSpec> sandbox;  ///< Absent: a tool of ours; only limits and tree kill.
};

enum class Ending {
  Exited,         ///< By itself, with `code`.
  Signalled,      ///< By signal `code`.
  NotStarted,     ///< The program could not be executed, or a fence is missing (Hostile).
  TimedOut,       ///< Limits::wall
  CpuLimit,       ///< Limits::cpu
  OutOfMemory,    ///< Limits::memory
  ProcessLimit,   ///< Limits::processes
  OutputLimit,    ///< Limits::output
  FileLimit,      ///< Limits::file_size
  ForbiddenCall,  ///< A system call that no honest job makes; `detail` names it.
  Cancelled,      ///< By us.
};

[[nodiscard]] std::string_view name_of(Ending ending);

/// A fence that was wanted and is not there.
struct MissingFence {
  Fence fence;
  std::string why;
};

struct JobOutcome {
  Ending ending = Ending::NotStarted;
  int code = 0;                    ///< Exit status or signal number.
  std::optional<Fence> caught_by;  ///< The fence that ended the job, if one did.
  std::string detail;              ///< What exactly, for a person.
  std::string out;
  std::string err;
  bool truncated = false;  ///< There was more output than Limits::output.
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds cpu{0};  ///< User and system time of all processes.
  std::uint64_t peak_memory =
      0;               ///< Bytes: of the job if a cgroup counts them, else of its largest process.
  int stragglers = 0;  ///< Processes that were left when the program ended, now dead.
  std::vector<std::string> denied;  ///< System calls that were refused.
  std::vector<MissingFence> missing;

  [[nodiscard]] bool succeeded() const { return ending == Ending::Exited && code == 0; }
};

/// "exited with 1", "killed by SIGSEGV", "out of memory (fence: memory, cgroup v1)".
[[nodiscard]] std::string describe(const JobOutcome& outcome);

}  // namespace cuco::system
