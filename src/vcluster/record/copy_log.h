// SPDX-License-Identifier: Apache-2.0
/// \file
/// A file with one line per copy from a device to the host: what a program got out of its GPUs, for
/// comparing runs. Contents go to a second file beside it, where somebody wants them.
///
///     device bytes digest call thread written anywhere offset
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::vcluster {

/// What came back, without when and by whom: streams overtake each other, and programs poll.
struct LoggedCopy {
  int device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;
  auto operator<=>(const LoggedCopy&) const = default;
};

/// As what a range of memory was written, as far as instructions and collectives say it: bits.
using WrittenAs = std::uint8_t;
inline constexpr WrittenAs kAsFloat16 = 1;
inline constexpr WrittenAs kAsBfloat16 = 2;
inline constexpr WrittenAs kAsFloat32 = 4;
inline constexpr WrittenAs kAsFloat64 = 8;
inline constexpr WrittenAs kAsInteger = 16;  ///< The result of integer arithmetic.

struct CopyEntry {
  LoggedCopy copy;
  std::uint64_t call = 0;    ///< Orders the calls: a line is written when its copy is done.
  std::uint32_t thread = 0;  ///< The host thread that asked for it.
  WrittenAs written = 0;     ///< The memory it was copied from.
  WrittenAs anywhere = 0;    ///< Any memory, so far.
  std::optional<std::uint64_t> offset;  ///< Of its contents; absent: they were not kept.
};

class CopyLog {
 public:
  /// Keeps up to `keep` bytes of contents; what is the same is kept once.
  [[nodiscard]] static Result<std::unique_ptr<CopyLog>> create(const system::Path& path,
                                                               std::uint64_t keep = 0);
  [[nodiscard]] std::uint64_t next_call() { return ++calls_; }
  /// Fills in bytes, digest and offset. Written at once: the server may be ended at any moment.
  void add(CopyEntry entry, std::span<const std::byte> bytes);

 private:
  CopyLog(system::Fd file, system::Fd contents, std::uint64_t keep)
      : file_(std::move(file)), contents_(std::move(contents)), keep_(keep) {}
  std::optional<std::uint64_t> keep(const LoggedCopy& copy, std::span<const std::byte> bytes);

  system::Fd file_;
  system::Fd contents_;
  std::uint64_t keep_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t calls_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> offsets_;  ///< By size, digest.
};

/// The lines of such a file, in the order of the calls.
[[nodiscard]] Result<std::vector<CopyEntry>> read_copy_log(const system::Path& path);
/// Without order and repetition.
[[nodiscard]] std::set<LoggedCopy> without_order(std::span<const CopyEntry> entries);

/// The contents beside a log; stays readable when the files are gone.
class CopyContents {
 public:
  [[nodiscard]] static Result<CopyContents> open(const system::Path& log);
  /// Of an entry that has an offset.
  [[nodiscard]] Result<std::vector<std::byte>> read(const CopyEntry& entry) const;

 private:
  explicit CopyContents(system::Fd file) : file_(std::move(file)) {}
  system::Fd file_;
};

}  // namespace cuco::vcluster
