// SPDX-License-Identifier: Apache-2.0
/// \file
/// What loopback's kernels are given: the contract between kernels.cu and the host code that
/// launches them. Addresses are numbers; all of them are valid on the GPU.
#pragma once

#include <cstdint>

namespace cuco::loopback {

using Address = std::uint64_t;

// ---- copies of the modelled NIC ----

/// One delivery: bytes or a value, then what announces it.
struct CopyJob {
  Address source = 0;
  Address destination = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value = 0;  ///< The payload itself, where `source` is 0.
  Address signal = 0;       ///< u64 of the receiver; 0: none.
  std::uint64_t signal_add = 0;
  Address counter = 0;  ///< u64 of the sender; 0: none.
  Address credit = 0;   ///< u32 of the sender; 0: none.
  Address piece = 0;    ///< u32: how many pieces of a payload there are; 0: it is whole.
  std::uint32_t credit_value = 0;
};

/// One payload that many blocks copy together.
struct CopyArgs {
  Address source = 0;
  Address destination = 0;
  std::uint64_t bytes = 0;
  Address ticket = 0;  ///< u32, zero between copies of one stream.
  Address done = 0;    ///< u64 in host memory; 0: nobody asks.
  std::uint64_t done_value = 0;
};

/// A delivery as the courier, a kernel that stays for a while, reads it from host memory. Every 32
/// bytes end with the delivery's number, since no more than that is read at once.
struct Parcel {
  static constexpr int kWords = 16;
  static constexpr int kWordsWithNumber = 4;
  std::uint64_t word[kWords] = {};
};
static_assert(sizeof(Parcel) == 128);

inline constexpr std::uint32_t kLanes = 16;     ///< A block of the courier for each.
inline constexpr std::uint32_t kParcels = 256;  ///< Of a lane.
/// Parcels of which the bytes may be copied at the same time.
inline constexpr std::uint32_t kParcelsAtOnce = 4;

/// That a delivery is done, and when on the GPU's clock. Written at once.
struct alignas(16) Receipt {
  std::uint64_t number = 0;
  std::uint64_t time = 0;
};

struct CourierArgs {
  Address parcels = 0;  ///< Parcel [lane][kParcels], in host memory.
  Address pieces = 0;   ///< u32 [lane][kParcels]: pieces of a payload that other lanes have copied.
  Address next = 0;     ///< u64 [lane]: the number that comes next less 1.
  Address receipts = 0;  ///< Receipt [lane][kParcels] in host memory.
  Address beat = 0;      ///< u64 in host memory: the GPU's time, again and again.
  Address ended = 0;     ///< u64 in host memory: `turn` when this one's lane 0 ends.
  std::uint64_t turn = 0;
  std::uint64_t nanoseconds = 0;  ///< How long it stays.
};

// ---- host-driven collectives ----

inline constexpr std::uint32_t kMaxRanks = 64;
inline constexpr std::uint32_t kMaxBlocks = 32;
/// Sends of one rank to one other that are on their way at a time: of one group.
inline constexpr std::uint32_t kPostRing = 128;
inline constexpr std::uint32_t kEventRing = 1024;
inline constexpr std::uint32_t kOpsPerGroup = 96;

/// What one rank's block tells the same block of the others.
struct CallSlot {
  Address send = 0;
  Address recv = 0;
  std::uint64_t scalar = 0;
};

/// A send that waits for its receive.
struct SendPost {
  std::uint64_t sequence = 0;
  Address address = 0;
  std::uint64_t bytes = 0;
};

/// What a kernel tells the host: it has met its peers, and copies now. Written to host memory,
/// `sequence` last.
struct Event {
  std::uint64_t sequence = 0;
  std::uint64_t number = 0;  ///< Of the collective; of a receive: 0.
  std::uint64_t bytes = 0;   ///< One block: count times size.
  std::uint32_t kind = 0;    ///< nccl_core::Kind
  std::int32_t peer = 0;     ///< Root, or the source of a receive.
};

/// Where the state of one communicator lies. Arrays are indexed as their comments say.
struct CommView {
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  Address flags = 0;         ///< u32 [block][rank]
  Address epochs = 0;        ///< u32 [rank][block]
  Address slots = 0;         ///< CallSlot [block][rank]
  Address tickets = 0;       ///< u32 [rank]
  Address op_tickets = 0;    ///< u32 [rank][op]
  Address numbers = 0;       ///< u64 [rank]: collectives so far
  Address sequences = 0;     ///< u64 [rank]: events so far
  Address posts = 0;         ///< SendPost [source * ranks + destination][kPostRing]
  Address sent = 0;          ///< u64 [source * ranks + destination]
  Address received = 0;      ///< u64 [source * ranks + destination]
  Address acknowledged = 0;  ///< u64 [source * ranks + destination]
  // Host memory:
  Address events = 0;    ///< Event [rank][kEventRing]
  Address consumed = 0;  ///< u64 [rank]
  Address released = 0;  ///< u64 [rank]
  Address finished = 0;  ///< u64 [rank]: the last event whose release was seen
  Address abort = 0;     ///< u32
};

struct CollectiveArgs {
  CommView view;
  std::uint32_t kind = 0;
  std::uint32_t op = 0;
  std::int32_t root = 0;
  std::uint32_t is_paced = 0;  ///< It ends when the host releases it.
  std::uint32_t element = 0;   ///< Bytes.
  std::uint32_t unused = 0;
  std::uint64_t count = 0;
  Address send = 0;
  Address recv = 0;
  std::uint64_t scalar = 0;
  Address scalar_address = 0;  ///< Read there instead, if not 0.
};

struct PointOp {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::int32_t peer = 0;
  std::uint32_t is_send = 0;
  std::uint32_t ordinal = 0;  ///< Among the group's sends, or receives, of this peer.
  std::uint32_t unused = 0;
};

struct PointArgs {
  CommView view;
  std::uint32_t ops = 0;
  std::uint32_t is_paced = 0;
  PointOp op[kOpsPerGroup] = {};
};
static_assert(sizeof(PointArgs) < 4096);

struct FillArgs {
  Address destination = 0;
  std::uint64_t bytes = 0;
  std::uint32_t value = 0;
};

}  // namespace cuco::loopback
