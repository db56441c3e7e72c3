// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/virtual_cluster.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "rank/start_page.h"
#include "shims/wire/status.h"
#include "system/memory/shared_memory.h"
#include "system/os/os_error.h"
#include "system/os/socket.h"

namespace cuco::targets {
namespace {

constexpr int kListenFd = 3;
constexpr int kJudgeFd = 4;
constexpr std::int64_t kLookMs = 200;  // between two looks at what cannot be polled for
constexpr int kLastWordMs = 3000;      // for the server, once the ranks have ended
constexpr std::size_t kChunk = std::size_t{2} << 20U;  // well below wire::kMaxPayload

std::vector<std::string> lines_of(wire::Bytes tail) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(wire::text_of(tail), '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

Result<ClusterEvent> decode_event(const wire::Frame& frame) {
  const wire::Bytes payload = frame.payload;
  const auto reply = wire::read_front<wire::JudgeWait::Reply>(payload);
  if (!reply) return Error{ErrorKind::Protocol, "virtual cluster: a short answer"};
  wire::Bytes tail = payload.subspan(sizeof(*reply));
  if (reply->kind == wire::JudgeWait::kDeadLock) return ClusterEvent(NothingMoves{lines_of(tail)});
  if (reply->kind == wire::JudgeWait::kDied) return ClusterEvent(RanksDied{lines_of(tail)});
  const auto reports = wire::read_array<wire::RankReport>(tail, reply->count);
  if (!reports) return Error{ErrorKind::Protocol, "virtual cluster: a short answer"};
  tail = tail.subspan(reports->size() * sizeof(wire::RankReport));
  AllReported all;
  for (const wire::RankReport& report : *reports) {
    if (tail.size() < report.tail_bytes)
      return Error{ErrorKind::Protocol, "virtual cluster: a short answer"};
    const measure::Sample seen{.clock_mhz = static_cast<double>(report.clock_mhz),
                               .throttled = report.throttled != 0,
                               .probe_seconds = static_cast<double>(report.probe_ps) * 1e-12,
                               .after_seconds = static_cast<double>(report.after_ps) * 1e-12};
    all.ranks.push_back({report.rank, report.phase, report.code, report.time_ps, report.deliveries,
                         report.copied_to_host, seen,
                         std::string(wire::text_of(tail.first(report.tail_bytes)))});
    tail = tail.subspan(report.tail_bytes);
  }
  return ClusterEvent(std::move(all));
}

}  // namespace

std::vector<system::Path> VirtualCluster::gpu_devices() {
  std::vector<system::Path> found;
  for (const char* name : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm",
                           "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    std::error_code code;
    if (std::filesystem::exists(name, code)) found.emplace_back(name);
  }
  return found;
}

Result<void> VirtualCluster::probe_real() {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-device"));
  system::JobSpec job;
  job.command.argv = {program.string(), "--probe"};
  job.command.environment = system::Environment::bare();
  job.command.environment.set("LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
  job.limits.wall = std::chrono::seconds(60);
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome, system::run_job(job));
  if (outcome.succeeded()) return {};
  std::string_view reason = trim(outcome.err);
  if (const auto at = reason.find(": "); at != std::string_view::npos) reason.remove_prefix(at + 2);
  return Error{ErrorKind::Unavailable,
               fmt::format("--on gpu: {}; without it times are predicted by the virtual cluster",
                           reason.empty() ? describe(outcome) : std::string(reason))};
}

Result<VirtualCluster> VirtualCluster::start_real() {
  constexpr int kRankFd = 5;
  constexpr int kBellFd = 6;
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-device"));
  CUCO_TRY_ASSIGN(system::TempFolder folder, system::TempFolder::create("cuco-run"));
  CUCO_TRY_ASSIGN(auto control, system::socket_pair(system::SocketKind::Stream));
  CUCO_TRY_ASSIGN(auto rank, system::socket_pair(system::SocketKind::Stream));
  CUCO_TRY_ASSIGN(system::Fd bell, system::create_shared_memory("cuco-bell", rank::kBellBytes));
  system::JobSpec job;
  job.command.argv = {program.string(),        "--judge", std::to_string(kJudgeFd), "--rank",
                      std::to_string(kRankFd), "--bell",  std::to_string(kBellFd)};
  job.command.environment = system::Environment::bare();
  job.command.environment.set("LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
  job.command.fds = {
      {control.second.get(), kJudgeFd}, {rank.first.get(), kRankFd}, {bell.get(), kBellFd}};
  CUCO_TRY_ASSIGN(system::Process server, system::Process::start(job));
  VirtualCluster cluster(std::move(folder), std::move(server), wire::Fd(control.first.release()));
  cluster.rank_socket_ = std::move(rank.second);
  cluster.bell_ = std::move(bell);
  cluster.rank_fds_ = {{cluster.rank_socket_.get(), rank::kRankSocketFd},
                       {cluster.bell_.get(), rank::kRankBellFd}};
  return cluster;
}

Result<VirtualCluster> VirtualCluster::start(const ClusterSpec& spec) {
  if (spec.real) return start_real();
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-vcluster"));
  CUCO_TRY_ASSIGN(system::TempFolder folder, system::TempFolder::create("cuco-run"));
  // The ranks' user must get through; the name is a secret, and nobody may list or write here.
  std::error_code code;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0711), code);
  CUCO_TRY_ASSIGN(const system::Fd listener,
                  system::listen_at(folder.path() / "s", system::SocketKind::Stream, 0777));
  // The server polls this socket in a loop that must never block.
  CUCO_TRY(system::set_nonblocking(listener));
  CUCO_TRY_ASSIGN(auto sockets, system::socket_pair(system::SocketKind::Stream));
  system::JobSpec job;
  job.command.argv = {program.string(),
                      "--listen",
                      std::to_string(kListenFd),
                      "--judge",
                      std::to_string(kJudgeFd),
                      "--gpu",
                      spec.gpu.string(),
                      "--topology",
                      spec.topology.string(),
                      "--devices",
                      std::to_string(spec.ranks),
                      "--processes",
                      std::to_string(spec.ranks),
                      "--seed",
                      std::to_string(spec.seed % 2'000'000'000),
                      "--schedule-seed",
                      std::to_string(spec.schedule_seed)};
  if (spec.profile) job.command.argv.insert(job.command.argv.end(), {"--report", "-"});
  if (spec.check) job.command.argv.insert(job.command.argv.end(), {"--check", "-"});
  job.command.environment = system::Environment::bare();
  // It interprets hostile code: it gets no more of the machine than it needs.
  job.sandbox = system::SandboxSpec{.tier = system::Tier::Own,
                                    .read_only = {program, spec.gpu, spec.topology}};
  job.limits.memory = spec.memory;
  job.limits.processes = 16;
  job.command.fds = {{listener.get(), kListenFd}, {sockets.second.get(), kJudgeFd}};
  CUCO_TRY_ASSIGN(system::Process server, system::Process::start(job));
  VirtualCluster cluster(std::move(folder), std::move(server), wire::Fd(sockets.first.release()));
  cluster.is_checked_ = spec.check;
  return cluster;
}

Result<system::JobOutcome> VirtualCluster::end_server() {
  server_.kill();
  CUCO_TRY_ASSIGN(auto outcome, server_.wait());
  return *std::move(outcome);
}

Error VirtualCluster::lost() {
  const auto outcome = end_server();
  if (!outcome) return outcome.error();
  return {ErrorKind::Protocol,
          fmt::format("virtual cluster: {} {}", describe(*outcome), trim(outcome->err))};
}

Result<wire::Frame> VirtualCluster::receive() {
  auto frame = wire::receive_frame(control_.get());
  if (!frame) return lost();
  return *std::move(frame);
}

Result<wire::Frame> VirtualCluster::call(std::uint16_t type, wire::Bytes head, wire::Bytes tail) {
  wire::Header header;
  header.type = type;
  if (!wire::send_frame(control_.get(), header, head, tail)) return lost();
  CUCO_TRY_ASSIGN(wire::Frame frame, receive());
  if (frame.header.status == wire::kInvalidValue && !is_real()) {
    return Error{ErrorKind::NotFound, "virtual cluster: no such memory"};
  }
  if (frame.header.status != 0) {
    return Error{ErrorKind::Protocol, fmt::format("virtual cluster: refused message {:#x}", type)};
  }
  return frame;
}

Result<ClusterEvent> VirtualCluster::wait(const system::Process& ranks, const Patience& patience) {
  if (!asked_) {
    wire::Header header;
    header.type = wire::JudgeWait::kType;
    if (!wire::send_frame(control_.get(), header, {}, {})) return lost();
    asked_ = true;
  }
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + patience.wall;
  while (true) {
    std::array<pollfd, 2> fds{{{control_.get(), POLLIN, 0}, {ranks.fd(), POLLIN, 0}}};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    const int left = static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, kLookMs));
    const int ready = ::poll(fds.data(), fds.size(), left);
    if (ready < 0 && errno != EINTR) return system::os_error("poll");
    if (ready == 0 && rest.count() <= 0) return ClusterEvent(OutOfTime{});
    if (ready == 0) {
      const auto used = ranks.cpu_time();
      if (used > patience.cpu) return ClusterEvent(HostBusy{used});
    }
    if (ready > 0 && fds[0].revents != 0) {
      asked_ = false;
      if (auto frame = wire::receive_frame(control_.get())) return decode_event(*frame);
      // Device memory is the server's: what a candidate fills of it can be too much.
      CUCO_TRY_ASSIGN(const system::JobOutcome outcome, end_server());
      if (outcome.ending == system::Ending::OutOfMemory) {
        return ClusterEvent(
            RanksDied{{"the devices used more memory than the virtual cluster has"}});
      }
      // A program that brings the server down is not one to go on with; others are still judged.
      return ClusterEvent(RanksDied{
          {fmt::format("the virtual cluster ended under it ({}), which is a fault of cuco: {}",
                       describe(outcome), trim(outcome.err))}});
    }
    // The server's word comes first where there are both: it may be a dead-lock, or its own end,
    // which ranks hear of before we do.
    if (ready > 0 && fds[1].revents != 0) {
      if (::poll(fds.data(), 1, kLastWordMs) <= 0) return ClusterEvent(RanksDied{});
    }
  }
}

Result<std::int64_t> VirtualCluster::send_command(const wire::JudgeCommand& request,
                                                  wire::Bytes tail) {
  CUCO_TRY_ASSIGN(const wire::Frame frame,
                  call(wire::JudgeCommand::kType, wire::bytes_of(request), tail));
  const auto reply = wire::read_front<wire::JudgeCommand::Reply>(frame.payload);
  return reply ? reply->time_ps : 0;
}

Result<std::int64_t> VirtualCluster::command(std::uint32_t command,
                                             std::int32_t argument,
                                             wire::Bytes tail,
                                             std::int32_t rank) {
  return send_command({.command = command, .argument = argument, .rank = rank}, tail);
}

Result<std::int64_t> VirtualCluster::run_all(int set, Late late) {
  return send_command({.command = wire::JudgeReport::kRun,
                       .argument = set,
                       .late_rank = late.rank,
                       .late_ps = late.ps,
                       .slowdown = late.slowdown,
                       .delivery_delay_ps = late.delivery_delay_ps},
                      {});
}

Result<std::vector<check::Finding>> VirtualCluster::findings() {
  if (!is_checked_) return std::vector<check::Finding>();
  CUCO_TRY_ASSIGN(const wire::Frame frame, call(wire::JudgeFindings::kType, {}, {}));
  return check::findings_from_json(wire::text_of(frame.payload));
}

Result<void> VirtualCluster::order_snapshot(int rank, const std::vector<Range>& ranges) {
  std::vector<std::byte> tail;
  for (const Range& range : ranges)
    wire::append(tail, range);
  const wire::JudgeSnapshot request{.rank = rank,
                                    .count = static_cast<std::uint32_t>(ranges.size())};
  CUCO_TRY(call(wire::JudgeSnapshot::kType, wire::bytes_of(request), tail));
  return {};
}

Result<std::string> VirtualCluster::profile() {
  const wire::JudgeProfile request;
  CUCO_TRY_ASSIGN(const wire::Frame frame,
                  call(wire::JudgeProfile::kType, wire::bytes_of(request), {}));
  return std::string(wire::text_of(frame.payload));
}

Result<void> VirtualCluster::forget_profile() {
  const wire::JudgeProfile request{.forget = 1};
  CUCO_TRY(call(wire::JudgeProfile::kType, wire::bytes_of(request), {}));
  return {};
}

Result<void> VirtualCluster::write(std::uint64_t address, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kChunk);
    const wire::JudgeWrite request{.address = address};
    CUCO_TRY(call(wire::JudgeWrite::kType, wire::bytes_of(request), wire::bytes_of_text(part)));
    address += part.size();
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<std::string> VirtualCluster::read_all(wire::JudgeRead request, std::size_t bytes) {
  std::string result;
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

Result<std::string> VirtualCluster::read(std::uint64_t address, std::size_t bytes) {
  return read_all({.address = address}, bytes);
}

Result<std::string> VirtualCluster::read_snapshot(int rank, std::size_t index, std::size_t bytes) {
  return read_all({.rank = rank, .index = static_cast<std::uint32_t>(index)}, bytes);
}

}  // namespace cuco::targets
