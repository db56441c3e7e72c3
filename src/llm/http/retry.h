// SPDX-License-Identifier: Apache-2.0
/// \file
/// When to ask again: pauses that double, with jitter from a seed, so that runs repeat and clients
/// that failed together do not come back together.
#pragma once

#include <chrono>

#include "base/rng.h"

namespace cuco::llm {

struct RetryPolicy {
  int attempts = 6;
  std::chrono::milliseconds first_pause{1000};
  std::chrono::milliseconds longest_pause{60'000};
};

/// HTTP statuses after which the same request may succeed: 408, 409, 429, and 5xx but for those
/// that say that the server will never do it.
[[nodiscard]] bool is_passing_status(long status);

/// The pauses of one question, in order.
class Backoff {
 public:
  Backoff(const RetryPolicy& policy, std::uint64_t seed)
      : policy_(policy), pause_(policy.first_pause), rng_(seed) {}

  /// Between a half and the whole of the doubled pause, and never less than the server asked for:
  /// one that names a time knows better.
  [[nodiscard]] std::chrono::milliseconds next(std::chrono::milliseconds asked_for);

 private:
  RetryPolicy policy_;
  std::chrono::milliseconds pause_;
  Rng rng_;
};

}  // namespace cuco::llm
