// SPDX-License-Identifier: Apache-2.0
/// \file
/// SearchView: what a person wants to see of a search at some moment. Most of it is a fold of the
/// run's events; what is in flight and the time are put in by whoever takes the picture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "candidate/store.h"
#include "cli/live/in_flight.h"

namespace cuco::cli {

/// A candidate's time beside the seed's on the same shapes.
struct SeenTime {
  double seconds = 0;
  double baseline = 0;
  double bound = 0;  ///< 0: not known.
  bool predicted = true;
  bool full = false;  ///< Of full shapes: a gain on small ones says little beside it.

  [[nodiscard]] double speedup() const { return seconds > 0 ? baseline / seconds : 0; }
};

/// What the view keeps of a candidate.
struct SeenCandidate {
  std::string design;
  std::string island;
  bool judged = false;
  std::optional<SeenTime> time;  ///< Of the latest verdict, if it is one.
};

/// A verdict, or why there is none.
struct News {
  candidate::Number number = candidate::kSeed;
  bool good = false;
  std::string text;
};

/// The fastest of an island.
struct IslandBest {
  std::string name;
  candidate::Number number = candidate::kSeed;
  double speedup = 0;
  bool full = false;  ///< Of full shapes; the others stand behind those.
  int judged = 0;
};

/// A question that nobody has answered yet.
struct OpenQuestion {
  candidate::Decision decision = 0;
  std::int64_t since_ms = 0;
  std::int64_t tokens = 0;  ///< Reserved for the answer.
  double dollars = 0;
};

struct SearchView {
  // What was asked for.
  std::string name;     ///< Of the workload.
  std::string machine;  ///< "4 x NVIDIA H200, nvlink4".
  std::string run;      ///< Its number.
  int candidates = 0;   ///< At most; 0: no limit.
  double seconds = 0;   ///< At most; 0: no limit.
  int rounds = 0;       ///< Of `tune`.

  // What has happened.
  std::vector<SeenCandidate> seen;  ///< By number; the seed is the first.
  std::optional<candidate::Number> best;
  std::string phase;
  int rounds_done = 0;
  std::vector<News> news;                         ///< The latest last; only a few.
  std::map<std::string, OpenQuestion> questions;  ///< By their hash.
  std::int64_t calls = 0;
  std::int64_t tokens = 0;
  double dollars = 0;

  // Now.
  std::string step;  ///< Of the journey, where nothing of a candidate is in flight; may be empty.
  double step_elapsed = 0;
  std::vector<RunningJob> running;
  std::int64_t now_ms = 0;  ///< On the events' clock.
  double elapsed = 0;       ///< Seconds since this process began.
  int judged_here = 0;      ///< Candidates that got their first verdict in that time.
  bool stopping = false;    ///< Somebody pressed Ctrl-C.

  void apply(const candidate::Event& event);

  [[nodiscard]] const SeenCandidate* candidate(candidate::Number number) const;
  /// The seed's own time, with itself as the baseline.
  [[nodiscard]] std::optional<SeenTime> seed_time() const;
  /// Without the seed, which everything is compared with.
  [[nodiscard]] int judged() const;
  [[nodiscard]] int correct() const;
  /// By name, numbers in their order.
  [[nodiscard]] std::vector<IslandBest> islands() const;
};

}  // namespace cuco::cli
