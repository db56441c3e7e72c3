// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one way in which cuco-vcluster is started: for a program of the user's, and for a judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hardware/scale_model.h"
#include "system/jobs/process.h"
#include "system/os/environment.h"
#include "system/os/files.h"
#include "vcluster/record/input_variation.h"

namespace cuco::targets {

/// Which machine to imitate, and what to record of the run.
struct ServerOptions {
  system::Path gpu;                      ///< A hardware description (hardware/*.toml).
  std::optional<system::Path> topology;  ///< Absent: one node with `devices` GPUs.
  hardware::Divisor divisor;             ///< A scale model of GPU and topology.
  std::uint32_t devices = 1;
  std::uint32_t per_node = 0;   ///< Of the topology's nodes; 0: all that a node has.
  std::uint32_t processes = 1;  ///< Rank processes that must be there before time moves.
  std::uint64_t seed = 0;
  std::uint64_t schedule_seed = 0;     ///< 0: plain; others: adversarial. See schedule.h.
  std::int64_t delivery_delay = 0;     ///< Picoseconds; every delivery between GPUs, a probe.
  bool completions_on_time = false;    ///< The delay is not for completions of puts.
  bool reports = false;                ///< See ServerProcess::report.
  bool timeline = false;               ///< The report has what a timeline shows.
  bool blocks = false;                 ///< The report has which blocks touch which bytes.
  bool logs_copies = false;            ///< See ServerProcess::copy_log.
  std::uint64_t keep_copies = 0;       ///< Keep so many bytes of what they carry.
  vcluster::InputVariation variation;  ///< Of what the program sends to devices.
  bool check = false;                  ///< Watch every access, many times slower; see findings().
  std::int64_t patience_ms = 0;  ///< Silence after which a note says who is waited for; 0: 60 s.
  int errors = 2;                ///< Where the server's own messages go.
  /// The program is somebody else's: its processes are another user's, in a sandbox, and so is the
  /// server, which interprets its kernels.
  bool fenced = false;
  std::uint64_t memory = std::uint64_t{8} << 30U;  ///< That a fenced server may use.
  /// A judge commands the ranks over control() (shims/wire/messages_judge.h) and asks there for
  /// profile and findings; nothing is written to files. Its messages are in its outcome.
  bool judged = false;
};

/// A running cuco-vcluster. Destruction ends it.
class ServerProcess {
 public:
  [[nodiscard]] static Result<ServerProcess> start(const ServerOptions& options);

  /// What a rank process needs in its environment: the socket, and our libraries first.
  [[nodiscard]] Result<system::Environment> environment_for(system::Environment base) const;
  /// Where ranks connect. Its folder goes into their sandbox, read-only.
  [[nodiscard]] const system::Path& socket() const { return socket_; }
  /// The server's job itself.
  [[nodiscard]] system::Process& process() { return process_; }
  /// A judge's connection, handed over.
  [[nodiscard]] system::Fd take_control() { return std::move(control_); }

  /// The outcome, once the server has ended by itself (it found a deadlock or failed).
  [[nodiscard]] Result<std::optional<system::JobOutcome>> ended();
  [[nodiscard]] int fd() const { return process_.fd(); }
  /// It has closed its sockets: the program may end of that before the server's end is seen.
  [[nodiscard]] bool has_left() const;
  /// What came back from devices, if the options asked for it: see copy_log.h.
  [[nodiscard]] system::Path copy_log() const;
  /// Ends the server and returns what the run did, if the options asked for it: see run_report.h.
  [[nodiscard]] Result<std::string> report();
  /// Ends a checked run's server and returns what it found, as JSON.
  [[nodiscard]] Result<std::string> findings();

 private:
  ServerProcess(system::TempFolder folder,
                system::TempFolder records,
                system::Path socket,
                system::Fd control,
                system::Process process)
      : folder_(std::move(folder)),
        records_(std::move(records)),
        socket_(std::move(socket)),
        control_(std::move(control)),
        process_(std::move(process)) {}

  system::TempFolder folder_;   ///< With the socket: what ranks get to see.
  system::TempFolder records_;  ///< What the server writes.
  system::Path socket_;
  system::Fd control_;  ///< Closed: the server ends.
  system::Process process_;
  bool is_checked_ = false;
  bool has_ended_ = false;
};

/// The folder of the libraries that stand in for NVIDIA's.
[[nodiscard]] Result<system::Path> find_library_folder();

}  // namespace cuco::targets
