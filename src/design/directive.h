// SPDX-License-Identifier: Apache-2.0
/// \file
/// A directive: the point of the design space that a candidate claims to occupy. Stated before the
/// code, stored with it, checked before a build.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "design/kernel_design.h"

namespace cuco::design {

/// What carries the bytes.
enum class Backend {
  Host,      ///< NCCL collectives called by the host.
  Lsa,       ///< Loads and stores into peers' memory (NVLink).
  Gin,       ///< Puts and signals through the NIC, issued by the GPU.
  Multimem,  ///< Multicast stores and in-switch reductions.
  Hybrid,    ///< More than one of the above.
};

/// Where communication sits relative to the computation.
enum class Placement {
  HostOrdered,    ///< A step of its own between kernels, in stream order.
  StreamSplit,    ///< Chunks on a second stream, ordered by events.
  PutWaitSplit,   ///< Issued early, waited for late, by different kernels.
  ProducerFused,  ///< Sent by the kernel that makes the data, as it makes it.
  ConsumerFused,  ///< Awaited or fetched by the kernel that needs the data.
  Persistent,     ///< One resident kernel with blocks or warps specialised by role.
};

/// What a receiver waits for.
enum class SyncScope { GlobalBarrier, PerPeerSignal, PerChunkFlag, IntraBlock };

/// Which group of threads issues one transfer.
enum class IssuerUnit { Thread, Warp, Block };

struct Issuer {
  IssuerUnit unit = IssuerUnit::Block;
  int count = 0;  ///< How many of them communicate; 0 when every one of the kernel does.
  auto operator<=>(const Issuer&) const = default;
};

enum class ChunkKind { Whole, PerPeer, PerTile, Bytes };

/// How much travels as one unit that a receiver can wait for.
struct Chunk {
  ChunkKind kind = ChunkKind::Whole;
  std::uint64_t bytes = 0;  ///< Only for ChunkKind::Bytes.
  auto operator<=>(const Chunk&) const = default;
};

struct Directive {
  Backend backend = Backend::Host;
  Placement placement = Placement::HostOrdered;
  SyncScope sync = SyncScope::GlobalBarrier;
  Issuer issuer;
  Chunk chunk;
  KernelDesign kernel;  ///< How its kernels compute.
  auto operator<=>(const Directive&) const = default;
};

[[nodiscard]] std::string_view name(Backend backend);
[[nodiscard]] std::string_view name(Placement placement);
[[nodiscard]] std::string_view name(SyncScope sync);
[[nodiscard]] std::string_view name(IssuerUnit unit);
[[nodiscard]] std::string_view name(ChunkKind kind);  ///< "bytes" for any size.

/// "LSA · producer-fused · per-chunk flag · warp x 4 · 64 KiB", then what differs in the kernels.
/// parse_directive() reads it back.
[[nodiscard]] std::string to_text(const Directive& directive);

/// The same without the backend, for tables that are grouped by it.
[[nodiscard]] std::string short_text(const Directive& directive);

/// Reads the five dimensions, separated by '·', ',' or '|', each in any position and any case.
/// Every dimension has to be there once, those of the kernels at most once; the error names the one
/// that is missing or unknown.
[[nodiscard]] Result<Directive> parse_directive(std::string_view text);

}  // namespace cuco::design
