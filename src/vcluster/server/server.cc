// SPDX-License-Identifier: Apache-2.0
#include "vcluster/server/server.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "shims/wire/messages_mail.h"
#include "shims/wire/messages_managed.h"
#include "system/os/files.h"
#include "system/os/other_process.h"
#include "system/os/socket.h"
#include "vcluster/host/expected_processes.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/watchers.h"

namespace cuco::vcluster {
namespace {

/// How often a silent thread is sampled, and how many samples in a row must find it asleep.
constexpr int kSampleMs = 10;
constexpr std::uint32_t kAsleepSamples = 10;
/// The same where the host library is loaded: it reports every wait, so that a thread that sleeps
/// without a report only waits for the machine.
constexpr std::uint32_t kAsleepSamplesIfReporting = 500;
/// Silent samples after which a busy thread with pinned memory is taken to poll it.
constexpr std::uint32_t kPollingSamples = 30;
/// With threads blocked outside the server's sight, how long nothing may happen before it is called
/// a deadlock.
constexpr int kOutsideGraceMs = 5000;
/// The same while a script of the user's lives, which may sleep before it starts the next rank.
constexpr int kStartGraceMs = 10'000;
/// How often that is checked.
constexpr int kHelpSampleMs = 100;
/// GPU steps between two polls of the sockets: a killed process must end its kernels.
constexpr int kStepsPerPoll = 512;

/// Only the host library sends these, but for the lock that our runtime loads code under.
bool is_of_host_library(const wire::Frame& frame) {
  const std::uint16_t type = frame.header.type;
  if (type >= wire::MailSend::kType && type <= wire::MailCancel::kType) return true;
  if (type < wire::ReadClock::kType || type > wire::Rendezvous::kType) return false;
  const bool semaphore = type == wire::SemaphorePost::kType || type == wire::SemaphoreWait::kType;
  return !semaphore || wire::read_front<std::uint64_t>(frame.payload) != wire::kLoadingLock;
}

}  // namespace

Server::Server(std::unique_ptr<Cluster> cluster,
               system::Fd listener,
               system::Fd parent,
               system::Poller poller)
    : cluster_(std::move(cluster)),
      listener_(std::move(listener)),
      parent_(std::move(parent)),
      poller_(std::move(poller)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(std::unique_ptr<Cluster> cluster,
                                               system::Fd listener,
                                               system::Fd parent) {
  // Whoever made the socket may not have thought of it, and accepting must never block.
  CUCO_TRY(system::set_nonblocking(listener));
  CUCO_TRY_ASSIGN(system::Poller poller, system::Poller::create());
  CUCO_TRY(poller.add(listener.get()));
  if (parent.is_open()) CUCO_TRY(poller.add(parent.get()));
  return std::unique_ptr<Server>(
      new Server(std::move(cluster), std::move(listener), std::move(parent), std::move(poller)));
}

Result<void> Server::seat_judge(wire::Fd control) {
  CUCO_TRY(poller_.add(control.get()));
  judge_ = std::make_unique<JudgeSeat>(cluster_->judge_parts(), std::move(control));
  return {};
}

Result<void> Server::write_report() const {
  return cluster_->watchers().write_report();
}

Result<Ending> Server::run() {
  int idle_ms = 0;
  Help help = Help::None;
  for (;;) {
    if (parent_gone_) return Ending::Finished;
    if (judge_) judge_->update();
    if (cluster_->must_wait()) {
      // Threads that run may send requests first; they are sampled only when silent.
      CUCO_TRY_ASSIGN(const bool heard, poll(kSampleMs));
      silent_ms_ = heard ? 0 : silent_ms_ + kSampleMs;
      // A judged rank that sleeps is waited for: blocked outside, it would meet its peers for free.
      if (!heard && !judge_) sample_threads();
      if (silent_ms_ >= patience_ms_ && silent_ms_ - kSampleMs < patience_ms_) {
        print_awaited_threads();
      }
      continue;
    }
    bool moved = false;
    for (int step = 0; step < kStepsPerPoll && !cluster_->must_wait(); ++step) {
      if (!cluster_->advance()) break;
      moved = true;
      drop_refused();
    }
    if (moved) {
      idle_ms = 0;
      // A thread that runs will be waited for above; otherwise only see who has gone.
      if (!cluster_->must_wait()) CUCO_TRY(poll(0));
      continue;
    }
    if (cluster_->is_out_of_time()) {
      if (!judge_) {
        fmt::print(stderr,
                   "cuco: the program's virtual time has passed a day: it is not waited for\n");
        return Ending::Deadlock;
      }
      judge_->report_out_of_time();
      CUCO_TRY(poll(kSampleMs));
      continue;
    }
    const bool waits = somebody_waits();
    if (waits && idle_ms % kHelpSampleMs == 0) help = help_that_may_come();
    const int grace = help == Help::None      ? 0
                      : help == Help::Outside ? kOutsideGraceMs
                                              : kStartGraceMs;
    if (waits && help != Help::Coming && idle_ms >= grace) {
      if (cluster_->check() != nullptr) cluster_->check()->on_deadlock(cluster_->waits());
      if (judge_) {
        judge_->report_deadlock(cluster_->waits());
        CUCO_TRY(poll(kSampleMs));
        continue;
      }
      report_deadlock();
      return Ending::Deadlock;
    }
    CUCO_TRY(poll(kSampleMs));
    idle_ms = somebody_waits() && help != Help::Coming ? idle_ms + kSampleMs : 0;
  }
}

Result<void> Server::write_findings(const std::string& file) const {
  if (cluster_->check() == nullptr) return {};
  cluster_->check()->finish();
  return system::write_file(file, cluster_->check()->json());
}

Result<bool> Server::poll(int timeout_ms) {
  CUCO_TRY_ASSIGN(const std::vector<int> ready,
                  poller_.wait(std::chrono::milliseconds(timeout_ms)));
  for (const int fd : ready) {
    if (fd == listener_.get()) {
      accept_peers();
    } else if (fd == parent_.get()) {
      parent_gone_ = true;
    } else if (judge_ && fd == judge_->fd()) {
      parent_gone_ = !judge_->read();
    } else {
      read_peer(fd);
    }
  }
  drop_refused();
  return !ready.empty();
}

void Server::accept_peers() {
  while (auto socket = system::accept_waiting(listener_)) {
    const int fd = socket->get();
    if (!poller_.add(fd)) continue;
    auto peer = std::make_unique<Peer>();
    peer->session = &cluster_->add_session(
        [fd](const wire::Header& header, wire::Bytes head, wire::Bytes tail, int passed) {
          // A peer that is gone shows as a closed socket when it is read next.
          (void)wire::send_frame(fd, header, head, tail, passed);
        },
        system::peer_pid(*socket));
    peer->socket = *std::move(socket);
    peers_[fd] = std::move(peer);
  }
}

void Server::read_peer(int fd) {
  const auto found = peers_.find(fd);
  if (found == peers_.end()) return;
  Peer& peer = *found->second;
  peer.asleep_samples = 0;
  peer.silent_samples = 0;
  for (;;) {
    switch (peer.reader.read_some(fd)) {
      case wire::FrameReader::State::Waiting:
        return;
      case wire::FrameReader::State::Complete: {
        wire::Frame frame = peer.reader.take();
        if (is_of_host_library(frame)) reporting_.insert(peer.session->pid);
        cluster_->deliver(*peer.session, std::move(frame));
      }
        if (!peer.session->refused_because().empty()) return;
        break;
      case wire::FrameReader::State::Malformed:
        peer.session->refuse(peer.reader.reason());
        return;
      case wire::FrameReader::State::Closed:
        drop_peer(fd);
        return;
    }
  }
}

void Server::drop_peer(int fd) {
  const auto found = peers_.find(fd);
  cluster_->remove_session(*found->second->session);
  poller_.remove(fd);
  peers_.erase(found);
}

void Server::drop_refused() {
  std::vector<int> refused;
  for (const auto& [fd, peer] : peers_) {
    if (!peer->session->refused_because().empty()) refused.push_back(fd);
  }
  for (const int fd : refused) {
    fmt::print(stderr, "cuco-vcluster: refused a connection of pid {}: {}\n",
               peers_[fd]->session->pid, printable(peers_[fd]->session->refused_because()));
    if (judge_) {
      cluster_->processes().add_lost("refused by the virtual cluster: " +
                                     peers_[fd]->session->refused_because());
    }
    drop_peer(fd);
  }
}

void Server::sample_threads() {
  const auto sees_host_memory = [&](const Process& process) {
    return std::ranges::any_of(cluster_->allocations().all(), [&](const auto& entry) {
      return entry.second.process == process.index && entry.second.kind != wire::MemoryKind::Device;
    });
  };
  for (const auto& [fd, peer] : peers_) {
    Session& session = *peer->session;
    if (session.state() != Session::State::Running || session.process == nullptr) continue;
    peer->asleep_samples =
        system::state_of_thread(session.pid, session.tid) == 'S' ? peer->asleep_samples + 1 : 0;
    ++peer->silent_samples;
    ThreadWait wait;
    const bool asleep =
        peer->asleep_samples >= kAsleepSamplesIfReporting ||
        (peer->asleep_samples == kAsleepSamples && !reporting_.contains(session.pid));
    if (asleep) {
      wait = HostThreadWait{};
    } else if (peer->silent_samples >= kPollingSamples && sees_host_memory(*session.process)) {
      wait = PinnedMemoryWait{};
    }
    if (std::holds_alternative<std::monostate>(wait)) continue;
    session.go_outside(std::move(wait));
    cluster_->repeat_notice().give(session);
  }
}

void Server::print_awaited_threads() const {
  fmt::print(stderr, "cuco: note: nothing has happened for {} s; the virtual cluster waits for\n",
             patience_ms_ / 1000.0);
  for (const auto& [number, session] : cluster_->sessions().all()) {
    if (session->state() != Session::State::Running || session->process == nullptr) continue;
    fmt::print(stderr,
               "  {} thread {} (tid {}), which computes or is blocked outside CUDA, NCCL and "
               "MPI\n",
               session->process->name(), session->thread, session->tid);
  }
  std::fflush(stderr);
}

Server::Help Server::help_that_may_come() const {
  std::set<std::uint32_t> known;
  for (const auto& [number, session] : cluster_->sessions().all()) {
    if (session->state() == Session::State::Outside) return Help::Outside;
    known.insert(session->pid);
  }
  // Whoever is started by mpirun has come before anything moves.
  if (judge_ || cluster_->options().expected_processes > 1) return Help::None;
  switch (find_expected_processes(listener_, known)) {
    case ExpectedProcesses::None:
      return Help::None;
    case ExpectedProcesses::Waiting:
      return Help::Starting;
    case ExpectedProcesses::Coming:
      break;
  }
  return Help::Coming;
}

bool Server::somebody_waits() const {
  return std::ranges::any_of(cluster_->sessions().all(), [](const auto& entry) {
    const auto state = entry.second->state();
    return state == Session::State::Parked || state == Session::State::Pending;
  });
}

void Server::report_deadlock() const {
  fmt::print(stderr, "cuco: deadlock: nothing can go on. Who waits for what:\n");
  for (const ClusterWait& wait : cluster_->waits())
    fmt::print(stderr, "  {}\n", printable(describe(wait)));
  std::fflush(stderr);
}

}  // namespace cuco::vcluster
