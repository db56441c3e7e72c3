// SPDX-License-Identifier: Apache-2.0
#include "llm/http/retry.h"

#include <algorithm>

namespace cuco::llm {

bool is_passing_status(long status) {
  constexpr long kNotImplemented = 501, kVersion = 505;
  if (status == 408 || status == 409 || status == 429) return true;
  return status >= 500 && status != kNotImplemented && status != kVersion;
}

std::chrono::milliseconds Backoff::next(std::chrono::milliseconds asked_for) {
  const double share = 0.5 + 0.5 * rng_.uniform();
  const std::chrono::milliseconds own(
      static_cast<std::int64_t>(share * static_cast<double>(pause_.count())));
  pause_ = std::min(pause_ * 2, policy_.longest_pause);
  return std::max(own, asked_for);
}

}  // namespace cuco::llm
