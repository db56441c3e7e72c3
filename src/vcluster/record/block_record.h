// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which blocks read and wrote which bytes of which buffer, launch by launch, and what was copied
/// and communicated between the launches: as a server records it (watch/block_trace.h), and as it
/// stands in its report.
///
///     {"buffers": [[number, bytes, device, process]],
///      "maps": [{"blocks": n, "read": [[block, first, bytes, rows, pitch]], "written": [...]}],
///      "steps": [{"kind", "name", "order", "device", "stream", "started_ps", "finished_ps",
///                 "read": [[buffer, offset, bytes]], "written": [...],
///                 "grid": [x, y, z], "block": [x, y, z],
///                 "pointers": [[parameter, inside, buffer, offset]],
///                 "numbers": [[parameter, value]],
///                 "touched": [{"buffer", "map", "exact", "chunk_bytes",
///                              "first_read_ps": [...], "last_write_ps": [...]}],
///                 "dropped": true}],
///      "dropped_steps", "unnamed_bytes"}
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "vcluster/record/byte_ranges.h"

namespace cuco::vcluster {

/// A time that does not come: what was not read, not written.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

struct TracedBuffer {
  std::uint64_t number = 0;  ///< In the order in which all processes made theirs; from 1.
  std::uint64_t bytes = 0;
  std::int32_t device = 0;
  std::uint32_t process = 0;
};

/// A part of a buffer.
struct TracedPart {
  std::uint64_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What a block read and wrote of one buffer, from the buffer's beginning.
struct BlockRows {
  std::vector<ByteRows> read, written;
  auto operator<=>(const BlockRows&) const = default;
};
/// The same of all blocks of a grid, x fastest.
using BlockMap = std::vector<BlockRows>;

/// When stretches of a buffer, all of one length, were first read and last written.
struct ChunkTimes {
  static constexpr std::size_t kCount = 64;
  std::uint64_t bytes = 1;  ///< Of one chunk.
  std::vector<std::int64_t> first_read, last_write;
};

/// What one launch did to one buffer.
struct TouchedBuffer {
  std::uint64_t buffer = 0;
  std::size_t map = 0;
  bool is_exact = true;  ///< False: gaps between ranges were filled, there were too many.
  ChunkTimes times;
};

/// An argument of a kernel that is, or holds, a pointer.
struct TracedPointer {
  std::uint32_t parameter = 0;
  std::uint32_t inside = 0;  ///< Its offset within the parameter: a struct passed by value.
  std::uint64_t buffer = 0;
  std::uint64_t offset = 0;
};

/// An argument of a kernel that may be a whole number: 4 or 8 bytes that are no pointer.
struct TracedNumber {
  std::uint32_t parameter = 0;
  std::int64_t value = 0;
};

/// One thing that a stream did.
struct TracedStep {
  std::string kind;         ///< "kernel", "collective", "copy" or "fill".
  std::string name;         ///< Of the kernel, mangled, or the collective.
  std::uint64_t order = 0;  ///< Of the host calls that asked for it.
  std::int32_t device = -1;
  std::string stream;
  std::int64_t started_ps = 0;
  std::int64_t finished_ps = 0;
  std::vector<TracedPart> read, written;  ///< Not of kernels.
  // Of kernels.
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::vector<TracedPointer> pointers;
  std::vector<TracedNumber> numbers;
  std::vector<TouchedBuffer> touched;
  bool is_dropped = false;  ///< There was no room for what its blocks did.
};

struct BlockRecord {
  std::vector<TracedBuffer> buffers;
  std::vector<BlockMap> maps;  ///< Each once, however many launches did the same.
  std::vector<TracedStep> steps;
  std::uint64_t dropped_steps = 0;
  std::uint64_t unnamed_bytes = 0;  ///< Touched outside of all buffers: a module's variables.
};

[[nodiscard]] Json to_json(const BlockRecord& record);
/// InvalidInput where it is no such record, or does not fit together.
[[nodiscard]] Result<BlockRecord> read_block_record(const Json& json);

}  // namespace cuco::vcluster
