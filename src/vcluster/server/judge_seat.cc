// SPDX-License-Identifier: Apache-2.0
#include "vcluster/server/judge_seat.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "check/entry.h"
#include "shims/wire/status.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/watchers.h"

namespace cuco::vcluster {
namespace {

/// Virtual time for one command: far more than any honest run, far less than clocks can hold.
constexpr VTime kCommandTime = 2 * 3600 * vgpu::kSecond;
/// Commands begin at multiples of this, which pipes have as a multiple of their buckets, and after
/// a pause: what the ranks did before does not show in how long this takes.
constexpr VTime kRound = VTime{1} << 24U;

VTime next_round(VTime now) {
  return (now / kRound + 2) * kRound;
}

}  // namespace

JudgeSeat::JudgeSeat(const JudgeParts& parts, wire::Fd control)
    : parts_(parts), control_(std::move(control)) {
  parts_.run.begin();
  parts_.allocations.forbid_host_memory();
  parts_.dispatcher.on<wire::JudgeReport>(
      [this](Session& session, const wire::JudgeReport& request, wire::Bytes tail) {
        report(session, request, tail);
      });
}

void JudgeSeat::report(Session& session, const wire::JudgeReport& request, wire::Bytes tail) {
  if (request.rank < 0 ||
      static_cast<std::uint32_t>(request.rank) >= parts_.options.expected_processes) {
    return session.refuse("a report of a rank that is not in this run");
  }
  const auto [found, is_new] = seats_.try_emplace(request.rank);
  Seat& seat = found->second;
  if (is_new) seat.session = session.number();
  if (seat.session != session.number() || seat.arrived) {
    return session.refuse("a report in the name of another");
  }
  seat.tail.assign(tail.begin(), tail.end());
  if (request.code != 0) {
    // What the GPU had to say, if the rank has not fetched it: the reason is often there.
    for (const DeviceOutput& piece : session.process->output) {
      const wire::Bytes text = wire::bytes_of_text(piece.text);
      if (piece.stream == 2) seat.tail.push_back(std::byte{'\n'});
      if (piece.stream == 2) seat.tail.insert(seat.tail.end(), text.begin(), text.end());
    }
  }
  seat.report = {.rank = request.rank,
                 .phase = request.phase,
                 .code = request.code,
                 .tail_bytes = static_cast<std::uint32_t>(seat.tail.size())};
  session.park(CallWait{"its own work, after which the judge goes on"});
  const std::uint32_t number = session.number();
  const auto works = session.process->unfinished();
  parts_.works.when_done(works, [this, works, number, rank = request.rank] {
    Session* waiting = parts_.sessions.find(number);
    if (waiting == nullptr) return;
    Seat& mine = seats_[rank];
    // A rank that reports before its work has ended counts as done no sooner than one that waited.
    mine.report.time_ps = std::max(waiting->clock(), parts_.timeline.now() + kCallCost);
    mine.report.deliveries = parts_.devices.fabric().deliveries() - delivered_before_;
    mine.report.copied_to_host = waiting->process->copied_to_host - mine.copied_before;
    const KernelFilling& longest = waiting->process->longest_kernel;
    mine.report.kernel_ps = longest.time;
    mine.report.blocks_per_sm = longest.blocks_per_sm;
    mine.report.waves = longest.waves;
    mine.arrived = true;
    for (Seat::Copy& copy : mine.copies) {
      // Memory that was freed has no copy; the judge will find it missing.
      if (!parts_.devices.memory().valid(copy.address, copy.bytes.size())) copy.bytes.clear();
      std::memcpy(copy.bytes.data(), vgpu::Memory::at(copy.address), copy.bytes.size());
    }
    // Nobody looks at what a rank that has failed leaves behind.
    if (mine.report.code == 0) leave(mine, *waiting);
    // Only now: the result was there for whoever waits for the given stream, or it is a race.
    waiting->learn(works);
    waiting->become_idle();
    hold();
  });
}

void JudgeSeat::hold() {
  if (!is_all_arrived()) return;
  // What is written from here on is written at the moment when the clock starts, not before.
  for (const auto& [rank, seat] : seats_)
    parts_.timeline.advance_to(seat.report.time_ps);
  parts_.run.hold();
}

bool JudgeSeat::read() {
  for (;;) {
    switch (reader_.read_some(control_.get())) {
      case wire::FrameReader::State::Waiting:
        return true;
      case wire::FrameReader::State::Complete:
        serve(reader_.take());
        break;
      case wire::FrameReader::State::Malformed:
      case wire::FrameReader::State::Closed:
        return false;
    }
  }
}

void JudgeSeat::serve(const wire::Frame& frame) {
  const wire::Bytes payload = frame.payload;
  switch (frame.header.type) {
    case wire::JudgeWait::kType:
      waiting_ = true;
      return update();
    case wire::JudgeCommand::kType:
      if (const auto request = wire::read_front<wire::JudgeCommand>(payload)) {
        return command(*request, payload.subspan(sizeof(*request)));
      }
      break;
    case wire::JudgeSnapshot::kType:
      if (const auto request = wire::read_front<wire::JudgeSnapshot>(payload)) {
        return order_snapshot(*request, payload.subspan(sizeof(*request)));
      }
      break;
    case wire::JudgeRead::kType:
      if (const auto request = wire::read_front<wire::JudgeRead>(payload)) {
        return read_memory(*request);
      }
      break;
    case wire::JudgeWrite::kType:
      if (const auto request = wire::read_front<wire::JudgeWrite>(payload)) {
        return write_memory(*request, payload.subspan(sizeof(*request)));
      }
      break;
    case wire::JudgeProfile::kType:
      if (const auto request = wire::read_front<wire::JudgeProfile>(payload)) {
        return profile(*request);
      }
      break;
    case wire::JudgeFindings::kType:
      return send_findings();
    default:
      break;
  }
  answer(frame.header.type, wire::kInvalidValue, {});
}

void JudgeSeat::command(const wire::JudgeCommand& request, wire::Bytes tail) {
  // All go at the same time: the latest that any of them, or anything else, has reached.
  parts_.timeline.advance_to(next_round(parts_.timeline.now()));
  const VTime start = parts_.timeline.now();
  parts_.run.allow_until(vgpu::after(start, kCommandTime));
  parts_.run.let_go();
  if (request.command == wire::JudgeReport::kSetUpNow) parts_.processes.seal();
  // Rank r has device r: the judge starts one process that sees them all.
  for (std::int32_t device = 0; device < static_cast<std::int32_t>(parts_.devices.count());
       ++device) {
    const bool slow = device == request.late_rank;
    parts_.devices.gpu(device).set_slowdown(slow ? request.slowdown : 1);
    // As on a real GPU: no iteration finds its data where the last one left it.
    if (request.command == wire::JudgeReport::kRun) parts_.devices.gpu(device).flush_cache();
  }
  parts_.devices.set_extra_delay(request.delivery_delay_ps);
  delivered_before_ = parts_.devices.fabric().deliveries();
  const wire::JudgeReport::Reply reply{request.command, request.argument};
  if (parts_.check != nullptr) {
    // The judge has met them all.
    for (auto& [rank, seat] : seats_) {
      if (Session* session = parts_.sessions.find(seat.session))
        parts_.check->learn_from_all(*session);
    }
  }
  for (auto& [rank, seat] : seats_) {
    if (!seat.arrived || (request.rank >= 0 && request.rank != rank)) continue;
    seat.arrived = false;
    if (Session* session = parts_.sessions.find(seat.session)) {
      seat.copied_before = session->process->copied_to_host;
      session->process->longest_kernel = {};
      const VTime enters = start + (rank == request.late_rank ? request.late_ps : 0);
      session->move_clock_to(enters);
      if (request.command == wire::JudgeReport::kRun) enter(rank, *session, enters);
      session->reply_with(wire::kSuccess, reply, tail);
    }
  }
  answer(wire::JudgeCommand::kType, wire::kSuccess,
         wire::bytes_of(wire::JudgeCommand::Reply{.time_ps = start}));
}

check::ClockPtr JudgeSeat::change_hands(std::string_view what,
                                        const Seat& seat,
                                        int rank,
                                        const check::ClockPtr& known) {
  check::WorkInfo info;
  info.what = what;
  info.rank = rank;
  info.start = known;
  check::Checker& checker = parts_.check->checker;
  const check::WorkId id = checker.begin(info);
  for (const Seat::Copy& output : seat.copies)
    checker.claim(id, parts_.check->canonical(output.address), output.bytes.size());
  for (const Seat::Given& input : seat.given)
    checker.claim(id, parts_.check->canonical(input.address), input.bytes);
  if (what == check::kEntry) {
    for (const Seat::Given& other : seat.closed)
      checker.claim(id, parts_.check->canonical(other.address), other.bytes);
  }
  return checker.end(id);
}

void JudgeSeat::leave(const Seat& seat, const Session& session) {
  if (parts_.check == nullptr) return;
  check::ClockPtr known = session.known;
  for (const auto* others : {&seat.given, &seat.closed}) {
    for (const Seat::Given& other : *others)
      parts_.check->checker.expect_untouched(parts_.check->canonical(other.address), other.bytes);
  }
  for (const Seat::Copy& copy : seat.copies) {
    const auto read = parts_.check->on_result_read(session, copy.address, copy.bytes.size());
    known = check::Clock::join(known, read);
  }
  parts_.check->depart(change_hands(check::kEnd, seat, session.process->rank, known));
}

void JudgeSeat::enter(std::int32_t rank, Session& session, VTime time) {
  const std::vector<Seat::Copy>& outputs = seats_[rank].copies;
  if (parts_.check != nullptr)
    session.learn(change_hands(check::kEntry, seats_[rank], session.process->rank, session.known));
  forget_contents(outputs);
  if (time <= parts_.timeline.now()) return;
  // Whoever has written there before it is too early, and has written for nothing.
  std::vector<Seat::Copy> poison = outputs;
  for (Seat::Copy& output : poison)
    std::memcpy(output.bytes.data(), vgpu::Memory::at(output.address), output.bytes.size());
  parts_.timeline.at(time, [this, poison = std::move(poison), time] {
    for (const Seat::Copy& output : poison) {
      if (!parts_.devices.memory().valid(output.address, output.bytes.size())) continue;
      std::memcpy(vgpu::Memory::at(output.address), output.bytes.data(), output.bytes.size());
      parts_.devices.memory().notify_write(output.address, output.bytes.size(), time);
    }
    forget_contents(poison);
  });
}

void JudgeSeat::forget_contents(const std::vector<Seat::Copy>& outputs) {
  if (parts_.check == nullptr) return;
  for (const Seat::Copy& output : outputs)
    parts_.check->checker.mark_unwritten(parts_.check->canonical(output.address),
                                         output.bytes.size());
}

void JudgeSeat::order_snapshot(const wire::JudgeSnapshot& request, wire::Bytes tail) {
  const std::size_t ranges = std::size_t{request.count} + request.given + request.closed;
  const auto words = wire::read_array<std::uint64_t>(tail, ranges * 2);
  const auto seat = seats_.find(request.rank);
  if (!words || seat == seats_.end()) {
    return answer(wire::JudgeSnapshot::kType, wire::kInvalidValue, {});
  }
  seat->second.copies.clear();
  seat->second.given.clear();
  seat->second.closed.clear();
  for (std::size_t i = 0; i < words->size(); i += 2) {
    if (!parts_.devices.memory().valid((*words)[i], (*words)[i + 1])) {
      return answer(wire::JudgeSnapshot::kType, wire::kInvalidValue, {});
    }
    if (i < std::size_t{request.count} * 2) {
      seat->second.copies.push_back({(*words)[i], std::vector<std::byte>((*words)[i + 1])});
    } else {
      const bool is_given = i < (std::size_t{request.count} + request.given) * 2;
      (is_given ? seat->second.given : seat->second.closed)
          .push_back({(*words)[i], (*words)[i + 1]});
    }
  }
  answer(wire::JudgeSnapshot::kType, wire::kSuccess, {});
}

void JudgeSeat::read_memory(const wire::JudgeRead& request) {
  if (request.rank >= 0) {
    const auto seat = seats_.find(request.rank);
    if (seat == seats_.end() || request.index >= seat->second.copies.size()) {
      return answer(wire::JudgeRead::kType, wire::kInvalidValue, {});
    }
    const wire::Bytes copy = seat->second.copies[request.index].bytes;
    if (request.address > copy.size() || request.bytes > copy.size() - request.address) {
      return answer(wire::JudgeRead::kType, wire::kInvalidValue, {});
    }
    return answer(wire::JudgeRead::kType, wire::kSuccess, {},
                  copy.subspan(request.address, request.bytes));
  }
  if (request.bytes > wire::kMaxPayload ||
      !parts_.devices.memory().valid(request.address, request.bytes)) {
    return answer(wire::JudgeRead::kType, wire::kInvalidValue, {});
  }
  answer(wire::JudgeRead::kType, wire::kSuccess, {},
         {vgpu::Memory::at(request.address), request.bytes});
}

void JudgeSeat::write_memory(const wire::JudgeWrite& request, wire::Bytes tail) {
  if (!parts_.devices.memory().valid(request.address, tail.size())) {
    return answer(wire::JudgeWrite::kType, wire::kInvalidValue, {});
  }
  std::memcpy(vgpu::Memory::at(request.address), tail.data(), tail.size());
  if (parts_.check != nullptr) {
    const std::uint64_t address = parts_.check->canonical(request.address);
    parts_.check->checker.mark_written(address, tail.size());
  }
  parts_.devices.memory().notify_write(request.address, tail.size(), parts_.timeline.now());
  answer(wire::JudgeWrite::kType, wire::kSuccess, {});
}

void JudgeSeat::profile(const wire::JudgeProfile& request) {
  if (request.forget != 0) {
    parts_.watchers.forget();
    return answer(wire::JudgeProfile::kType, wire::kSuccess, {});
  }
  if (request.offset == 0) profile_ = parts_.watchers.brief_report();
  const std::size_t from = std::min<std::size_t>(request.offset, profile_.size());
  const std::string_view part = std::string_view(profile_).substr(from, wire::kMaxPayload / 2);
  answer(wire::JudgeProfile::kType, wire::kSuccess, {}, wire::bytes_of_text(part));
}

void JudgeSeat::send_findings() {
  const std::string json = parts_.check != nullptr ? parts_.check->json() : std::string();
  const bool fits = !json.empty() && json.size() < wire::kMaxPayload;
  answer(wire::JudgeFindings::kType, fits ? wire::kSuccess : wire::kInvalidValue, {},
         wire::bytes_of_text(fits ? json : std::string_view()));
}

bool JudgeSeat::is_all_arrived() const {
  return seats_.size() == parts_.options.expected_processes &&
         std::ranges::all_of(seats_, [](const auto& entry) { return entry.second.arrived; });
}

void JudgeSeat::update() {
  if (!waiting_) return;
  if (!deadlock_.empty()) return answer_lines(wire::JudgeWait::kDeadLock, deadlock_);
  if (out_of_time_) {
    waiting_ = false;
    return answer(wire::JudgeWait::kType, wire::kSuccess,
                  wire::bytes_of(wire::JudgeWait::Reply{.kind = wire::JudgeWait::kOutOfTime,
                                                        .limit_ps = kCommandTime}),
                  {});
  }
  if (is_all_arrived()) {
    std::vector<std::byte> tail;
    for (const auto& [rank, seat] : seats_)
      wire::append(tail, seat.report);
    for (const auto& [rank, seat] : seats_) {
      tail.insert(tail.end(), seat.tail.begin(), seat.tail.end());
    }
    waiting_ = false;
    return answer(
        wire::JudgeWait::kType, wire::kSuccess,
        wire::bytes_of(wire::JudgeWait::Reply{.kind = wire::JudgeWait::kReports,
                                              .count = static_cast<std::uint32_t>(seats_.size())}),
        tail);
  }
  // A rank that ends in good order, but before the judge said so, counts as dead too.
  std::vector<std::string> gone = parts_.processes.lost();
  for (const auto& [rank, seat] : seats_) {
    if (parts_.sessions.find(seat.session) == nullptr && seat.report.phase != 0) {
      gone.push_back(fmt::format("rank {}: ended before the judge let it", rank));
    }
  }
  if (!gone.empty()) answer_lines(wire::JudgeWait::kDied, gone);
}

void JudgeSeat::report_deadlock(const std::vector<ClusterWait>& waits) {
  if (!deadlock_.empty()) return;
  // Who waits for a rank that has given up is stuck for its reason.
  for (const auto& [rank, seat] : seats_) {
    if (!seat.arrived || seat.report.code == 0 || !waiting_) continue;
    return answer_lines(wire::JudgeWait::kDied,
                        {fmt::format("rank {} failed with {}, and others wait for it: {}", rank,
                                     seat.report.code, wire::text_of(seat.tail))});
  }
  deadlock_ = describe(waits);
  if (deadlock_.empty()) deadlock_.emplace_back("nothing can go on");
  update();
}

void JudgeSeat::report_out_of_time() {
  out_of_time_ = true;
  update();
}

void JudgeSeat::answer_lines(wire::JudgeWait::Kind kind, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() < (1U << 16U)) text += line + "\n";
  }
  waiting_ = false;
  answer(wire::JudgeWait::kType, wire::kSuccess,
         wire::bytes_of(wire::JudgeWait::Reply{.kind = kind,
                                               .count = static_cast<std::uint32_t>(lines.size())}),
         wire::bytes_of_text(text));
}

void JudgeSeat::answer(std::uint16_t type,
                       std::int32_t status,
                       wire::Bytes head,
                       wire::Bytes tail) {
  wire::Header header;
  header.type = type;
  header.status = status;
  header.clock = parts_.timeline.now();
  // A judge that is gone shows as a closed socket at the next read.
  static_cast<void>(wire::send_frame(control_.get(), header, head, tail));
}

}  // namespace cuco::vcluster
