// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waiting that ends when the user wants it to: no call to a model may hold a run up for minutes.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "system/jobs/process.h"

namespace cuco::llm {

/// Asked now and then; may be empty.
using Stopped = std::function<bool()>;

/// What a stopped wait gives.
[[nodiscard]] Error stopped_error();

/// As system::run_job(), but ends the job with stopped_error() when `stopped` says so.
[[nodiscard]] Result<system::JobOutcome> run_stoppable(const system::JobSpec& job,
                                                       const Stopped& stopped);

/// Sleeps in small steps.
[[nodiscard]] Result<void> sleep_stoppable(Clock& clock,
                                           Nanoseconds duration,
                                           const Stopped& stopped);

}  // namespace cuco::llm
