// SPDX-License-Identifier: Apache-2.0
/// \file
/// The server process: sockets on one side, the cluster on the other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "shims/wire/frame_socket.h"
#include "system/os/fd.h"
#include "system/os/poller.h"
#include "vcluster/core/cluster.h"
#include "vcluster/server/judge_seat.h"

namespace cuco::vcluster {

/// How a run ended.
enum class Ending : std::uint8_t {
  Finished,  ///< Whoever started the server is done with it.
  Deadlock,  ///< Everybody waits for somebody else; the report is in the log.
};

class Server {
 public:
  /// Serves connections to `listener` until `parent` (a pipe or socket) is closed at the other end.
  [[nodiscard]] static Result<std::unique_ptr<Server>> create(std::unique_ptr<Cluster> cluster,
                                                              system::Fd listener,
                                                              system::Fd parent);
  ~Server();

  /// Gives the run a judge: its socket takes the place of `parent`, and it hears of deadlocks.
  [[nodiscard]] Result<void> seat_judge(wire::Fd control);

  /// After so long without a request from any thread, prints which threads are waited for.
  void set_patience(int milliseconds) { patience_ms_ = milliseconds; }

  /// What a checked run found, as JSON (check::findings_from_json reads it).
  [[nodiscard]] Result<void> write_findings(const std::string& file) const;

  /// Runs to the end. An error is the operating system's.
  [[nodiscard]] Result<Ending> run();

  /// What the options asked for, when all is over: see run_report.h.
  [[nodiscard]] Result<void> write_report() const;

 private:
  struct Peer {
    system::Fd socket;
    wire::FrameReader reader;
    Session* session = nullptr;
    std::uint32_t asleep_samples = 0;  ///< Consecutive samples that found it sleeping.
    std::uint32_t silent_samples = 0;  ///< Samples since its last request.
  };

  Server(std::unique_ptr<Cluster> cluster,
         system::Fd listener,
         system::Fd parent,
         system::Poller poller);
  /// Takes what has come in; false: nothing had within the time.
  Result<bool> poll(int timeout_ms);
  void accept_peers();
  void read_peer(int fd);
  void drop_peer(int fd);
  void drop_refused();
  /// Samples running threads: one that sleeps without a report is parked; one that can see
  /// pinned memory and is silent for long may be polling it, and must not hold the GPUs up.
  void sample_threads();
  [[nodiscard]] bool somebody_waits() const;
  /// From outside the server's sight: a thread that is blocked there, or a process yet unknown.
  enum class Help : std::uint8_t { None, Outside, Starting, Coming };
  [[nodiscard]] Help help_that_may_come() const;
  void report_deadlock() const;
  void print_awaited_threads() const;

  std::unique_ptr<Cluster> cluster_;
  system::Fd listener_;
  system::Fd parent_;
  system::Poller poller_;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::set<std::uint32_t> reporting_;  ///< Processes whose host library reports waits.
  bool parent_gone_ = false;
  int silent_ms_ = 0;  ///< Since a thread that runs was last heard of.
  int patience_ms_ = 60'000;
  std::unique_ptr<JudgeSeat> judge_;  ///< Null: not a judged run.
};

}  // namespace cuco::vcluster
