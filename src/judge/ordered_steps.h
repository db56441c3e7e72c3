// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps of a judgement, several at a time, with the answer of taking them one after the other.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "candidate/outcome.h"
#include "judge/judge_progress.h"

namespace cuco::judge {

class OrderedSteps {
 public:
  /// An outcome ends the judgement; nothing: it goes on.
  using Step = std::function<Result<std::optional<candidate::Outcome>>()>;

  void add(Step step) { steps_.push_back(std::move(step)); }

  /// What the first step says that says something, first in the order of add(): which verdict a
  /// program gets does not depend on the number of threads. Steps after it are not begun any more.
  /// `watch`, if any, is told how many of how many are done, from the threads that do them.
  [[nodiscard]] Result<std::optional<candidate::Outcome>> run(int threads,
                                                              const StepWatch& watch = {}) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace cuco::judge
