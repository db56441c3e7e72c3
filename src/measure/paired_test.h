// SPDX-License-Identifier: Apache-2.0
/// \file
/// Is the candidate faster than the incumbent? Decided on interleaved pairs, at any time.
///
/// A search that repeats noisy timings until they look good promotes luck. Here the evidence is an
/// e-process: under "no gain" the chance that it ever exceeds 1/alpha is at most alpha, however
/// often and whenever it is evaluated.
#pragma once

#include <cstddef>
#include <limits>

namespace cuco::measure {

/// An interval for the true mean that holds at all times at once with probability 1 - alpha.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// A confidence sequence for the mean of normal samples of unknown variance.
///
/// The Bayes factor of "mean != m" against "mean = m" with a normal prior of variance `prior` on
/// the effect size and the scale-invariant prior on the variance is a test martingale; the interval
/// is all m whose Bayes factor has stayed below 1/alpha.
class ConfidenceSequence {
 public:
  explicit ConfidenceSequence(double alpha, double prior = 1.0) : alpha_(alpha), prior_(prior) {}
  void add(double sample);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double deviation() const;
  /// The intersection of the intervals of all times so far.
  [[nodiscard]] Interval interval() const { return interval_; }
  /// Evidence against "mean = m": at most 1/alpha with probability 1 - alpha if it is.
  [[nodiscard]] double evidence_against(double m) const;

 private:
  double alpha_;
  double prior_;
  std::size_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< Sum of squared differences from the mean.
  Interval interval_;
};

enum class Decision {
  Continue,  ///< Not enough evidence yet.
  Promote,   ///< The gain is at least the minimum effect.
  Reject,    ///< It is not, or the pairs are used up.
};

/// Compares times as pairs measured back to back.
class PairedTest {
 public:
  struct Rules {
    double alpha = 0.05;
    double minimum_gain = 0.005;  ///< 0.5 %: less is not worth a promotion.
    std::size_t minimum_pairs = 5;
    std::size_t maximum_pairs = 100;
  };
  explicit PairedTest(const Rules& rules) : rules_(rules), sequence_(rules.alpha) {}

  /// Seconds of the incumbent and of the candidate, measured in interleaved order.
  void add(double incumbent, double candidate);
  [[nodiscard]] Decision decision() const;
  [[nodiscard]] std::size_t pairs() const { return sequence_.count(); }
  /// Incumbent's time over candidate's: 1.02 is 2 % faster.
  [[nodiscard]] double speedup() const;
  [[nodiscard]] Interval speedup_interval() const;

 private:
  Rules rules_;
  ConfidenceSequence sequence_;  ///< Of log(incumbent / candidate).
};

}  // namespace cuco::measure
