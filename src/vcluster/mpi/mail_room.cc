// SPDX-License-Identifier: Apache-2.0
#include "vcluster/mpi/mail_room.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "shims/wire/status.h"
#include "vcluster/calls/dispatch.h"
#include "vcluster/host/client_process.h"

namespace cuco::vcluster {
namespace {

// MPI's order: a message goes to the oldest receive that matches it, a receive takes the oldest
// message that matches. Both queues of a box are kept in order of arrival, which is the order of
// virtual time, so that the same run matches the same way.

template <typename Pattern>
bool matches(const Pattern& pattern, std::int32_t source, std::int32_t tag) {
  return (pattern.source == wire::kAnyMail || pattern.source == source) &&
         (pattern.tag == wire::kAnyMail || pattern.tag == tag);
}

/// "rank 2, tag 7", "any rank, any tag"
std::string describe_pattern(std::int32_t source, std::int32_t tag) {
  return fmt::format("{}, {}",
                     source == wire::kAnyMail ? "any rank" : fmt::format("rank {}", source),
                     tag == wire::kAnyMail ? "any tag" : fmt::format("tag {}", tag));
}

}  // namespace

std::uint64_t MailRoom::add(Operation operation) {
  operations_.emplace(++last_number_, std::move(operation));
  return last_number_;
}

MailRoom::Operation* MailRoom::find(Session& session, std::uint64_t number) {
  const auto found = operations_.find(number);
  if (found != operations_.end() && found->second.process == session.process->index) {
    return &found->second;
  }
  session.refuse(fmt::format("there is no message operation {} of this process", number));
  return nullptr;
}

void MailRoom::send(Session& session, const wire::MailSend& request, wire::Bytes payload) {
  Letter letter;
  letter.source = request.source;
  letter.tag = request.tag;
  letter.bytes = request.bytes;
  letter.known = session.known;
  letter.file = session.take_fd();
  // Large messages come as a file, which is handed on to the receiver without a copy.
  if (!letter.file.is_open()) {
    if (payload.size() != request.bytes) return session.refuse("a message of another size");
    letter.payload.assign(payload.begin(), payload.end());
  }
  const BoxName name{request.comm, request.to};
  Box& box = boxes_[name];
  for (auto it = box.receives.begin(); it != box.receives.end(); ++it) {
    const Operation& pattern = operations_[*it];
    if (!matches(pattern, request.source, request.tag)) continue;
    const std::uint64_t receive = *it;
    box.receives.erase(it);
    tidy(name);
    deliver(receive, std::move(letter), nullptr);
    return session.reply_with(wire::kSuccess, wire::MailSend::Reply{});
  }
  wire::MailSend::Reply reply;
  if (request.waits_for_taker != 0) {
    Operation operation;
    operation.process = session.process->index;
    operation.what = fmt::format("MPI: world rank {} to receive {} bytes from rank {}, tag {}",
                                 request.to, request.bytes, request.source, request.tag);
    reply.number = add(std::move(operation));
    letter.send = reply.number;
  }
  box.letters.push_back(std::move(letter));
  session.reply_with(wire::kSuccess, reply);
  answer_probers(name);
}

void MailRoom::receive(Session& session, const wire::MailReceive& request) {
  Operation operation;
  operation.kind = Kind::Receive;
  operation.process = session.process->index;
  operation.source = request.source;
  operation.tag = request.tag;
  operation.what = "MPI: a message from " + describe_pattern(request.source, request.tag);
  const std::uint64_t number = add(std::move(operation));
  const BoxName name{request.comm, request.me};
  Box& box = boxes_[name];
  const auto letter = std::ranges::find_if(box.letters, [&](const Letter& candidate) {
    return matches(request, candidate.source, candidate.tag);
  });
  if (letter == box.letters.end()) {
    box.receives.push_back(number);
  } else {
    Letter taken = std::move(*letter);
    box.letters.erase(letter);
    tidy(name);
    deliver(number, std::move(taken), session.known);
  }
  session.reply_with(wire::kSuccess, wire::MailReceive::Reply{number});
}

// The receiver learns what the sender knew; a sender that waited learns what its receiver knew.
void MailRoom::deliver(std::uint64_t receive, Letter letter, const check::ClockPtr& taker) {
  const std::uint64_t send = letter.send;
  const check::ClockPtr known = letter.known;
  operations_[receive].letter = std::move(letter);
  complete(receive, known);
  if (send != 0) complete(send, taker);
}

void MailRoom::complete(std::uint64_t number, const check::ClockPtr& known) {
  const auto found = operations_.find(number);
  if (found == operations_.end()) return;  // Its process has given it up.
  Operation& operation = found->second;
  operation.is_done = true;
  operation.known = check::Clock::join(operation.known, known);
  // A request of several parts is done when its last part is.
  if (operation.join != 0) {
    const auto join = operations_.find(operation.join);
    if (join != operations_.end()) {
      join->second.known = check::Clock::join(join->second.known, operation.known);
      if (--join->second.missing == 0) complete(operation.join, nullptr);
    }
  }
  for (const auto& [session_number, numbers] : waiters_) {
    if (std::ranges::find(numbers, number) == numbers.end()) continue;
    const std::vector<std::uint64_t> awaited = numbers;
    Session* session = sessions_.find(session_number);
    waiters_.erase(session_number);
    if (session == nullptr) return;
    const auto index = report(*session, awaited);
    session->reply_with(wire::kSuccess, wire::MailWait::Reply{.index = index.value_or(0)});
    return;  // An operation has one who waits for it.
  }
}

std::optional<std::uint32_t> MailRoom::report(Session& session,
                                              const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto found = operations_.find(numbers[i]);
    if (found == operations_.end() || !found->second.is_done) continue;
    session.learn(found->second.known);
    if (found->second.kind != Kind::Receive) operations_.erase(found);
    return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

void MailRoom::join(Session& session, const std::vector<std::uint64_t>& numbers) {
  Operation operation;
  operation.kind = Kind::Join;
  operation.process = session.process->index;
  std::vector<std::uint64_t> open;
  for (const std::uint64_t number : numbers) {
    const Operation* part = find(session, number);
    if (part == nullptr) return;
    operation.known = check::Clock::join(operation.known, part->known);
    if (part->is_done) continue;
    if (operation.what.empty()) operation.what = part->what;
    open.push_back(number);
  }
  operation.missing = open.size();
  operation.is_done = open.empty();
  if (open.size() > 1) operation.what += fmt::format(" and {} more", open.size() - 1);
  const std::uint64_t joined = add(std::move(operation));
  for (const std::uint64_t number : open)
    operations_[number].join = joined;
  session.reply_with(wire::kSuccess, wire::MailJoin::Reply{joined});
}

void MailRoom::wait(Session& session, std::vector<std::uint64_t> numbers) {
  std::string what;
  for (const std::uint64_t number : numbers) {
    const Operation* operation = find(session, number);
    if (operation == nullptr) return;
    if (what.size() < 200) what += (what.empty() ? "" : ", or ") + operation->what;
  }
  if (const auto index = report(session, numbers)) {
    return session.reply_with(wire::kSuccess, wire::MailWait::Reply{.index = *index});
  }
  waiters_[session.number()] = std::move(numbers);
  session.park(CallWait{std::move(what)});
}

void MailRoom::test(Session& session, const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    if (find(session, number) == nullptr) return;
  }
  const auto index = report(session, numbers);
  session.reply_with(wire::kSuccess, wire::MailTest::Reply{
                                         .index = index ? static_cast<std::int32_t>(*index) : -1});
}

void MailRoom::fetch(Session& session, std::uint64_t number) {
  const Operation* operation = find(session, number);
  if (operation == nullptr) return;
  if (operation->kind != Kind::Receive || !operation->is_done) {
    return session.refuse("a message is fetched that has not come");
  }
  session.learn(operation->known);
  const Letter& letter = operation->letter;
  session.reply_with(wire::kSuccess,
                     wire::MailFetch::Reply{letter.bytes, letter.source, letter.tag},
                     letter.payload, letter.file.get());
  operations_.erase(number);
}

void MailRoom::probe(Session& session, const wire::MailProbe& request) {
  const BoxName name{request.comm, request.me};
  Box& box = boxes_[name];
  const auto letter = std::ranges::find_if(box.letters, [&](const Letter& candidate) {
    return matches(request, candidate.source, candidate.tag);
  });
  if (letter != box.letters.end()) {
    answer_probe(session, box, letter, request.takes != 0);
  } else if (request.waits != 0) {
    box.probers.push_back({session.number(), request});
    session.park(CallWait{"MPI: a message from " + describe_pattern(request.source, request.tag) +
                          " to look at"});
  } else {
    session.reply_with(wire::kSuccess, wire::MailProbe::Reply{});
  }
  tidy(name);
}

void MailRoom::answer_probe(Session& session,
                            Box& box,
                            std::list<Letter>::iterator letter,
                            bool takes) {
  wire::MailProbe::Reply reply;
  reply.bytes = letter->bytes;
  reply.source = letter->source;
  reply.tag = letter->tag;
  reply.found = 1;
  session.learn(letter->known);
  if (takes) {
    Operation operation;
    operation.kind = Kind::Receive;
    operation.process = session.process->index;
    reply.number = add(std::move(operation));
    Letter taken = std::move(*letter);
    box.letters.erase(letter);
    deliver(reply.number, std::move(taken), session.known);
  }
  session.reply_with(wire::kSuccess, reply);
}

void MailRoom::answer_probers(const BoxName& name) {
  Box& box = boxes_[name];
  for (auto it = box.probers.begin(); it != box.probers.end() && !box.letters.empty();) {
    const auto letter = std::prev(box.letters.end());
    if (!matches(it->request, letter->source, letter->tag)) {
      ++it;
      continue;
    }
    const Prober prober = *it;
    it = box.probers.erase(it);
    Session* session = sessions_.find(prober.session);
    if (session == nullptr) continue;
    const bool takes = prober.request.takes != 0;
    answer_probe(*session, box, letter, takes);
    if (takes) break;
  }
  tidy(name);
}

void MailRoom::cancel(Session& session, std::uint64_t number) {
  const Operation* operation = find(session, number);
  if (operation == nullptr) return;
  bool cancelled = false;
  if (!operation->is_done) {
    for (auto& [name, box] : boxes_) {
      cancelled = cancelled || box.receives.remove(number) != 0 ||
                  box.letters.remove_if([&](const Letter& l) { return l.send == number; }) != 0;
    }
    if (cancelled) operations_.erase(number);
  }
  session.reply_with(wire::kSuccess, wire::MailCancel::Reply{.cancelled = cancelled ? 1U : 0U});
}

void MailRoom::tidy(const BoxName& name) {
  const auto found = boxes_.find(name);
  if (found == boxes_.end()) return;
  const Box& box = found->second;
  if (box.letters.empty() && box.receives.empty() && box.probers.empty()) boxes_.erase(found);
}

void register_mail_calls(Dispatcher& dispatcher, const Sessions& sessions) {
  // Shared by its handlers, which live as long as the cluster.
  const auto room = std::make_shared<MailRoom>(sessions);
  dispatcher.on<wire::MailSend>([room](Session& session, const wire::MailSend& request,
                                       wire::Bytes tail) { room->send(session, request, tail); });
  dispatcher.on<wire::MailReceive>([room](Session& session, const wire::MailReceive& request,
                                          wire::Bytes) { room->receive(session, request); });
  const auto with_numbers = [](Session& session, std::uint32_t count, wire::Bytes tail, auto use) {
    auto numbers = wire::read_array<std::uint64_t>(tail, count);
    if (!numbers || numbers->empty()) return session.refuse("a wait for no message");
    use(*std::move(numbers));
  };
  dispatcher.on<wire::MailJoin>(
      [room, with_numbers](Session& session, const wire::MailJoin& request, wire::Bytes tail) {
        with_numbers(session, request.count, tail,
                     [&](std::vector<std::uint64_t> numbers) { room->join(session, numbers); });
      },
      Turn::InTime, 0);
  dispatcher.on<wire::MailWait>(
      [room, with_numbers](Session& session, const wire::MailWait& request, wire::Bytes tail) {
        with_numbers(session, request.count, tail, [&](std::vector<std::uint64_t> numbers) {
          room->wait(session, std::move(numbers));
        });
      });
  dispatcher.on<wire::MailTest>(
      [room, with_numbers](Session& session, const wire::MailTest& request, wire::Bytes tail) {
        with_numbers(session, request.count, tail,
                     [&](std::vector<std::uint64_t> numbers) { room->test(session, numbers); });
      },
      Turn::Poll);
  dispatcher.on<wire::MailFetch>([room](Session& session, const wire::MailFetch& request,
                                        wire::Bytes) { room->fetch(session, request.number); },
                                 Turn::InTime, 0);
  dispatcher.on<wire::MailProbe>([room](Session& session, const wire::MailProbe& request,
                                        wire::Bytes) { room->probe(session, request); },
                                 Turn::Poll);
  dispatcher.on<wire::MailCancel>([room](Session& session, const wire::MailCancel& request,
                                         wire::Bytes) { room->cancel(session, request.number); });
}

}  // namespace cuco::vcluster
