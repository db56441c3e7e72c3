// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jumps: which design nobody has tried promises most, by the forecast.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "candidate/plan.h"
#include "search/forecast/design_forecast.h"

namespace cuco::search {

/// Whether a design makes sense for this program here; empty: all do.
using IsValid = std::function<bool(const design::Directive&)>;

struct Jump {
  design::Directive directive;
  candidate::Number parent = candidate::kSeed;  ///< The most like it that is correct.
  candidate::Forecast forecast;
};

/// A design is made of one of the fastest ones, with one or two dimensions as others in the run
/// have them. `asked` are not proposed again. Nothing: none promises anything.
[[nodiscard]] std::optional<Jump> best_jump(const DesignForecast& forecast,
                                            const std::set<design::Directive>& asked,
                                            const IsValid& is_valid);

}  // namespace cuco::search
