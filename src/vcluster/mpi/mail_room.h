// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between rank processes: MPI's matching, played in virtual time.
///
/// A message is handed in with its payload and kept until a receive takes it. Both are served in
/// the order of virtual time, so who meets whom (also under MPI_ANY_SOURCE and MPI_ANY_TAG) does
/// not depend on how fast this machine runs which process: of two messages that a receive would
/// take the one sent first, of two receives that would take a message the one posted first.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shims/wire/frame_socket.h"
#include "shims/wire/messages_mail.h"
#include "vcluster/host/sessions.h"

namespace cuco::vcluster {

class Dispatcher;

class MailRoom {
 public:
  explicit MailRoom(const Sessions& sessions) : sessions_(sessions) {}

  void send(Session& session, const wire::MailSend& request, wire::Bytes payload);
  void receive(Session& session, const wire::MailReceive& request);
  void join(Session& session, const std::vector<std::uint64_t>& numbers);
  void wait(Session& session, std::vector<std::uint64_t> numbers);
  void test(Session& session, const std::vector<std::uint64_t>& numbers);
  void fetch(Session& session, std::uint64_t number);
  void probe(Session& session, const wire::MailProbe& request);
  void cancel(Session& session, std::uint64_t number);

 private:
  enum class Kind : std::uint8_t { Send, Receive, Join };
  /// A message on its way or arrived.
  struct Letter {
    std::int32_t source = 0;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0;
    std::vector<std::byte> payload;
    wire::Fd file;           ///< Instead of the payload.
    check::ClockPtr known;   ///< What the sender knew.
    std::uint64_t send = 0;  ///< The operation of a sender that waits for a taker.
  };
  struct Operation {
    Kind kind = Kind::Send;
    std::uint32_t process = 0;
    bool is_done = false;
    std::int32_t source = 0;  ///< A receive's pattern.
    std::int32_t tag = 0;
    Letter letter;          ///< What a receive got.
    check::ClockPtr known;  ///< What is learnt from its completion.
    std::uint64_t join = 0;
    std::uint64_t missing = 0;  ///< Of a join.
    std::string what;           ///< For reports.
  };
  struct Prober {
    std::uint32_t session = 0;
    wire::MailProbe request;
  };
  /// One process's box in one communicator.
  struct Box {
    std::list<Letter> letters;          ///< Nobody has asked for them yet.
    std::list<std::uint64_t> receives;  ///< Nothing has come for them yet.
    std::list<Prober> probers;
  };
  using BoxName = std::pair<std::uint64_t, std::uint32_t>;

  std::uint64_t add(Operation operation);
  /// The caller's operation; null and the connection refused if it is not.
  Operation* find(Session& session, std::uint64_t number);
  void deliver(std::uint64_t receive, Letter letter, const check::ClockPtr& taker);
  void complete(std::uint64_t number, const check::ClockPtr& known);
  /// The index of the first that is done. Reported sends and joins are forgotten.
  std::optional<std::uint32_t> report(Session& session, const std::vector<std::uint64_t>& numbers);
  void answer_probe(Session& session, Box& box, std::list<Letter>::iterator letter, bool takes);
  void answer_probers(const BoxName& name);
  void tidy(const BoxName& name);

  const Sessions& sessions_;
  std::map<BoxName, Box> boxes_;
  std::map<std::uint64_t, Operation> operations_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> waiters_;  ///< Session to numbers.
  std::uint64_t last_number_ = 0;
};

/// Registers the messages of messages_mail.h.
void register_mail_calls(Dispatcher& dispatcher, const Sessions& sessions);

}  // namespace cuco::vcluster
