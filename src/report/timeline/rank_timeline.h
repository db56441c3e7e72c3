// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each rank of a program did when, in so few stretches that a page can show them: made of a
/// trace (docs/guides/timeline.md), kept beside the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cuco::report {

/// What a stretch of time was spent on. In the order in which lanes are shown.
enum class Activity { Kernel, Collective, Copy, Send, Wait };
inline constexpr int kActivities = 5;

[[nodiscard]] std::string_view name(Activity activity);

/// Microseconds from the start of the program's iteration.
struct Stretch {
  double begin = 0;
  double end = 0;
  std::string what;
  bool operator==(const Stretch&) const = default;
};

struct Lane {
  Activity activity = Activity::Kernel;
  std::vector<Stretch> stretches;
  bool operator==(const Lane&) const = default;
};

struct RankTimeline {
  int rank = 0;
  std::vector<Lane> lanes;
  bool operator==(const RankTimeline&) const = default;
};

struct ProgramTimeline {
  std::string program;  ///< "seed", "candidate".
  std::vector<RankTimeline> ranks;
  [[nodiscard]] double length() const;
  bool operator==(const ProgramTimeline&) const = default;
};

struct Timeline {
  int candidate = 0;  ///< The second program's number in the run.
  std::vector<ProgramTimeline> programs;
  bool operator==(const Timeline&) const = default;
};

/// Of a trace in Chrome's format. A lane has at most about 300 stretches: what lies closest
/// together is joined first.
[[nodiscard]] Result<Timeline> timeline_of_trace(std::string_view trace);

[[nodiscard]] std::string to_json(const Timeline& timeline);
[[nodiscard]] Result<Timeline> parse_timeline(std::string_view json);

}  // namespace cuco::report
