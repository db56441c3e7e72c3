// SPDX-License-Identifier: Apache-2.0
/// \file
/// What became of a candidate. Each case is data to be stored, scored and shown, never an error,
/// and carries what a proposer needs to do better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cuco::candidate {

/// A place in a candidate's source, and who was there. Unknown numbers are -1.
struct Site {
  std::string file;
  int line = -1;
  std::string kernel;
  int rank = -1;
  std::string block;   ///< "(3,0,0)", empty when not in a kernel.
  std::string thread;  ///< Likewise.
  bool operator==(const Site&) const = default;
};

/// One thing the checker saw: a race, a stale signal, an access out of bounds, …
struct Finding {
  std::string kind;  ///< Short and stable, e.g. "unordered read".
  std::string message;
  Site where;
  std::optional<Site> other;  ///< The other side of a race.
  std::string hint;           ///< What to change; may be empty.
  bool operator==(const Finding&) const = default;
};

/// Phases of communication that nothing hides; the others are for people alone.
inline constexpr std::string_view kNotHidden = "collectives and copies, not hidden";
inline constexpr std::string_view kPolling = "polling for signals";

/// Seconds by what they were spent on, on the slowest rank ("instructions", "at barriers", …).
struct PhaseTime {
  std::string phase;
  double seconds = 0;
  bool operator==(const PhaseTime&) const = default;
};

/// A source line that the warps spend their time at.
struct HotSpot {
  Site where;
  double share = 0;  ///< Of all warps' time.
  std::string what;  ///< "polls", "waits for loads, moves 4.0x the sectors it needs", …
  bool operator==(const HotSpot&) const = default;
};

/// A true value lies in it, as far as is known; both 0: nothing is known.
struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

/// How the longest kernel of a run fills the GPU. A model with fewer of either than the full shape
/// has is a model of something else.
struct Filling {
  double blocks_per_sm = 0;  ///< In all; 0: not known.
  double waves = 0;          ///< The same, divided by how many fit on an SM at once.
  bool operator==(const Filling&) const = default;
};

/// A full shape's time that comes from a scale model: 1/k of the work on 1/k of the machine.
struct ScaleModel {
  double factor = 0;           ///< k; 0: it was timed as it is.
  double smaller_factor = 0;   ///< Of a second model, about 2k; 0: there is none.
  double smaller_seconds = 0;  ///< What that one says.
  Filling filling;
  Filling smaller_filling;
  std::string why_alone;  ///< Why there is no second model; empty: there is one.
  [[nodiscard]] bool is_used() const { return factor > 0; }
  /// Of the second model's time from the first one's, as a fraction.
  [[nodiscard]] double difference(double seconds) const {
    return smaller_factor > 0 ? smaller_seconds / seconds - 1 : 0;
  }
  bool operator==(const ScaleModel&) const = default;
};

struct ShapeTime {
  std::string shape;
  double seconds = 0;             ///< The slowest rank's.
  std::vector<double> samples;    ///< Seconds of every timed iteration.
  Interval speedup;               ///< Over the seed; a point where times are predicted.
  double baseline_seconds = 0;    ///< The seed's on this shape; 0 when not timed.
  double bound_seconds = 0;       ///< Speed of light; 0 when not known.
  std::string limited_by;         ///< What the bound is made of: "math", "HBM", "links", "launch".
  std::vector<PhaseTime> limits;  ///< What each resource alone would take.
  std::vector<PhaseTime> phases;  ///< Where the slowest rank's time went; empty when not profiled.
  std::vector<HotSpot> hot_spots;
  double wire_bytes = -1;  ///< That the links carried between GPUs; negative when not profiled.
  ScaleModel scale_model;
  bool operator==(const ShapeTime&) const = default;
};

/// The proposer's answer was no candidate: unreadable, an edit of frozen bytes, an invalid
/// directive.
struct ProposalRejected {
  std::string reason;
  std::string detail;  ///< The offending part of the answer, cut to a readable length.
  bool operator==(const ProposalRejected&) const = default;
};

/// Refused before the build: forbidden construct, frozen bytes changed, missing entry point.
struct ScreenRejected {
  std::string rule;
  std::string reason;
  Site where;
  bool operator==(const ScreenRejected&) const = default;
};

struct BuildFailed {
  std::string message;  ///< The compiler's own words, first errors first.
  bool operator==(const BuildFailed&) const = default;
};

/// A rank ended by a signal, an exit, a CUDA or NCCL error or a trap in a kernel.
struct Crashed {
  std::string reason;
  std::string shape;
  Site where;
  bool operator==(const Crashed&) const = default;
};

struct TimedOut {
  std::string stage;  ///< "build", "set-up", "run", …
  double limit_seconds = 0;
  bool operator==(const TimedOut&) const = default;
};

/// Every thread waits and nothing is pending.
struct Deadlock {
  std::string shape;
  std::vector<std::string> waits;  ///< Who waits for what, one line each.
  bool operator==(const Deadlock&) const = default;
};

struct WrongResult {
  std::string shape;
  std::string schedule;  ///< Which schedule showed it; empty for the plain one.
  std::string output;
  int iteration = 0;
  int rank = -1;
  std::int64_t index = -1;  ///< The first wrong element.
  double expected = 0;
  double actual = 0;
  std::int64_t wrong = 0;
  std::int64_t total = 0;
  std::string note;  ///< E.g. "still holds the poison", "equals the previous iteration".
  std::vector<Finding> findings;  ///< What the checker saw when it was asked why.
  bool operator==(const WrongResult&) const = default;
};

/// The values were right, the checker was not satisfied.
struct Findings {
  std::vector<Finding> findings;
  std::string schedule;  ///< The first schedule that showed one.
  bool operator==(const Findings&) const = default;
};

/// Faster than physics allows: kept aside, not celebrated.
struct Quarantined {
  double seconds = 0;
  double bound_seconds = 0;
  std::string shape;
  bool operator==(const Quarantined&) const = default;
};

/// Correct as far as this fidelity looks, with a time.
struct Scored {
  /// Slowest rank, geometric mean over the full shapes where they were timed, else over all.
  double seconds = 0;
  double baseline_seconds = 0;  ///< The seed's, same shapes; 0 while the seed itself is judged.
  double bound_seconds = 0;
  Interval speedup;       ///< Over the seed, all timed shapes together.
  double score = 0;       ///< 0.5 at the baseline, 1 at the bound.
  bool predicted = true;  ///< Virtual time.
  std::string hardware;   ///< Name of the hardware description, or the device.
  std::vector<ShapeTime> shapes;
  int checked_shapes = 0;
  int checked_hidden_shapes = 0;
  int checked_schedules = 0;
  std::vector<std::string> left_out;  ///< What was not tried, or less often; empty: nothing.
  std::vector<std::string> warnings;  ///< Why a time may be off.
  bool operator==(const Scored&) const = default;
};

/// A challenger beside the incumbent, pair by pair, until it was known whether it is faster.
struct Comparison {
  bool faster = false;          ///< The interval excludes "no gain".
  Interval speedup;             ///< Of the challenger over the incumbent.
  std::vector<double> samples;  ///< The incumbent's time over the challenger's, one a pair.
  bool operator==(const Comparison&) const = default;
};

using Outcome = std::variant<ProposalRejected,
                             ScreenRejected,
                             BuildFailed,
                             Crashed,
                             TimedOut,
                             Deadlock,
                             WrongResult,
                             Findings,
                             Quarantined,
                             Scored>;

/// A stable word for the case: "scored", "wrong-result", …
[[nodiscard]] std::string_view verdict(const Outcome& outcome);

/// One line for a person: "wrong result: C[17] on rank 2 is nan, expected 0.25 (shape 64x64x64)".
[[nodiscard]] std::string summary(const Outcome& outcome);

/// Everything a proposer needs to do better, several lines.
[[nodiscard]] std::string explanation(const Outcome& outcome);

/// "file.cu:12 (kernel gemm, rank 1, block (0,0,0))", as far as it is known.
[[nodiscard]] std::string to_text(const Site& site);

}  // namespace cuco::candidate
