// SPDX-License-Identifier: Apache-2.0
/// \file
/// The calls of CUDA, NCCL, MPI and the clocks that mean something to the analysis, and where in
/// their arguments it stands.
#pragma once

#include <array>
#include <string_view>

#include "analysis/walk/abstract_memory.h"

namespace cuco::analysis {

enum class OperationKind {
  Launch,
  Communicate,  ///< A collective, a send or a receive.
  Copy,
  Fill,
  Allocate,
  Release,
  Create,   ///< A stream, event, communicator, window or device communicator.
  Destroy,  ///< One of those.
  RecordEvent,
  WaitEvent,  ///< A stream waits for an event.
  Wait,       ///< The host waits.
  BeginGroup,
  EndGroup,
  Graph,  ///< Captures or replays.
  SelectDevice,
  Mpi,
  Clock,
};

/// Numbers of arguments; -1 where the call has no such argument.
struct KnownCall {
  std::string_view name;
  OperationKind kind = OperationKind::Mpi;
  int made = -1;  ///< Takes the address of what is made.
  ObjectKind makes = ObjectKind::Unknown;
  int size = -1;
  int read = -1;
  int written = -1;
  int stream = -1;
  int event = -1;
  int communicator = -1;
  int used = -1;  ///< What is released or destroyed.
  // Of communication only.
  int count = -1;
  int type = -1;
  int operation = -1;
  int peer = -1;  ///< Root, or the other side.
};

/// Nothing for a call that means nothing here.
[[nodiscard]] const KnownCall* known_call(std::string_view name);

}  // namespace cuco::analysis
