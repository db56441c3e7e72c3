// SPDX-License-Identifier: Apache-2.0
#include "vcluster/message_board.h"

#include <memory>

#include "vcluster/cluster.h"
#include "wire/messages_matching.h"
#include "wire/status.h"

namespace cuco::vcluster {

void MessageBoard::post(std::uint64_t key, VTime when) {
  const auto waiter = waiters_.find(key);
  if (waiter == waiters_.end()) {
    posted_[key] = when;
    return;
  }
  Session* session = cluster_.find_session(waiter->second);
  waiters_.erase(waiter);
  if (session == nullptr) return;
  session->move_clock_to(when);
  session->reply(wire::kSuccess);
}

void MessageBoard::wait(Session& session, std::uint64_t key) {
  const auto found = posted_.find(key);
  if (found == posted_.end()) {
    waiters_[key] = session.number();
    return session.park("a message of another process");
  }
  session.move_clock_to(found->second);
  posted_.erase(found);
  session.reply(wire::kSuccess);
}

bool MessageBoard::test(std::uint64_t key, VTime now) {
  const auto found = posted_.find(key);
  if (found == posted_.end() || found->second > now) return false;
  posted_.erase(found);
  return true;
}

void register_message_calls(Cluster& cluster) {
  // Shared by its three handlers, which live as long as the cluster.
  const auto board = std::make_shared<MessageBoard>(cluster);
  cluster.dispatcher.on<wire::MessagePost>(
      [board](Session& session, const wire::MessagePost& request, wire::Bytes) {
        board->post(request.key, session.clock());
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
        const bool taken = board->test(request.key, session.clock());
        session.reply_with(wire::kSuccess, wire::MessageTest::Reply{.taken = taken ? 1U : 0U});
      });
}

}  // namespace cuco::vcluster
