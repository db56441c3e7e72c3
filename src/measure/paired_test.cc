// SPDX-License-Identifier: Apache-2.0
// With n samples, t the one-sample statistic against m, v = n - 1 and g the prior variance of the
// effect size, the Bayes factor is (Rouder et al. 2009, normal prior)
//
//   B = (1 + n g)^(-1/2) * [ (1 + t^2/v) / (1 + t^2/((1 + n g) v)) ]^((v + 1) / 2)
//
// Solving B = 1/alpha for t^2 gives the interval in closed form: with r = ((1 + n g)^(1/2) /
// alpha)^(2/n),
//
//   t^2 = v (r - 1) / (1 - r / (1 + n g)),   unbounded while r >= 1 + n g.
#include "measure/paired_test.h"

#include <algorithm>
#include <cmath>

namespace cuco::measure {

void ConfidenceSequence::add(double sample) {
  ++count_;
  const double difference = sample - mean_;
  mean_ += difference / static_cast<double>(count_);
  squares_ += difference * (sample - mean_);
  if (count_ < 2) return;
  const auto n = static_cast<double>(count_);
  const double spread = 1 + n * prior_;
  const double r = std::pow(std::sqrt(spread) / alpha_, 2 / n);
  if (r >= spread) return;
  const double t = std::sqrt((n - 1) * (r - 1) / (1 - r / spread));
  const double half = t * deviation() / std::sqrt(n);
  interval_.low = std::max(interval_.low, mean_ - half);
  interval_.high = std::min(interval_.high, mean_ + half);
}

double ConfidenceSequence::deviation() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

double ConfidenceSequence::evidence_against(double m) const {
  if (count_ < 2) return 1;
  const auto n = static_cast<double>(count_);
  const double v = n - 1;
  const double spread = 1 + n * prior_;
  const double s = deviation();
  if (s == 0) return mean_ == m ? 1 / std::sqrt(spread) : std::pow(spread, v / 2);
  const double t2 = n * (mean_ - m) * (mean_ - m) / (s * s);
  return std::pow(spread, -0.5) * std::pow((1 + t2 / v) / (1 + t2 / (spread * v)), n / 2);
}

void PairedTest::add(double incumbent, double candidate) {
  sequence_.add(std::log(incumbent / candidate));
}

Decision PairedTest::decision() const {
  if (pairs() < rules_.minimum_pairs) return Decision::Continue;
  const double wanted = std::log1p(rules_.minimum_gain);
  const Interval interval = sequence_.interval();
  if (interval.low > wanted) return Decision::Promote;
  if (interval.high < wanted || pairs() >= rules_.maximum_pairs) return Decision::Reject;
  return Decision::Continue;
}

double PairedTest::speedup() const {
  return std::exp(sequence_.mean());
}

Interval PairedTest::speedup_interval() const {
  const Interval interval = sequence_.interval();
  return {std::exp(interval.low), std::exp(interval.high)};
}

}  // namespace cuco::measure
