// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the checker saw, as data: printed like a compiler's message, or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  BarrierMismatch,  ///< Threads of a block that never meet.
  InvalidMask,
  StaleSignal,
  LostSignal,
  DeadLock,
  WaitDidNotWait,
  ScheduleDependent,
  Leak,
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
  bool operator==(const Site&) const = default;
};

struct Finding {
  Kind kind = Kind::GlobalRace;
  std::string message;  ///< One sentence, without the place.
  Site where;
  std::optional<Site> other;
  std::uint64_t address = 0;
  std::string allocation;   ///< "1024 bytes at 0x2000… from cudaMalloc, device 0".
  std::string hint;         ///< What to change.
  std::uint64_t count = 1;  ///< Times the same two places were seen.
};

/// "file.cu:12: shared-race: …" and indented lines below it.
[[nodiscard]] std::string to_text(const Finding& finding);
[[nodiscard]] std::string to_json(const std::vector<Finding>& findings);

/// Keeps one finding per kind and pair of places, and counts the rest.
class FindingList {
 public:
  /// Findings beyond this many different ones are only counted.
  explicit FindingList(std::size_t limit = 100) : limit_(limit) {}
  void add(Finding finding);
  [[nodiscard]] const std::vector<Finding>& all() const { return findings_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

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
