// SPDX-License-Identifier: Apache-2.0
/// \file
/// What processes with ranks and the network's process say to each other: calls of a rank, each
/// with an answer, on one socket; what the network tells or asks, each with an answer, on another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loopback/nccl/assembly.h"
#include "loopback/wire.h"

namespace cuco::loopback {

/// The first message on a socket: which of the two it is, the process's number, its pid.
enum class Socket : std::uint8_t { Calls, Told };

enum class Ask : std::uint8_t {
  Ready,   ///< Answered when all is mapped that there is.
  Join,    ///< A number that the asker chooses, a request.
  IsOver,  ///< That number.
  // Each with a communicator and a rank first:
  Log,  ///< A call.
  WhyBroken,
  BreakUp,  ///< Why.
  Leave,
  ReleaseWindow,   ///< Its description.
  ReleaseDevComm,  ///< Its resource window.
  // Without:
  Allocate,  ///< Bytes, rank, whether it can be a window.
  Free,      ///< An address.
  Bye,       ///< The process ends as it should.
  GiveUp,    ///< The process ends, and says why; no answer.
};

enum class Tell : std::uint8_t {
  Map,       ///< Address, bytes, handle; brings the handle's descriptor.
  Unmap,     ///< Address, bytes.
  Destroy,   ///< Handle.
  MapHost,   ///< Address, bytes; brings the descriptor.
  Progress,  ///< Answer: a count.
  Waits,     ///< Answer: a line for each.
  End,       ///< Status. The process ends.
};

inline void put(Writer& out, const SetUpRequest& request) {
  const DevCommRequest& d = request.dev_comm;
  out.put(request.call).put(request.number).put(request.rank).put(request.ranks);
  out.put(request.device).put(request.color).put(request.key).put(request.window);
  out.put(d.lsa_barriers).put(d.rail_gin_barriers).put(d.gin_signals).put(d.gin_counters);
  out.put(d.wants_multimem).put(d.gin_force).put(d.needs);
}

inline void get(Reader& in, SetUpRequest* request) {
  DevCommRequest& d = request->dev_comm;
  in.get(&request->call).get(&request->number).get(&request->rank).get(&request->ranks);
  in.get(&request->device).get(&request->color).get(&request->key).get(&request->window);
  in.get(&d.lsa_barriers).get(&d.rail_gin_barriers).get(&d.gin_signals).get(&d.gin_counters);
  in.get(&d.wants_multimem).get(&d.gin_force).get(&d.needs);
}

inline void put(Writer& out, const SetUpAnswer& answer) {
  const Membership& place = answer.place;
  out.put(place.number).put(place.rank).put(place.ranks).put(place.lsa_size).put(place.devices);
  out.put(place.view).put(answer.description).put(answer.dev_comm.comm).put(answer.dev_comm.grants);
}

inline void get(Reader& in, SetUpAnswer* answer) {
  Membership& place = answer->place;
  in.get(&place.number).get(&place.rank).get(&place.ranks).get(&place.lsa_size).get(&place.devices);
  in.get(&place.view).get(&answer->description);
  in.get(&answer->dev_comm.comm).get(&answer->dev_comm.grants);
}

}  // namespace cuco::loopback
