// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the multiprocessors of one GPU are divided: so many for each rank, the rest for the copies
/// of the modelled network.
#pragma once

#include <string>
#include <variant>

namespace cuco::loopback {

/// What the driver says about the GPU.
struct SmSupply {
  int total = 0;
  int step = 2;  ///< Partitions are multiples of this.
};

struct SmPlan {
  int per_rank = 0;
  int network = 0;
};

/// At least so many are left for copies: four gave 195 GB/s on an H200, a rank's link is 50.
inline constexpr int kLeastNetworkSms = 8;

[[nodiscard]] int most_ranks(const SmSupply& supply);
/// A sentence when so many ranks do not fit.
[[nodiscard]] std::variant<SmPlan, std::string> plan_sms(const SmSupply& supply, int ranks);

}  // namespace cuco::loopback
