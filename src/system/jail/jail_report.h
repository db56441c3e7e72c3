// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the inner processes of a jail report to their keeper while they build the fences.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/jobs/job.h"
#include "system/os/fd.h"

namespace cuco::system::jail {

/// The inner end. Its methods are for processes that hold nothing worth unwinding.
class Reporter {
 public:
  Reporter(int socket, Tier tier) : socket_(socket), tier_(tier) {}

  /// The fence is unavailable. Hostile tier: does not return, and the job does not start.
  void missing(Fence fence, std::string_view why) const;
  /// The job cannot start; does not return.
  [[noreturn]] void failed(std::string_view why) const;
  /// Hands over the descriptor on which refused system calls arrive.
  void seccomp_listener(int fd) const;
  /// The program ended with this wait status and left `stragglers` processes.
  void ended(int status, int stragglers) const;

 private:
  void send(char kind, int number, std::string_view text) const;
  int socket_;
  Tier tier_;
};

/// One message of a Reporter.
struct Report {
  enum class Kind { Missing, Refused, Failed, Listener, Ended };
  Kind kind = Kind::Failed;
  int number = 0;  ///< The fence, or the wait status.
  int stragglers = 0;
  std::string text;
  Fd fd;
};

/// The keeper's end: the next report, or nothing when all inner processes have closed theirs.
[[nodiscard]] std::optional<Report> next_report(const Fd& socket);

}  // namespace cuco::system::jail
