// SPDX-License-Identifier: Apache-2.0
#include "vcluster/message_board.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "vcluster/cluster.h"
#include "wire/messages_matching.h"
#include "wire/status.h"

namespace cuco::vcluster {

void MessageBoard::post(std::uint64_t key, const Session& by) {
  const auto waiter = waiters_.find(key);
  if (waiter == waiters_.end()) {
    posted_[key] = {by.clock(), by.known};
    for (const auto& [number, keys] : any_waiters_) {
      if (std::ranges::find(keys, key) == keys.end()) continue;
      // Announcements come as they come; only when time has got there is none earlier missing.
      cluster_.timeline.at(std::max(by.clock(), cluster_.timeline.now()),
                           [this, session = number] { resolve(session); });
    }
    return;
  }
  Session* session = cluster_.find_session(waiter->second);
  waiters_.erase(waiter);
  if (session == nullptr) return;
  session->move_clock_to(by.clock());
  session->learn(by.known);
  session->reply(wire::kSuccess);
}

void MessageBoard::wait(Session& session, std::uint64_t key) {
  const auto found = posted_.find(key);
  if (found == posted_.end()) {
    waiters_[key] = session.number();
    return session.park("a message of another process");
  }
  session.move_clock_to(found->second.when);
  session.learn(found->second.known);
  posted_.erase(found);
  session.reply(wire::kSuccess);
}

bool MessageBoard::test(std::uint64_t key, Session& session) {
  const auto found = posted_.find(key);
  if (found == posted_.end() || found->second.when > session.clock()) return false;
  session.learn(found->second.known);
  posted_.erase(found);
  return true;
}

void MessageBoard::wait_any(Session& session, std::vector<std::uint64_t> keys) {
  const std::uint32_t number = session.number();
  session.park("one of several messages of other processes");
  VTime first = session.clock();
  bool found = false;
  for (const std::uint64_t key : keys) {
    const auto posted = posted_.find(key);
    if (posted == posted_.end()) continue;
    first = found ? std::min(first, posted->second.when) : posted->second.when;
    found = true;
  }
  any_waiters_[number] = std::move(keys);
  if (!found) return;
  cluster_.timeline.at(std::max({first, session.clock(), cluster_.timeline.now()}),
                       [this, number] { resolve(number); });
}

void MessageBoard::resolve(std::uint32_t number) {
  const auto waiter = any_waiters_.find(number);
  if (waiter == any_waiters_.end()) return;
  Session* session = cluster_.find_session(number);
  if (session == nullptr) {
    any_waiters_.erase(waiter);
    return;
  }
  const VTime now = cluster_.timeline.now();
  std::optional<std::size_t> best;
  VTime when = 0;
  for (std::size_t i = 0; i < waiter->second.size(); ++i) {
    const auto posted = posted_.find(waiter->second[i]);
    if (posted == posted_.end() || posted->second.when > now) continue;
    if (best && posted->second.when >= when) continue;
    best = i;
    when = posted->second.when;
  }
  if (!best) return;
  const check::ClockPtr known = posted_[waiter->second[*best]].known;
  posted_.erase(waiter->second[*best]);
  any_waiters_.erase(waiter);
  session->learn(known);
  session->reply_with(wire::kSuccess,
                      wire::MessageWaitAny::Reply{.index = static_cast<std::uint32_t>(*best)});
}

void register_message_calls(Cluster& cluster) {
  // Shared by its handlers, which live as long as the cluster.
  const auto board = std::make_shared<MessageBoard>(cluster);
  cluster.dispatcher.on<wire::MessagePost>(
      [board](Session& session, const wire::MessagePost& request, wire::Bytes) {
        board->post(request.key, session);
        session.reply(wire::kSuccess);
      },
      Turn::AtOnce);
  cluster.dispatcher.on<wire::MessageWait>(
      [board](Session& session, const wire::MessageWait& request, wire::Bytes) {
        board->wait(session, request.key);
      },
      Turn::AtOnce);
  // A test may fail, so that it has to see everything announced before its own time: in turn.
  cluster.dispatcher.on<wire::MessageTest>(
      [board](Session& session, const wire::MessageTest& request, wire::Bytes) {
        const bool taken = board->test(request.key, session);
        session.reply_with(wire::kSuccess, wire::MessageTest::Reply{.taken = taken ? 1U : 0U});
      });
  cluster.dispatcher.on<wire::MessageWaitAny>(
      [board](Session& session, const wire::MessageWaitAny& request, wire::Bytes tail) {
        auto keys = wire::read_array<std::uint64_t>(tail, request.count);
        if (!keys || keys->empty()) return session.refuse("a wait for no message");
        board->wait_any(session, *std::move(keys));
      });
}

}  // namespace cuco::vcluster
