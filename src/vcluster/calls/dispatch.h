// SPDX-License-Identifier: Apache-2.0
/// \file
/// From message numbers to the functions that serve them.
///
/// A subject (memory, streams, NCCL…) registers its handlers once at start:
///
///     void register_event_calls(Cluster& cluster, Dispatcher& dispatcher) {
///       dispatcher.on<wire::EventQuery>(
///           [&](Session& session, const wire::EventQuery& request, wire::Bytes) { … });
///     }
///
/// A handler replies, parks the session and replies later, or refuses. Payloads shorter than their
/// struct never reach it.
#pragma once

#include <cstdint>
#include <functional>
#include <typeinfo>
#include <unordered_map>
#include <utility>

#include "shims/wire/view.h"
#include "vcluster/host/session.h"
#include "vgpu/timing/time.h"

namespace cuco::vcluster {

/// When a request may be served.
enum class Turn : std::uint8_t {
  InTime,  ///< When the simulation has reached the thread's clock: whatever others can observe.
  Poll,    ///< In time as well, and asked again and again until the answer is another.
  AtOnce,  ///< On arrival: reads of constants and announcements.
  OneWay,  ///< On arrival, and nobody waits for a reply.
};

/// Time a host thread spends in a call that does little. Measured order of magnitude on current
/// servers; the same everywhere, so that runs repeat.
inline constexpr VTime kCallCost = 400 * vgpu::kNanosecond;

class Dispatcher {
 public:
  template <typename Request>
  void on(std::function<void(Session&, const Request&, wire::Bytes)> handler,
          Turn turn = Turn::InTime,
          VTime cost = kCallCost) {
    entries_[Request::kType] = {
        [handler = std::move(handler)](Session& session) {
          const wire::Bytes payload = session.request().payload;
          const auto request = wire::read_front<Request>(payload);
          if (!request) {
            session.refuse("message " + std::to_string(Request::kType) +
                           " is too short: " + std::to_string(payload.size()) + " bytes");
            return;
          }
          handler(session, *request, payload.subspan(wire::kWireSize<Request>));
        },
        turn, cost, typeid(Request).name()};
  }

  /// Null: no such message.
  struct Entry {
    std::function<void(Session&)> serve;
    Turn turn = Turn::InTime;
    VTime cost = 0;
    const char* name = "";  ///< Of the message's type, as the compiler has it.
    [[nodiscard]] bool in_time() const { return turn == Turn::InTime || turn == Turn::Poll; }
  };
  [[nodiscard]] const Entry* find(std::uint16_t type) const {
    const auto found = entries_.find(type);
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::uint16_t, Entry> entries_;
};

}  // namespace cuco::vcluster
