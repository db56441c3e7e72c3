// SPDX-License-Identifier: Apache-2.0
/// \file
/// Incumbent: the fastest candidate so far at the rung where candidates come in.
#pragma once

#include "candidate/run.h"

namespace cuco::search {

class Incumbent {
 public:
  /// `start` is what to improve while nothing beats the seed.
  Incumbent(candidate::Run& run,
            candidate::Rung rung,
            candidate::Number number,
            candidate::Number start)
      : run_(run), rung_(rung), number_(number), start_(start) {}

  /// Takes its place if it is faster; whether it did.
  Result<bool> challenge(candidate::Number challenger) {
    CUCO_TRY_ASSIGN(const bool faster, run_.is_faster(challenger, number_, rung_));
    if (!faster) return false;
    number_ = challenger;
    CUCO_TRY(run_.set_best(number_));
    return true;
  }

  [[nodiscard]] candidate::Number to_improve() const {
    return number_ == candidate::kSeed ? start_ : number_;
  }
  [[nodiscard]] candidate::Number start() const { return start_; }
  [[nodiscard]] candidate::Rung rung() const { return rung_; }

 private:
  candidate::Run& run_;
  candidate::Rung rung_;
  candidate::Number number_;
  candidate::Number start_;
};

}  // namespace cuco::search
