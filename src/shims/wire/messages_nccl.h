// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about NCCL.
///
/// Everything that ncclGroupStart and ncclGroupEnd may bracket travels as one NcclSubmit: `count`
/// items, each an NcclItem header and its payload (one of the structs below, then a tail). A call
/// outside of a group is a group of one. The reply comes when every item is answered: collective
/// set-up waits for the other ranks, a collective is answered once it is in its stream. The reply's
/// tail has, for every item in order, an NcclAnswer header, its payload and its text.
#pragma once

#include <cstdint>

#include "shims/wire/messages_stream.h"
#include "shims/wire/protocol.h"

namespace cuco::wire {

enum class NcclItemKind : std::uint32_t {
  Init = 1,
  Split,
  Shrink,
  WindowRegister,
  WindowDeregister,
  DevCommCreate,
  DevCommDestroy,
  Operation,
  Register,
  Finalize,
  Destroy,
  Abort,
  Revoke,
};

struct NcclItem {
  NcclItemKind kind = NcclItemKind::Init;
  std::uint32_t bytes = 0;  ///< Of the payload that follows.
};

struct NcclAnswer {
  std::int32_t code = 0;  ///< ncclResult_t
  std::uint32_t bytes = 0;
  std::uint32_t text_bytes = 0;  ///< After the payload: what ncclGetLastError says.
  std::uint32_t reserved = 0;
};

struct NcclSubmit {
  static constexpr std::uint16_t kType = kNcclSubject + 1;
  struct Reply {
    std::int64_t predicted_ps = 0;  ///< When simulated.
    std::uint32_t pending = 0;      ///< 1: the answers come later, see NcclPoll.
    std::uint32_t reserved = 0;
  };
  std::uint32_t count = 0;
  std::uint32_t simulate =
      0;  ///< 1: nothing is done, only the time of the operations is predicted.
  /// Not 0: do not wait for other ranks; the process asks for the answers under this number.
  std::uint64_t ticket = 0;
};

/// Asks for the answers of a submission that was pending. Reply tail: as of NcclSubmit, once.
struct NcclPoll {
  static constexpr std::uint16_t kType = kNcclSubject + 6;
  struct Reply {
    std::uint32_t pending = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t ticket = 0;
};

struct NcclUniqueId {
  static constexpr std::uint16_t kType = kNcclSubject + 2;
  struct Reply {
    std::uint64_t words[2] = {};
  };
};

/// Device memory that can be registered as a window.
struct NcclMemAlloc {
  static constexpr std::uint16_t kType = kNcclSubject + 3;
  struct Reply {
    std::uint64_t address = 0;
  };
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
};

struct NcclMemFree {
  static constexpr std::uint16_t kType = kNcclSubject + 4;
  using Reply = Nothing;
  std::uint64_t address = 0;
};

/// Reads a communicator's state without waiting. Reply tail: its last error's text.
struct NcclAsyncError {
  static constexpr std::uint16_t kType = kNcclSubject + 5;
  struct Reply {
    std::int32_t code = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t comm = 0;
};

// ---- payloads of items, and of their answers ----

/// Answer of Init, Split, Shrink: one rank's place in a communicator. comm 0: no communicator.
struct NcclCommInfo {
  std::uint64_t comm = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int32_t lsa_rank = 0;
  std::int32_t lsa_size = 0;
};

struct NcclInit {
  std::uint64_t id[2] = {};
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

struct NcclSplit {
  std::uint64_t comm = 0;
  std::int32_t color = 0;
  std::int32_t key = 0;
};

/// Tail: `excluded` int32 ranks.
struct NcclShrink {
  std::uint64_t comm = 0;
  std::uint32_t excluded = 0;
  std::uint32_t abort = 0;
};

struct NcclWindowRegister {
  std::uint64_t comm = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int32_t flags = 0;
  std::uint32_t reserved = 0;
};

/// Answer of WindowRegister: the address of the window's description in device memory. The same as
/// payload deregisters it.
struct NcclWindow {
  std::uint64_t comm = 0;
  std::uint64_t window = 0;
};

/// ncclDevCommRequirements without its pointers. Tail: `needs` x NcclNeed, `teams` x NcclTeam.
struct NcclDevCommCreate {
  std::uint64_t comm = 0;
  std::int32_t lsa_barriers = 0;
  std::int32_t rail_gin_barriers = 0;
  std::int32_t gin_signals = 0;
  std::int32_t gin_counters = 0;
  std::uint32_t lsa_multimem = 0;
  std::uint32_t gin_force = 0;
  std::uint32_t needs = 0;
  std::uint32_t teams = 0;
};

struct NcclNeed {
  std::uint64_t bytes = 0;
  std::uint64_t align = 0;
  std::uint32_t signals = 0;
  std::uint32_t counters = 0;
};

struct NcclTeam {
  std::int32_t ranks = 0;
  std::int32_t rank = 0;
  std::int32_t stride = 0;
  std::uint32_t multimem = 0;
};

/// Answer of DevCommCreate. Tail: `needs` x NcclGrant, `teams` x u64 multicast base.
struct NcclDevComm {
  std::uint8_t bytes[200] = {};  ///< struct ncclDevComm
};

struct NcclGrant {
  std::uint32_t handle = 0;
  std::uint32_t first_signal = 0;
  std::uint32_t first_counter = 0;
};

/// Named by its resource window.
struct NcclDevCommDestroy {
  std::uint64_t comm = 0;
  std::uint64_t resource_window = 0;
};

/// A collective, a send or a receive.
struct NcclOperation {
  std::uint64_t comm = 0;
  StreamRef stream;
  std::uint64_t count = 0;
  std::uint64_t send = 0;
  std::uint64_t recv = 0;
  std::uint8_t scalar[8] = {};       ///< Of a pre-multiplied sum, unless...
  std::uint64_t scalar_address = 0;  ///< ...it is in device memory.
  std::uint32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t op = 0;
  std::int32_t root = 0;
};

/// Payload of Register: is this device memory?
struct NcclRegister {
  std::uint64_t comm = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Payload of Finalize, Destroy, Abort, Revoke.
struct NcclComm {
  std::uint64_t comm = 0;
};

}  // namespace cuco::wire
