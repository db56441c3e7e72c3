// SPDX-License-Identifier: Apache-2.0
/// \file
/// A host thread as the simulation sees it: a logical process with a clock.
///
/// It is Running until it sends a request. The request is Pending until the simulation has reached
/// the thread's clock; then it is answered, or the thread is Parked until something happens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "check/race/happens_before.h"
#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_host.h"
#include "shims/wire/protocol.h"
#include "shims/wire/view.h"
#include "system/memory/shared_memory.h"
#include "vcluster/core/timeline.h"
#include "vcluster/host/thread_wait.h"

namespace cuco::vcluster {

class CallLog;
struct Process;
struct Work;

class Session {
 public:
  enum class State : std::uint8_t {
    Running,  ///< Computes; may send a request at any moment.
    Pending,  ///< Has sent a request whose turn has not come.
    Parked,   ///< Its request is being served.
    Idle,     ///< A service thread without work: nobody waits for it.
    Outside,  ///< Blocked in something the server cannot see.
    Closed,
  };
  /// Where replies go: the socket, or a test.
  using Sink = std::function<void(const wire::Header&, wire::Bytes head, wire::Bytes tail, int fd)>;

  Session(std::uint32_t number, const Timeline& timeline, Sink sink);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] VTime clock() const { return clock_; }
  void set_clock(VTime clock) { clock_ = clock; }
  void move_clock_to(VTime clock) { clock_ = clock > clock_ ? clock : clock_; }

  /// A request has come in; after a one-way message the thread goes on as it was.
  void accept(wire::Frame frame, bool one_way);
  [[nodiscard]] const wire::Frame& request() const { return request_; }
  [[nodiscard]] wire::Fd take_fd() { return std::move(request_.fd); }
  /// A call of that name is served from here on; for timelines.
  void enter(const char* call) {
    call_ = call;
    called_at_ = clock_;
  }
  /// Its turn has come: from here it costs `cost` of the thread's time.
  void begin(VTime cost);
  /// What it costs to ask again. Whoever has asked nothing else for long asks less often: a program
  /// that waits a second for its own time-out does not ask a million times.
  [[nodiscard]] VTime poll_cost(VTime cost);
  void stop_polling() { polls_since_.reset(); }

  /// Answers; the thread runs again, at the simulation's time or its own, whichever is later.
  void reply(std::int32_t status, wire::Bytes head = {}, wire::Bytes tail = {}, int fd = -1);
  template <typename Reply>
  void reply_with(std::int32_t status, const Reply& value, wire::Bytes tail = {}, int fd = -1) {
    reply(status, wire::bytes_of(value), tail, fd);
  }
  /// Answers a message that does not hold the thread up.
  void acknowledge();
  /// Leaves the request open.
  void park(ThreadWait wait);
  void become_idle();
  void go_outside(ThreadWait wait);
  void come_back(VTime woken_at);
  void close() { state_ = State::Closed; }
  /// A request that no honest library sends: the connection is to be closed. Says why.
  void refuse(std::string reason);

  [[nodiscard]] const ThreadWait& waits_for() const { return wait_; }
  [[nodiscard]] const std::string& refused_because() const { return refusal_; }

  // Facts from Hello.
  Process* process = nullptr;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  bool is_service = false;
  std::uint32_t thread = 0;  ///< Number within the process.
  std::uint64_t calls = 0;   ///< Served under an adversarial schedule.
  CallLog* log = nullptr;    ///< Null: nobody wants to know what it calls.

  /// Checked runs: what the thread knows to have happened.
  check::ClockPtr known;
  void learn(const check::ClockPtr& more) { known = check::Clock::join(known, more); }
  /// Its own accesses to memory, as a chain of works; 0: none yet.
  check::ChainId accesses = 0;
  std::uint64_t access_count = 0;
  /// It found these to be done.
  void learn(std::span<const std::shared_ptr<Work>> works);

  /// The bounce buffer as mapped here; empty: none yet.
  [[nodiscard]] std::span<std::byte> bounce() const { return bounce_.bytes(); }
  void set_bounce(system::Mapping bounce) { bounce_ = std::move(bounce); }

 private:
  void note_call();

  std::uint32_t number_;
  const Timeline& timeline_;
  Sink sink_;
  State state_ = State::Running;
  VTime clock_ = 0;
  std::optional<VTime> polls_since_;
  const char* call_ = "";
  VTime called_at_ = 0;
  wire::Frame request_;
  system::Mapping bounce_;
  ThreadWait wait_;
  std::string refusal_;
};

}  // namespace cuco::vcluster
