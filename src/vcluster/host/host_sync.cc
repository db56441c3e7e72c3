// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/host_sync.h"

#include <algorithm>
#include <utility>

#include "shims/wire/messages_host.h"
#include "shims/wire/status.h"
#include "vcluster/host/client_process.h"

namespace cuco::vcluster {

void HostSync::sleep(Session& session, VTime duration) {
  session.park(CallWait{"the end of its sleep"});
  timeline_.at(vgpu::after(session.clock(), std::max<VTime>(duration, 0)),
               [this, number = session.number()] {
                 if (Session* sleeper = sessions_.find(number)) {
                   sleeper->reply(wire::kSuccess);
                 }
               });
}

void HostSync::post(const Name& name, std::uint32_t count, std::uint64_t last_ticket) {
  Semaphore& semaphore = semaphores_[name];
  semaphore.known = check::Clock::join(semaphore.known, works_.host.known);
  // First come, first served: real locks promise less, but a run has to repeat.
  std::vector<Session*> woken;
  std::erase_if(semaphore.waiters, [&](const Waiter& waiter) {
    if (woken.size() == count || waiter.ticket > last_ticket) return false;
    // If the thread is gone, its turn passes on.
    if (Session* session = sessions_.find(waiter.session)) woken.push_back(session);
    return true;
  });
  if (woken.size() < count) semaphore.counts[last_ticket] += count - woken.size();
  for (Session* session : woken) {
    session->learn(semaphore.known);
    session->reply_with(wire::kSuccess, wire::SemaphoreWait::Reply{.acquired = 1});
  }
  tidy(name);
}

void HostSync::wait(
    Session& session, const Name& name, std::uint64_t ticket, VTime timeout, wire::HostWait kind) {
  Semaphore& semaphore = semaphores_[name];
  // The post that fewest others could take.
  if (const auto post = semaphore.counts.lower_bound(ticket); post != semaphore.counts.end()) {
    if (--post->second == 0) semaphore.counts.erase(post);
    session.learn(semaphore.known);
    tidy(name);
    return session.reply_with(wire::kSuccess, wire::SemaphoreWait::Reply{.acquired = 1});
  }
  if (timeout == 0) {
    tidy(name);
    return session.reply_with(wire::kSuccess, wire::SemaphoreWait::Reply{});
  }
  const std::uint64_t turn = next_turn_++;
  semaphore.waiters.push_back({session.number(), ticket, turn});
  if (timeout > 0) {
    timeline_.at(vgpu::after(session.clock(), timeout),
                 [this, name, turn] { give_up(name, turn); });
  }
  session.park(HostThreadWait{kind});
}

void HostSync::give_up(const Name& name, std::uint64_t turn) {
  const auto found = semaphores_.find(name);
  if (found == semaphores_.end()) return;
  auto& waiters = found->second.waiters;
  const auto waiter = std::ranges::find(waiters, turn, &Waiter::turn);
  if (waiter == waiters.end()) return;
  const std::uint32_t number = waiter->session;
  waiters.erase(waiter);
  tidy(name);
  if (Session* session = sessions_.find(number)) {
    session->reply_with(wire::kSuccess, wire::SemaphoreWait::Reply{});
  }
}

void HostSync::tidy(const Name& name) {
  const auto found = semaphores_.find(name);
  if (found != semaphores_.end() && found->second.counts.empty() && found->second.waiters.empty()) {
    semaphores_.erase(found);
  }
}

void HostSync::meet(Session& session, const Name& name, std::uint32_t count, wire::HostWait kind) {
  auto& present = meetings_[name];
  present.push_back(session.number());
  session.park(HostThreadWait{kind});
  if (present.size() < count) return;
  // Replies let threads run, and they may come to the same meeting again.
  const auto everybody = std::exchange(present, {});
  meetings_.erase(name);
  // After a barrier everybody knows what anybody knew before it.
  check::ClockPtr known;
  for (const std::uint32_t number : everybody) {
    if (const Session* member = sessions_.find(number)) {
      known = check::Clock::join(known, member->known);
    }
  }
  for (const std::uint32_t number : everybody) {
    Session* member = sessions_.find(number);
    if (member == nullptr) continue;
    member->learn(known);
    member->reply(wire::kSuccess);
  }
}

}  // namespace cuco::vcluster
