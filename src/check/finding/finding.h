// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the checker saw, as data: printed like a compiler's message, or as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::check {

enum class Kind : std::uint8_t {
  OutOfBounds,
  UseAfterFree,
  Uninitialised,
  Misaligned,
  SharedRace,
  GlobalRace,
  UnorderedRead,    ///< A window read while a put or peer store to it is not known to have arrived.
  SourceReuse,      ///< Bytes overwritten while a put may still read them.
  BarrierMismatch,  ///< Threads of a block that meet at different barriers, or never.
  InvalidMask,      ///< A .sync operation by a lane that its mask does not name.
  BarrierIndex,     ///< A barrier of the device API used by two blocks, or with other counts.
  StaleSignal,      ///< A wait satisfied by an earlier phase's signal.
  SignalCount,      ///< A wait that returned before all the signals that it needs had come.
  LostSignal,       ///< A wait for a signal that nobody will raise any more.
  OutsideWindow,    ///< A put or a peer address that no window holds.
  Collective,       ///< Collectives that differ between ranks, or that a rank never calls.
  Deadlock,
  WaitDidNotWait,
  ScheduleDependent,
  Leak,
  Unchecked,  ///< From here on nothing was checked: there is too much to remember.
};

/// The stable name, as in suppression files: "shared-race".
[[nodiscard]] std::string_view name(Kind kind);
[[nodiscard]] std::optional<Kind> find_kind(std::string_view name);

/// One side of a finding. Unknown numbers are -1, unknown texts empty.
struct Site {
  std::string file;
  int line = -1;
  std::string what;    ///< "write of 4 bytes", "put", "cudaMemcpyAsync".
  std::string kernel;  ///< Demangled.
  int rank = -1;
  std::string block;
  std::string thread;
  /// Calls of the host: the object file and the offset in it, to be turned into file and line.
  std::string module;
  std::uint64_t offset = 0;
  std::uint64_t outer_offset = 0;  ///< Of its caller: for wrappers in headers.
  bool operator==(const Site&) const = default;
};

struct Finding {
  Kind kind = Kind::GlobalRace;
  std::string message;  ///< One sentence, without the place.
  Site where;
  std::optional<Site> other;
  std::uint64_t address = 0;
  std::string allocation;          ///< "1024 bytes at 0x2000…, cudaMalloc by rank 0".
  std::optional<Site> made;        ///< Where the allocation was made.
  std::vector<std::string> notes;  ///< More of the story, a line each.
  std::string hint;                ///< What to change.
  std::uint64_t count = 1;         ///< Times the same two places were seen.
};

/// The text of a line of a source file; empty: not to be had.
using SourceLines = std::function<std::string(const std::string& file, int line)>;

/// "file.cu:12: shared-race: …" and indented lines below it, with the source lines if they can be
/// read.
[[nodiscard]] std::string to_text(const Finding& finding, const SourceLines& lines = {});
[[nodiscard]] std::string to_json(const std::vector<Finding>& findings);
/// What to_json wrote. Anything else gives an error.
[[nodiscard]] Result<std::vector<Finding>> findings_from_json(std::string_view text);

/// Keeps one finding per kind and pair of places, and counts the rest.
class FindingList {
 public:
  /// Findings beyond this many different ones are only counted.
  explicit FindingList(std::size_t limit = 100) : limit_(limit) {}
  /// The finding's place in all(); nullopt: there are too many.
  std::optional<std::size_t> add(Finding finding);
  /// The same again.
  void count(std::size_t index) { ++findings_[index].count; }
  [[nodiscard]] Finding& at(std::size_t index) { return findings_[index]; }
  [[nodiscard]] const std::vector<Finding>& all() const { return findings_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// At the end: bytes that were read before an unordered write of them are reported once, as a
  /// race.
  void fold_unwritten();

 private:
  std::size_t limit_;
  std::uint64_t dropped_ = 0;
  std::vector<Finding> findings_;
};

/// A suppression file: one "kind file[:line]" per line, '*' for any; '#' starts a comment.
class Suppressions {
 public:
  /// Lines that cannot be read are named in `errors`.
  static Suppressions parse(std::string_view text, std::vector<std::string>& errors);
  [[nodiscard]] bool match(const Finding& finding) const;

 private:
  struct Rule {
    std::optional<Kind> kind;
    std::string file;  ///< Empty: any. Matched at the end of the path.
    int line = -1;
  };
  std::vector<Rule> rules_;
};

}  // namespace cuco::check
