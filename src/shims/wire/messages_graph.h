// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about CUDA graphs.
///
/// A node's content is an operation: `operation` is the type of the message that would do the same
/// in a stream (Launch, Copy, Fill, HostFunction, EventRecord, StreamWaitEvent, AllocateAsync,
/// FreeAsync), 0 for an empty node, or GraphLaunch for a child graph; its payload follows in the
/// tail.
#pragma once

#include <cstdint>

#include "shims/wire/messages_stream.h"
#include "shims/wire/protocol.h"

namespace cuco::wire {

struct GraphCreate {
  static constexpr std::uint16_t kType = kGraphSubject + 1;
  struct Reply {
    std::uint64_t graph = 0;
  };
  std::uint64_t clone_of = 0;  ///< 0: an empty graph.
};

struct GraphDestroy {
  static constexpr std::uint16_t kType = kGraphSubject + 2;
  using Reply = Nothing;
  std::uint64_t graph = 0;
};

/// Tail: `dependencies` u64 nodes, then the operation's payload.
struct GraphAddNode {
  static constexpr std::uint16_t kType = kGraphSubject + 3;
  struct Reply {
    std::uint64_t node = 0;
    std::uint64_t address = 0;  ///< Allocation nodes: the memory.
  };
  std::uint64_t graph = 0;
  std::uint32_t dependencies = 0;
  std::uint32_t operation = 0;
  std::uint32_t begins_early = 0;  ///< A programmatic edge, which is a whole one here.
  std::uint32_t reserved = 0;
};

/// Changes a node's operation; in an executable graph if `exec` is not 0. Tail: the payload.
struct GraphSetNode {
  static constexpr std::uint16_t kType = kGraphSubject + 4;
  using Reply = Nothing;
  std::uint64_t exec = 0;
  std::uint64_t node = 0;
  std::uint32_t operation = 0;
  std::int32_t enabled = -1;  ///< 0, 1: switch the node off or on, leave its content.
};

struct GraphGetNode {
  static constexpr std::uint16_t kType = kGraphSubject + 5;
  struct Reply {
    std::uint32_t operation = 0;  ///< Reply tail: the payload.
    std::uint32_t enabled = 1;
    std::uint64_t child = 0;    ///< Child graph nodes: the graph.
    std::uint64_t address = 0;  ///< Allocation nodes: the memory.
  };
  std::uint64_t exec = 0;
  std::uint64_t node = 0;
};

/// Adds (`add` 1) or removes edges. Tail: `count` pairs of u64 (from, to).
struct GraphEdit {
  static constexpr std::uint16_t kType = kGraphSubject + 6;
  using Reply = Nothing;
  std::uint64_t graph = 0;
  std::uint32_t count = 0;
  std::uint32_t add = 1;
  std::uint32_t begins_early = 0;  ///< Like GraphAddNode's.
  std::uint32_t reserved = 0;
};

struct GraphRemoveNode {
  static constexpr std::uint16_t kType = kGraphSubject + 7;
  using Reply = Nothing;
  std::uint64_t node = 0;
};

/// Reply tail: u64 values: nodes, root nodes, (from, to) pairs, or a node's neighbours.
struct GraphList {
  static constexpr std::uint16_t kType = kGraphSubject + 8;
  enum What : std::uint32_t { kNodes, kRoots, kEdges, kDependencies, kDependents, kFindInClone };
  struct Reply {
    std::uint64_t count = 0;
  };
  What what = kNodes;
  std::uint32_t reserved = 0;
  std::uint64_t object = 0;  ///< A graph, or a node for the last three.
  std::uint64_t other = 0;   ///< FindInClone: the clone.
};

struct GraphInstantiate {
  static constexpr std::uint16_t kType = kGraphSubject + 9;
  struct Reply {
    std::uint64_t exec = 0;
  };
  std::uint64_t graph = 0;
  std::uint64_t flags = 0;
};

struct GraphExecDestroy {
  static constexpr std::uint16_t kType = kGraphSubject + 10;
  using Reply = Nothing;
  std::uint64_t exec = 0;
};

struct GraphExecUpdate {
  static constexpr std::uint16_t kType = kGraphSubject + 11;
  struct Reply {
    std::uint64_t error_node = 0;
    std::uint32_t result = 0;  ///< cudaGraphExecUpdateResult
    std::uint32_t reserved = 0;
  };
  std::uint64_t exec = 0;
  std::uint64_t graph = 0;
};

struct GraphLaunch {
  static constexpr std::uint16_t kType = kGraphSubject + 12;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t exec = 0;  ///< As a node's operation: the child graph.
};

struct CaptureBegin {
  static constexpr std::uint16_t kType = kGraphSubject + 13;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t graph = 0;  ///< 0: a new one. Tail: u64 dependencies for an existing one.
  std::uint32_t mode = 0;   ///< 0 global, 1 thread-local, 2 relaxed.
  std::uint32_t dependencies = 0;
  std::uint32_t begins_early = 0;  ///< Like GraphAddNode's.
  std::uint32_t reserved = 0;
};

struct CaptureEnd {
  static constexpr std::uint16_t kType = kGraphSubject + 14;
  struct Reply {
    std::uint64_t graph = 0;
  };
  StreamRef stream;
};

struct CaptureInfo {
  static constexpr std::uint16_t kType = kGraphSubject + 15;
  struct Reply {
    std::uint64_t id = 0;
    std::uint64_t graph = 0;
    std::uint32_t state = 0;  ///< 0 none, 1 active, 2 invalidated.
    std::uint32_t count = 0;  ///< Reply tail: u64 nodes the next operation will depend on.
  };
  StreamRef stream;
};

/// Replaces or extends the set of nodes the next operation depends on. Tail: `count` u64.
struct CaptureSetDependencies {
  static constexpr std::uint16_t kType = kGraphSubject + 16;
  using Reply = Nothing;
  StreamRef stream;
  std::uint32_t count = 0;
  std::uint32_t replace = 0;
  std::uint32_t begins_early = 0;  ///< Like GraphAddNode's.
  std::uint32_t reserved = 0;
};

/// What a device's graphs hold of its memory.
struct GraphMemoryCall {
  static constexpr std::uint16_t kType = kGraphSubject + 17;
  /// The first four are cudaGraphMemAttributeType.
  enum What : std::uint32_t {
    kUsed,
    kUsedHigh,
    kReserved,
    kReservedHigh,
    kResetUsedHigh,
    kResetReservedHigh,
    kTrim
  };
  struct Reply {
    std::uint64_t value = 0;
  };
  std::int32_t device = 0;
  What what = kUsed;
};

}  // namespace cuco::wire
