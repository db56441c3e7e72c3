// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a judgement is, for whoever waits for it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cuco::judge {

struct JudgeProgress {
  const std::string& program;  ///< The text that is judged: several may be at a time.
  std::size_t done = 0;
  std::size_t all = 0;  ///< Steps behind the build; 0: it is being built.
};

/// Called from the judge's threads, several at a time. May be empty.
using OnProgress = std::function<void(const JudgeProgress&)>;

/// The same for the steps of one judgement.
using StepWatch = std::function<void(std::size_t done, std::size_t all)>;

}  // namespace cuco::judge
