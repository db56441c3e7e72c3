// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bandit: who is asked to do what in which phase. One arm for each of these together, because a
/// model that rewrites well may repair badly, and what helps early may not help late.
///
/// Its state is a fold of what decisions gave, in their order, keyed by names: a resumed run has
/// the same, also with another list of models.
#pragma once

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "candidate/task.h"

namespace cuco::search {

struct Arm {
  std::string proposer;
  candidate::Operation operation = candidate::Operation::Rewrite;
  std::string phase;
  auto operator<=>(const Arm&) const = default;
};

/// AsymmetricUCB (ShinkaEvolve): gains count, losses do not; in-flight pulls count as pulls.
///
///     utility = mean of e^gain - 1, over the largest mean
///     score   = utility + sqrt(2 ln t / n)
///     final   = (1 - k) score + k (median cost / mean cost, over the largest)
class Bandit {
 public:
  struct Rules {
    double exploration = 1;
    double cost_share = 0.5;  ///< k; counts only where costs differ.
    double epsilon = 0.2;     ///< Share of choices that any arm may get.
    double decay = 0.95;      ///< Of what is remembered, at each result.
  };

  Bandit() = default;
  explicit Bandit(const Rules& rules) : rules_(rules) {}

  /// One of these, which must be at least one. Arms that were never pulled come first, in order.
  [[nodiscard]] std::size_t choose(std::span<const Arm> arms, Rng& rng) const;

  /// A decision was made for the arm.
  void begin(const Arm& arm) { ++records_[arm].in_flight; }
  /// It gave nothing.
  void abandon(const Arm& arm) { --records_[arm].in_flight; }
  /// It gave a candidate: log of its speed-up over its parent, 0 if it is not faster, and what it
  /// cost, in tokens.
  void end(const Arm& arm, double gain, double cost);

  struct Record {
    double pulls = 0;  ///< Decayed, like the sums.
    double gains = 0;  ///< Sum of e^gain - 1.
    double costs = 0;
    int in_flight = 0;
    int all = 0;  ///< Results so far.
    [[nodiscard]] double tries() const { return pulls + in_flight; }
  };
  [[nodiscard]] const std::map<Arm, Record>& records() const { return records_; }

 private:
  [[nodiscard]] const Record& record(const Arm& arm) const;
  [[nodiscard]] std::vector<double> scores(std::span<const Arm> arms) const;
  [[nodiscard]] std::vector<double> thrift(std::span<const Arm> arms) const;

  Rules rules_;
  std::map<Arm, Record> records_;
};

}  // namespace cuco::search
