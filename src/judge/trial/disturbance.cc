// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/disturbance.h"

#include <fmt/format.h>

namespace cuco::judge {
namespace {

/// Far longer than any honest iteration on a check shape, and than who waits for a while has
/// patience.
constexpr std::int64_t kLatePs = 200'000'000'000;  // 200 ms
constexpr std::int32_t kSlowdown = 64;
constexpr std::int64_t kProbePs = 100'000'000'000;  // 100 ms

}  // namespace

Disturbance hold_back(int iteration, int ranks, std::uint64_t choice) {
  const auto turn = (choice + static_cast<std::uint64_t>(iteration)) % static_cast<unsigned>(ranks);
  const int rank = static_cast<int>(turn);
  if (iteration % 2 == 0) {
    return {.handicap = {.rank = rank, .slowdown = kSlowdown},
            .name = fmt::format("rank {} computes {} times slower", rank, kSlowdown)};
  }
  return {.handicap = {.rank = rank, .ps = kLatePs},
          .name = fmt::format("rank {} starts {} us late", rank, kLatePs / 1'000'000)};
}

Disturbance delay_deliveries() {
  return {.handicap = {.delivery_delay_ps = kProbePs},
          .name = fmt::format("every delivery is {} us late", kProbePs / 1'000'000),
          .is_probe = true};
}

std::optional<candidate::Finding> judge_probe(std::uint64_t deliveries,
                                              double plain_seconds,
                                              double seconds) {
  const double delay = static_cast<double>(kProbePs) * 1e-12;
  const double grown = seconds - plain_seconds;
  if (deliveries == 0 || grown >= delay / 2) return std::nullopt;
  return candidate::Finding{
      .kind = "wait did not wait",
      .message = fmt::format("every delivery between GPUs was {:.0f} us late, and "
                             "the run took only {:.1f} us longer",
                             delay * 1e6, grown * 1e6),
      .where = {},
      .other = std::nullopt,
      .hint = "wait for what this iteration sends, not for what an earlier one has left"};
}

}  // namespace cuco::judge
