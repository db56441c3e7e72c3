// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a run's models cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/store.h"

namespace cuco::report {

/// What calls took together.
struct Sum {
  int calls = 0;
  std::int64_t prompt = 0, answer = 0, cached = 0, reasoning = 0, lost = 0;
  double dollars = 0;
  int unpriced = 0;  ///< Calls whose price nobody knows.
  double seconds = 0;

  void add(const candidate::Exchange& exchange);
  [[nodiscard]] std::string price() const;
  [[nodiscard]] Json json() const;
};

/// All that a run's events say about its calls.
struct Costs {
  Sum all;
  std::map<std::string, Sum> by_model, by_role;
  std::map<int, Sum> by_candidate;           ///< -1: of no candidate.
  std::map<std::string, std::int64_t> open;  ///< Reserved, and never answered.

  [[nodiscard]] Json json() const;
};

[[nodiscard]] Costs costs_of(const std::vector<candidate::Event>& events);

}  // namespace cuco::report
