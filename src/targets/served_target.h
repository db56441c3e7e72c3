// SPDX-License-Identifier: Apache-2.0
/// \file
/// A target that is a process of ours which speaks shims/wire/messages_judge.h: cuco-vcluster for
/// virtual GPUs, cuco-device for a real one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shims/wire/frame_socket.h"
#include "system/jobs/process.h"
#include "targets/target.h"

namespace cuco::targets {

class ServedTarget : public Target {
 public:
  Result<TargetEvent> wait(const Ranks& ranks, const Patience& patience) override;
  Result<std::int64_t> command(std::uint32_t command,
                               std::int32_t argument,
                               wire::Bytes tail,
                               std::int32_t rank) override;
  Result<std::int64_t> run_all(int set, const Handicap& handicap) override;
  Result<std::int64_t> run_batch(const std::vector<int>& sets) override;
  Result<void> order_snapshot(int rank,
                              const std::vector<MemoryRange>& ranges,
                              const std::vector<MemoryRange>& given,
                              const std::vector<MemoryRange>& closed) override;
  Result<std::string> read_snapshot(int rank, std::size_t index, std::size_t bytes) override;
  Result<void> write(std::uint64_t address, std::string_view bytes) override;
  Result<std::string> read(std::uint64_t address, std::size_t bytes) override;
  Result<std::string> profile() override;
  Result<void> forget_profile() override;
  Result<std::vector<check::Finding>> findings() override;

 protected:
  ServedTarget(std::string name, wire::Fd control)
      : name_(std::move(name)), control_(std::move(control)) {}

  [[nodiscard]] virtual system::Process& server() = 0;
  /// Sends, and receives the answer.
  Result<wire::Frame> call(std::uint16_t type, wire::Bytes head, wire::Bytes tail);

 private:
  Result<std::int64_t> send_command(const wire::JudgeCommand& request, wire::Bytes tail);
  Result<std::string> read_all(wire::JudgeRead request, std::size_t bytes);
  /// The server's outcome; it is ended for that, the first time.
  Result<system::JobOutcome> end_server();
  Result<TargetEvent> server_left();
  Error lost();

  std::string name_;  ///< For messages: "virtual cluster".
  wire::Fd control_;
  bool asked_ = false;                       ///< A JudgeWait was sent and not yet answered.
  std::optional<system::JobOutcome> ended_;  ///< The server's.
};

/// Real jobs, one for each rank.
[[nodiscard]] Result<std::unique_ptr<Ranks>> as_ranks(std::vector<system::Process> ranks);

}  // namespace cuco::targets
