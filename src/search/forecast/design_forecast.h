// SPDX-License-Identifier: Apache-2.0
/// \file
/// DesignForecast: what a design may be expected to reach before anybody has built it, from what
/// other designs reached in this run and what earlier runs have taught.
///
/// The logarithm of the speed-up is a Gaussian process over designs: a sum of what each dimension
/// does by itself, and of what all of them do together. So few verdicts are enough to tell which
/// values help, and how sure that is comes with it: a design that resembles nothing known has a
/// wide interval.
///
/// Whether a design works at all is a model of its own: the share of those like it that did. How
/// far that likeness reaches is what would have foretold the verdicts so far best; where failures
/// strike at random, all designs count alike.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "candidate/candidate.h"

namespace cuco::search {

class DesignForecast {
 public:
  /// Speed-up over the seed that a design has where nothing is known; 1 unless somebody knows.
  using Prior = std::function<double(const design::Directive&)>;

  DesignForecast() = default;
  explicit DesignForecast(Prior prior) : prior_(std::move(prior)) {}

  /// What is known of one design.
  struct Known {
    int tries = 0;
    int correct = 0;
    double speedup = 0;  ///< Of the fastest.
    candidate::Number best = candidate::kSeed;
    std::size_t age = 0;  ///< When it was last learnt of.
  };

  /// A candidate of that design has reached this speed-up over the seed; 0: it is not correct.
  void learn(const design::Directive& directive, candidate::Number number, double speedup);

  [[nodiscard]] candidate::Forecast expect(const design::Directive& directive) const;

  /// How much more than `speedup` may be hoped for: the mean of what lies above it, as a logarithm,
  /// times the chance that it works. `unnamed`: how far it may be off by what designs do not name,
  /// beside what programs of one design have differed by.
  [[nodiscard]] double promise(const design::Directive& directive,
                               double speedup,
                               double unnamed = 0) const;

  [[nodiscard]] const std::map<design::Directive, Known>& known() const { return known_; }

 private:
  /// The process fitted to what is known.
  struct Fit {
    std::vector<design::Directive> designs;
    std::vector<double> factor;   ///< Lower triangle of the Cholesky factor, row by row.
    std::vector<double> weights;  ///< Of the designs, for the mean.
    double variance = 0;          ///< Of one dimension's part.
    double mean = 0;
    double noise = 0;  ///< Variance of what a design does not name.
  };
  struct Normal {
    double mean = 0;
    double deviation = 0;
  };

  [[nodiscard]] const Fit& fit() const;
  [[nodiscard]] std::vector<design::Directive> chosen() const;
  [[nodiscard]] double prior(const design::Directive& directive) const;
  [[nodiscard]] Normal gain(const design::Directive& directive) const;
  [[nodiscard]] double chance(const design::Directive& directive) const;
  /// By which likeness in correctness decays with the distance of two designs.
  [[nodiscard]] double reach() const;

  Prior prior_;
  std::map<design::Directive, Known> known_;
  std::size_t learnt_ = 0;
  mutable Fit fit_;
  mutable bool is_fitted_ = false;
  mutable double reach_ = 0;
  mutable std::size_t reach_of_ = 0;  ///< Verdicts that it was chosen by.
};

}  // namespace cuco::search
