// SPDX-License-Identifier: Apache-2.0
/// \file
/// The header with a program's own collectives: functions of NCCL's signatures, and their kernels.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "design/directive.h"
#include "expert/edit.h"
#include "expert/standalone/nccl_names.h"

namespace cuco::expert {

inline constexpr std::string_view kCollectivesHeaderName = "cuco_collectives.cuh";

/// Who stores what a kernel makes into the memory of other ranks.
enum class ChunkIssuer {
  EachBlock,  ///< Every block its own tile.
  LastBlock,  ///< Who completes a chunk, the whole of it.
  OneOfSm,    ///< One block of an SM at a time, for all of its blocks.
};

/// How kernels send what they make, chunk by chunk: see chunks/.
struct ChunkKnobs {
  int kib = 16;   ///< Of a chunk, at least.
  int most = 16;  ///< So many chunks at most: they are larger where there is more to send.
  ChunkIssuer issuer = ChunkIssuer::OneOfSm;
  bool producer_waits = true;  ///< For what comes; else a kernel in the collective's place does.
};

/// How the collectives of a program are done.
struct OwnDesign {
  design::Backend backend = design::Backend::Lsa;
  std::optional<emit::Shots> shots;  ///< Of all-reduces; nothing: few bytes in one, more in two.
  int blocks = 32;                   ///< At most; small calls take fewer.
  int box_kib = 32;                  ///< What a block sends to a peer in one round.
  int share = 0;                     ///< Blocks for one in so many SMs at most; 0: for all.
  bool forwards = false;             ///< Kernels may send what they store: see forward/.
  std::optional<ChunkKnobs> chunks = std::nullopt;  ///< They do it in chunks.
};

/// What else changes in a program that gets its own collectives.
struct Additions {
  Edits edits;
  bool shares_outputs = false;         ///< Peers write the outputs of a workload.
  std::string header = {};             ///< Behind the collectives', which it calls by NCCL's names.
  std::set<std::size_t> renamed = {};  ///< NCCL's names that have a drop-in from there.
};

/// Who calls: a whole program may from several threads, and makes its communicators itself; a split
/// workload from one, and is given its communicator.
enum class Caller { WholeProgram, SplitWorkload };

/// It includes the device header. Fails where the design has no code for what is used.
[[nodiscard]] Result<std::string> collectives_header(const Uses& uses,
                                                     const OwnDesign& design,
                                                     Caller caller,
                                                     const Additions* additions = nullptr);

/// NCCL's names become those of the program's own functions.
[[nodiscard]] std::string with_own_names(std::string_view text);

}  // namespace cuco::expert
