// SPDX-License-Identifier: Apache-2.0
/// \file
/// Simulation: a whole search on a landscape.
#pragma once

#include <vector>

#include "candidate/store.h"
#include "search/forecast/design_forecast.h"
#include "search/landscape/landscape.h"
#include "search/policy.h"

namespace cuco::search {

struct Simulated {
  double speedup = 1;   ///< The winner's; 1 if there is none.
  int candidates = 0;   ///< That were asked for, the seed included.
  int to_within_1 = 0;  ///< So many until one had 99 % of the landscape's best; 0: never.
  bool operator==(const Simulated&) const = default;
};

/// With an empty store. The same landscape, policy, seed, budget and prior give the same result.
/// `prior`: what earlier runs let expect of designs; who enumerates starts with what promises most.
[[nodiscard]] Result<Simulated> simulate(const Landscape& landscape,
                                         const Policy& policy,
                                         std::uint64_t seed,
                                         int candidates,
                                         candidate::CandidateStore& store,
                                         const DesignForecast::Prior& prior = {});

/// Middle value; of an even number the lower one. The list must not be empty.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace cuco::search
