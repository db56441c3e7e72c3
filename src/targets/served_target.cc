// SPDX-License-Identifier: Apache-2.0
#include "targets/served_target.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "shims/wire/status.h"
#include "system/os/poll.h"

namespace cuco::targets {
namespace {

constexpr std::chrono::milliseconds kAskInterval{200};  // for what no descriptor reports
constexpr std::chrono::milliseconds kLastWord{3000};    // for the server, once the ranks have ended
constexpr std::size_t kChunk = std::size_t{2} << 20U;   // well below wire::kMaxPayload

std::vector<std::string> lines_of(wire::Bytes tail) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(wire::text_of(tail), '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

Result<TargetEvent> decode_event(const wire::Frame& frame) {
  const wire::Bytes payload = frame.payload;
  const auto reply = wire::read_front<wire::JudgeWait::Reply>(payload);
  if (!reply) return Error{ErrorKind::Protocol, "a short answer of the server"};
  wire::Bytes tail = payload.subspan(sizeof(*reply));
  if (reply->kind == wire::JudgeWait::kDeadLock) return TargetEvent(Deadlocked{lines_of(tail)});
  if (reply->kind == wire::JudgeWait::kOutOfTime)
    return TargetEvent(OutOfTime{static_cast<double>(reply->limit_ps) * 1e-12});
  if (reply->kind == wire::JudgeWait::kDied) return TargetEvent(RanksDied{lines_of(tail)});
  const auto reports = wire::read_array<wire::RankReport>(tail, reply->count);
  if (!reports) return Error{ErrorKind::Protocol, "a short answer of the server"};
  tail = tail.subspan(reports->size() * sizeof(wire::RankReport));
  AllReported all;
  for (const wire::RankReport& report : *reports) {
    if (tail.size() < report.tail_bytes)
      return Error{ErrorKind::Protocol, "a short answer of the server"};
    const measure::Sample seen{.clock_mhz = static_cast<double>(report.clock_mhz),
                               .throttled = report.throttled != 0,
                               .probe_seconds = static_cast<double>(report.probe_ps) * 1e-12,
                               .after_seconds = static_cast<double>(report.after_ps) * 1e-12};
    all.ranks.push_back({report.rank, report.phase, report.code, report.time_ps, report.deliveries,
                         report.copied_to_host, report.kernel_ps, report.blocks_per_sm,
                         report.waves, seen,
                         std::string(wire::text_of(tail.first(report.tail_bytes)))});
    tail = tail.subspan(report.tail_bytes);
  }
  return TargetEvent(std::move(all));
}

class ProcessRanks final : public Ranks {
 public:
  ProcessRanks(std::vector<system::Process> ranks, system::Fd ended)
      : ranks_(std::move(ranks)), ended_(std::move(ended)), outcomes_(ranks_.size()) {}

  void kill() override {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (!outcomes_[i]) ranks_[i].kill();
    }
  }

  Result<std::optional<system::JobOutcome>> wait(
      std::optional<std::chrono::milliseconds> timeout) override {
    using SteadyClock = std::chrono::steady_clock;
    const auto end = SteadyClock::now() + timeout.value_or(std::chrono::hours(24));
    std::optional<system::JobOutcome> failed;
    for (std::size_t left = ranks_.size(); left > 0;) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
      if (rest.count() <= 0) return std::optional<system::JobOutcome>();
      left = 0;
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (outcomes_[i]) continue;
        CUCO_TRY_ASSIGN(outcomes_[i], ranks_[i].wait(std::min(rest, kTurn)));
        if (!outcomes_[i]) ++left;
        if (!outcomes_[i] || outcomes_[i]->succeeded()) continue;
        // One that ended by itself says more than those that were ended with it.
        if (!failed || failed->ending == system::Ending::Cancelled)
          failed = named(i, *outcomes_[i]);
        kill();
      }
    }
    return failed ? std::move(failed) : std::optional(*outcomes_.front());
  }

  [[nodiscard]] std::vector<std::chrono::nanoseconds> cpu_times() const override {
    std::vector<std::chrono::nanoseconds> times;
    for (const system::Process& rank : ranks_)
      times.push_back(rank.cpu_time());
    return times;
  }
  [[nodiscard]] int fd() const override { return ended_.get(); }

 private:
  static constexpr std::chrono::milliseconds kTurn{20};  // for each of those that are waited for

  static system::JobOutcome named(std::size_t rank, system::JobOutcome outcome) {
    if (outcome.ending == system::Ending::Exited || outcome.ending == system::Ending::Signalled)
      outcome.err += fmt::format("\nrank {} {}", rank, describe(outcome));
    return outcome;
  }

  std::vector<system::Process> ranks_;
  system::Fd ended_;
  std::vector<std::optional<system::JobOutcome>> outcomes_;
};

}  // namespace

Result<std::unique_ptr<Ranks>> as_ranks(std::vector<system::Process> ranks) {
  std::vector<int> fds;
  for (const system::Process& rank : ranks)
    fds.push_back(rank.fd());
  CUCO_TRY_ASSIGN(system::Fd ended, system::any_of(fds));
  return std::unique_ptr<Ranks>(std::make_unique<ProcessRanks>(std::move(ranks), std::move(ended)));
}

Result<system::JobOutcome> ServedTarget::end_server() {
  if (!ended_) {
    server().kill();
    CUCO_TRY_ASSIGN(ended_, server().wait());
  }
  return *ended_;
}

Error ServedTarget::lost() {
  const auto outcome = end_server();
  if (!outcome) return outcome.error();
  return {ErrorKind::Protocol,
          fmt::format("{}: {} {}", name_, describe(*outcome), trim(outcome->err))};
}

Result<wire::Frame> ServedTarget::call(std::uint16_t type, wire::Bytes head, wire::Bytes tail) {
  wire::Header header;
  header.type = type;
  if (!wire::send_frame(control_.get(), header, head, tail)) return lost();
  auto frame = wire::receive_frame(control_.get());
  if (!frame) return lost();
  if (frame->header.status == wire::kInvalidValue)
    return Error{ErrorKind::NotFound, name_ + ": no such memory"};
  if (frame->header.status != 0) {
    return Error{ErrorKind::Protocol, fmt::format("{}: refused message {:#x}", name_, type)};
  }
  return *std::move(frame);
}

Result<TargetEvent> ServedTarget::server_left() {
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, end_server());
  // Device memory is the server's: what a candidate fills of it can be too much.
  if (outcome.ending == system::Ending::OutOfMemory) {
    return TargetEvent(
        RanksDied{{fmt::format("the devices used more memory than the {} has", name_)}});
  }
  // A program that brings the server down is not one to go on with; others are still judged.
  return TargetEvent(
      RanksDied{{fmt::format("the {} ended under it ({}), which is a fault of cuco: {}", name_,
                             describe(outcome), trim(outcome.err))}});
}

Result<TargetEvent> ServedTarget::wait(const Ranks& ranks, const Patience& patience) {
  if (!asked_) {
    wire::Header header;
    header.type = wire::JudgeWait::kType;
    if (!wire::send_frame(control_.get(), header, {}, {})) return lost();
    asked_ = true;
  }
  using SteadyClock = std::chrono::steady_clock;
  const auto begin = SteadyClock::now();
  const auto starved_before = server().starved_time();
  auto end = begin + patience.wall;
  while (true) {
    std::array<system::Watched, 2> watched{{{control_.get()}, {ranks.fd()}}};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    const auto left = std::clamp(rest, std::chrono::milliseconds(0), kAskInterval);
    CUCO_TRY_ASSIGN(const bool ready, system::wait_for_any(watched, left));
    if (!ready) {
      if (rest.count() <= 0) {
        const std::chrono::nanoseconds most = patience.wall * (kMostStarvation - 1);
        end = begin + patience.wall + std::min(server().starved_time() - starved_before, most);
        if (end <= SteadyClock::now()) return TargetEvent(OutOfTime{});
      }
      const auto used = ranks.cpu_time();
      if (used > patience.cpu) return TargetEvent(HostBusy{used});
      continue;
    }
    if (watched[0].is_ready()) {
      asked_ = false;
      if (auto frame = wire::receive_frame(control_.get())) return decode_event(*frame);
      return server_left();
    }
    // The server's word comes first where there are both: it may be a deadlock, or its own end,
    // which ranks hear of before we do.
    CUCO_TRY_ASSIGN(const bool said, system::wait_for_any(std::span(watched).first(1), kLastWord));
    if (!said) return TargetEvent(RanksDied{});
  }
}

Result<std::int64_t> ServedTarget::send_command(const wire::JudgeCommand& request,
                                                wire::Bytes tail) {
  CUCO_TRY_ASSIGN(const wire::Frame frame,
                  call(wire::JudgeCommand::kType, wire::bytes_of(request), tail));
  const auto reply = wire::read_front<wire::JudgeCommand::Reply>(frame.payload);
  return reply ? reply->time_ps : 0;
}

Result<std::int64_t> ServedTarget::command(std::uint32_t command,
                                           std::int32_t argument,
                                           wire::Bytes tail,
                                           std::int32_t rank) {
  return send_command({.command = command, .argument = argument, .rank = rank}, tail);
}

Result<std::int64_t> ServedTarget::run_all(int set, const Handicap& handicap) {
  return send_command({.command = wire::JudgeReport::kRun,
                       .argument = set,
                       .late_rank = handicap.rank,
                       .late_ps = handicap.ps,
                       .slowdown = handicap.slowdown,
                       .delivery_delay_ps = handicap.delivery_delay_ps},
                      {});
}

Result<std::int64_t> ServedTarget::run_batch(const std::vector<int>& sets) {
  std::vector<std::byte> tail;
  for (const int set : sets)
    wire::append(tail, static_cast<std::int32_t>(set));
  return send_command({.command = wire::JudgeReport::kRun, .argument = sets.front()}, tail);
}

Result<std::vector<check::Finding>> ServedTarget::findings() {
  // It took with it what it had found; that it left is an outcome already.
  if (ended_) return std::vector<check::Finding>();
  CUCO_TRY_ASSIGN(const wire::Frame frame, call(wire::JudgeFindings::kType, {}, {}));
  return check::findings_from_json(wire::text_of(frame.payload));
}

Result<void> ServedTarget::order_snapshot(int rank,
                                          const std::vector<MemoryRange>& ranges,
                                          const std::vector<MemoryRange>& given,
                                          const std::vector<MemoryRange>& closed) {
  std::vector<std::byte> tail;
  for (const auto* list : {&ranges, &given, &closed}) {
    for (const MemoryRange& range : *list)
      wire::append(tail, range);
  }
  const wire::JudgeSnapshot request{.rank = rank,
                                    .count = static_cast<std::uint32_t>(ranges.size()),
                                    .given = static_cast<std::uint32_t>(given.size()),
                                    .closed = static_cast<std::uint32_t>(closed.size())};
  CUCO_TRY(call(wire::JudgeSnapshot::kType, wire::bytes_of(request), tail));
  return {};
}

Result<std::string> ServedTarget::profile() {
  std::string text;
  for (;;) {
    const wire::JudgeProfile request{.offset = text.size()};
    CUCO_TRY_ASSIGN(const wire::Frame frame,
                    call(wire::JudgeProfile::kType, wire::bytes_of(request), {}));
    if (frame.payload.empty()) return text;
    text += wire::text_of(frame.payload);
  }
}

Result<void> ServedTarget::forget_profile() {
  const wire::JudgeProfile request{.forget = 1};
  CUCO_TRY(call(wire::JudgeProfile::kType, wire::bytes_of(request), {}));
  return {};
}

Result<void> ServedTarget::write(std::uint64_t address, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kChunk);
    const wire::JudgeWrite request{.address = address};
    CUCO_TRY(call(wire::JudgeWrite::kType, wire::bytes_of(request), wire::bytes_of_text(part)));
    address += part.size();
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<std::string> ServedTarget::read_all(wire::JudgeRead request, std::size_t bytes) {
  std::string result;
  result.reserve(bytes);
  while (result.size() < bytes) {
    request.bytes = std::min(kChunk, bytes - result.size());
    CUCO_TRY_ASSIGN(const wire::Frame frame,
                    call(wire::JudgeRead::kType, wire::bytes_of(request), {}));
    if (frame.payload.size() != request.bytes) return lost();
    result += wire::text_of(frame.payload);
    request.address += request.bytes;
  }
  return result;
}

Result<std::string> ServedTarget::read(std::uint64_t address, std::size_t bytes) {
  return read_all({.address = address}, bytes);
}

Result<std::string> ServedTarget::read_snapshot(int rank, std::size_t index, std::size_t bytes) {
  return read_all({.rank = rank, .index = static_cast<std::uint32_t>(index)}, bytes);
}

}  // namespace cuco::targets
