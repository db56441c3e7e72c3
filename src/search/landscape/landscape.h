// SPDX-License-Identifier: Apache-2.0
/// \file
/// Landscape: recorded verdicts, so that policies can be compared without judging anything again.
///
/// A point is a candidate of a recorded run with what became of it. A proposer of the landscape
/// answers with points that the history does not hold yet: for a rewrite any, for the other
/// operations the one nearest to the parent's design. What such a comparison can say is how well a
/// policy walks what was recorded; what nobody proposed is not there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/run_state.h"

namespace cuco::search {

struct Point {
  std::string proposer;
  bool finite = false;  ///< That proposer enumerates a space of its own.
  design::Directive directive;
  std::map<candidate::Rung, candidate::Outcome> outcomes;  ///< Never empty.
};

class Landscape {
 public:
  /// Adds the candidates that were judged. The seed of the first run is the landscape's;
  /// InvalidInput if this one was judged elsewhere or starts from another program.
  Result<void> add(const candidate::RunState& run);

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] const std::map<candidate::Rung, candidate::Outcome>& seed() const { return seed_; }
  [[nodiscard]] const std::string& hardware() const { return hardware_; }
  [[nodiscard]] candidate::TargetKind target() const;

  /// The program that stands for a point, and the point that a program stands for; -1: the seed.
  [[nodiscard]] static std::string text_of(std::size_t point);
  [[nodiscard]] static int point_of(std::string_view text);

  /// The largest recorded speed-up over the seed, at the highest rung of each point.
  [[nodiscard]] double best() const;

 private:
  std::vector<Point> points_;
  std::map<candidate::Rung, candidate::Outcome> seed_;
  std::string code_;  ///< Hash of the seed.
  std::string hardware_;
  std::map<std::string, bool> known_;  ///< Code that is there already.
};

/// The speed-up over the seed of a verdict that is a time; 0 for any other.
[[nodiscard]] double speedup_of(const candidate::Outcome& outcome);

}  // namespace cuco::search
