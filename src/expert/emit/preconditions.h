// SPDX-License-Identifier: Apache-2.0
/// \file
/// What must hold where a request's code is put, as data: an expert can check it and say why a move
/// does not apply.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expert/emit/request.h"

namespace cuco::expert::emit {

struct SharedBuffer;

/// What the program or the machine owes to the emitted code.
enum class Need {
  SameCalls,    ///< All ranks make the site's calls in the same order, with the same counts.
  OneInFlight,  ///< A call of the site has ended, in stream order, before the next one begins.
  NoWaiting,    ///< A host thread launches for all its ranks before it waits for one of them.
  Resident,     ///< `amount` blocks of `Request::threads` fit on the GPU beside what else runs.
  Ranks,        ///< At most `amount` ranks.
  Memory,       ///< `amount` bytes of symmetric memory for each rank of the communicator.
  OneNode,      ///< All ranks reach each other by load and store.
  EqualNodes,   ///< Nodes have the same number of ranks, which are consecutive.
  Network,      ///< A network card that GPUs can drive (GIN).
  Multicast,    ///< A switch with multicast and reductions (NVLS).
  Symmetric,    ///< `subject` is allocated by all ranks with the same size and used at one offset.
  AlikeGroups,  ///< What two ranks send each other is grouped alike on both.
  Tiled,        ///< Kernel `subject`'s grid is what its tiles need, and each block writes its tile.
  ReachesEnd,   ///< All threads of kernel `subject` reach its end, where a statement is added.
  OneLaunch,    ///< Each step launches kernel `subject` once for each use of the result.
  OneReader,    ///< Between two launches of the producer only kernel `subject` reads the result.
};

struct FusedGather;

struct Precondition {
  Need need;
  std::string subject;       ///< An expression, where the need is about one.
  std::uint64_t amount = 0;  ///< Where the need has a number.
};

/// "all ranks reach each other by load and store".
[[nodiscard]] std::string to_text(const Precondition& precondition);

/// The needs of the code for `request`, whose shared buffers are `buffers`.
[[nodiscard]] std::vector<Precondition> preconditions_of(const Request& request,
                                                         const std::vector<SharedBuffer>& buffers);

[[nodiscard]] std::vector<Precondition> preconditions_of(const FusedGather& request);

}  // namespace cuco::expert::emit
