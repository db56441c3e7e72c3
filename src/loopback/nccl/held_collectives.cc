// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/held_collectives.h"

#include <algorithm>
#include <atomic>

namespace cuco::loopback {
namespace {

constexpr double kMostAhead = 4000;

volatile std::uint64_t* word_of(Address words, std::size_t rank) {
  return reinterpret_cast<volatile std::uint64_t*>(words) + rank;
}

}  // namespace

std::uint64_t HeldCollectives::poll(Clique& clique, Nanoseconds now) {
  std::uint64_t events = 0;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    Clique::Paced& paced = clique.paced[r];
    for (;;) {
      const auto* slot = reinterpret_cast<const volatile Event*>(clique.view.events) +
                         r * kEventRing + (paced.seen + 1) % kEventRing;
      if (slot->sequence != paced.seen + 1) break;
      std::atomic_thread_fence(std::memory_order_acquire);
      const Event event{slot->sequence, slot->number, slot->bytes, slot->kind, slot->peer};
      *word_of(clique.view.consumed, r) = ++paced.seen;
      ++events;
      const auto kind = static_cast<nccl_core::Kind>(event.kind);
      // What is received is counted where it was sent.
      const bool receives = kind == nccl_core::Kind::Recv;
      const auto sender = receives ? static_cast<std::size_t>(event.peer) : r;
      clique.collective_bytes[sender] += wire_bytes(
          receives ? nccl_core::Kind::Send : kind, clique.ranks(), event.peer == rank, event.bytes);
      if (is_pacing_) hold(clique, rank, event, now);
    }
    if (!is_pacing_) continue;
    if (!paced.due.empty()) release(clique, r, now);
    if (!paced.released.empty()) settle(clique, r, now);
  }
  return events;
}

void HeldCollectives::hold(Clique& clique, int rank, const Event& event, Nanoseconds now) {
  const auto kind = static_cast<nccl_core::Kind>(event.kind);
  Clique::Paced& paced = clique.paced[static_cast<std::size_t>(rank)];
  if (kind == nccl_core::Kind::Recv) {
    const Nanoseconds when =
        pacer_ ? pacer_->message(clique.devices[static_cast<std::size_t>(event.peer)],
                                 clique.devices[static_cast<std::size_t>(rank)], event.bytes, now)
               : now;
    paced.due.push_back({event.sequence, now, when + delay_, true, 0});
    return;
  }
  paced.due.push_back({event.sequence, now, 0, false, event.number});
  Clique::Round& round = clique.rounds[event.number];
  if (++round.joined < clique.ranks()) return;
  clique.rounds.erase(event.number);
  const Nanoseconds when =
      (pacer_ ? pacer_->collective(kind, clique.devices, event.peer, event.bytes, now) : now) +
      delay_;
  for (Clique::Paced& other : clique.paced) {
    for (Clique::Paced::Due& due : other.due) {
      if (due.is_known || due.number != event.number) continue;
      due.is_known = true;
      due.when = when;
    }
  }
}

void HeldCollectives::release(Clique& clique, std::size_t rank, Nanoseconds now) {
  Clique::Paced& paced = clique.paced[rank];
  const auto ahead = static_cast<Nanoseconds>(ahead_);
  while (!paced.due.empty() && paced.due.front().is_known &&
         now >= paced.due.front().when - ahead) {
    *word_of(clique.view.released, rank) = paced.due.front().sequence;
    paced.released.push_back(paced.due.front());
    paced.due.erase(paced.due.begin());
  }
}

// A group's receives end together: the last of them counts.
void HeldCollectives::settle(Clique& clique, std::size_t rank, Nanoseconds now) {
  Clique::Paced& paced = clique.paced[rank];
  const std::uint64_t finished = *word_of(clique.view.finished, rank);
  const auto end = std::find_if(paced.released.begin(), paced.released.end(),
                                [&](const auto& due) { return due.sequence > finished; });
  if (end == paced.released.begin()) return;
  const auto last = std::max_element(paced.released.begin(), end,
                                     [](const auto& a, const auto& b) { return a.when < b.when; });
  const auto late = static_cast<double>(now - last->when);
  ahead_ = std::clamp(ahead_ + std::clamp(late, -kMostAhead, kMostAhead) / 16, 0.0, kMostAhead);
  errors_[static_cast<std::size_t>(clique.devices[rank])].add(last->when - last->joined,
                                                              now - last->joined);
  paced.released.erase(paced.released.begin(), end);
}

}  // namespace cuco::loopback
