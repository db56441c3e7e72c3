// SPDX-License-Identifier: Apache-2.0
/// \file
/// What forecasts were worth in a run: what they saved, and what they got wrong.
#pragma once

#include <string>

#include "candidate/run_state.h"

namespace cuco::report {

struct ForecastRecord {
  int made = 0;              ///< Forecasts of candidates that were judged and are correct.
  int inside = 0;            ///< Of these: what they reached lies in the interval.
  double error = 0;          ///< Of these: median of how far off it was, as a fraction.
  int skipped = 0;           ///< Candidates that nobody judged.
  double saved_seconds = 0;  ///< What judging them would have taken, by the others' mean.
  int audited = 0;           ///< Hopeless by their forecast, and judged all the same;
  int wrong = 0;             ///< of these: reached more than it said was likely.
};

/// By the verdict at the lowest rung where there is one: that is what is forecast.
[[nodiscard]] ForecastRecord forecast_record(const candidate::RunState& state);

/// "12 forecasts, 9 % off (median), 11 within their interval; …"; empty where there are none.
[[nodiscard]] std::string forecast_text(const ForecastRecord& record);

}  // namespace cuco::report
