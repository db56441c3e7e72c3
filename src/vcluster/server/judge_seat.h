// SPDX-License-Identifier: Apache-2.0
/// \file
/// The judge's seat at the server: commands to the ranks, device memory, the clock. See
/// wire/messages_judge.h; only the holder of the control socket, which no rank inherits, has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_judge.h"
#include "vcluster/calls/dispatch.h"
#include "vcluster/core/cluster_options.h"
#include "vcluster/core/judged_run.h"
#include "vcluster/core/waits.h"
#include "vcluster/device/allocations.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/sessions.h"

namespace cuco::vcluster {

class RunCheck;
class Watchers;

/// The parts of the cluster that a judge works on.
struct JudgeParts {
  const ClusterOptions& options;
  Dispatcher& dispatcher;
  Timeline& timeline;
  WorkGraph& works;
  Devices& devices;
  Allocations& allocations;
  const Sessions& sessions;
  Processes& processes;
  Watchers& watchers;
  JudgedRun& run;
  RunCheck* check = nullptr;  ///< Null: an ordinary run.
};

class JudgeSeat {
 public:
  /// Registers the ranks' report message with the cluster.
  JudgeSeat(const JudgeParts& parts, wire::Fd control);

  [[nodiscard]] int fd() const { return control_.get(); }
  /// Serves what the judge asked. False: it has gone.
  [[nodiscard]] bool read();
  /// Tells the judge, if it waits, that all ranks have reported or that some have died.
  void update();
  /// Nothing can go on. Reported once.
  void report_deadlock(const std::vector<ClusterWait>& waits);
  /// The ranks have used up their virtual time.
  void report_out_of_time();

 private:
  struct Seat {
    std::uint32_t session = 0;
    bool arrived = false;             ///< Has reported, and its work has ended.
    std::uint64_t copied_before = 0;  ///< To the host, before the last command.
    wire::RankReport report;
    std::vector<std::byte> tail;
    struct Copy {
      std::uint64_t address = 0;
      std::vector<std::byte> bytes;
    };
    std::vector<Copy> copies;  ///< Taken on arrival.
    struct Given {
      std::uint64_t address = 0;
      std::uint64_t bytes = 0;
    };
    std::vector<Given> given;   ///< What else it has for one run, to read: inputs.
    std::vector<Given> closed;  ///< What is for other runs.
  };

  void report(Session& session, const wire::JudgeReport& request, wire::Bytes tail);
  /// Once all ranks are here, nothing moves until the judge lets them go on: work that a rank left
  /// behind would otherwise start on the inputs while they are being written.
  void hold();
  void serve(const wire::Frame& frame);
  void command(const wire::JudgeCommand& request, wire::Bytes tail);
  /// The rank's buffers are its own, and its peers', from here on; not before. See
  /// include/cuco/workload.h.
  void enter(std::int32_t rank, Session& session, VTime time);
  /// What outputs hold at entry is nobody's: who takes the poison there for a sign that nothing has
  /// come yet would wait for nothing where a user's buffers hold the last call's results.
  void forget_contents(const std::vector<Seat::Copy>& outputs);
  /// The rank's caller has its buffers back.
  void leave(const Seat& seat, const Session& session);
  /// Tells the checker that all buffers of the run change hands, and after what; gives what is
  /// known then.
  check::ClockPtr change_hands(std::string_view what,
                               const Seat& seat,
                               int rank,
                               const check::ClockPtr& known);
  void order_snapshot(const wire::JudgeSnapshot& request, wire::Bytes tail);
  void read_memory(const wire::JudgeRead& request);
  void profile(const wire::JudgeProfile& request);
  void write_memory(const wire::JudgeWrite& request, wire::Bytes tail);
  void send_findings();
  [[nodiscard]] bool is_all_arrived() const;
  void answer(std::uint16_t type, std::int32_t status, wire::Bytes head, wire::Bytes tail = {});
  void answer_lines(wire::JudgeWait::Kind kind, const std::vector<std::string>& lines);

  const JudgeParts parts_;
  wire::Fd control_;
  wire::FrameReader reader_;
  std::map<std::int32_t, Seat> seats_;  ///< By rank.
  std::uint64_t delivered_before_ = 0;  ///< Between GPUs, before the last command.
  bool waiting_ = false;                ///< The judge has asked and not been answered.
  std::vector<std::string> deadlock_;
  std::string profile_;  ///< As it was last asked for from the beginning.
  bool out_of_time_ = false;
};

}  // namespace cuco::vcluster
