// SPDX-License-Identifier: Apache-2.0
#include "loopback/sm_plan.h"

#include <algorithm>

namespace cuco::loopback {

int most_ranks(const SmSupply& supply) {
  return std::max(0, (supply.total - kLeastNetworkSms) / supply.step);
}

std::variant<SmPlan, std::string> plan_sms(const SmSupply& supply, int ranks) {
  if (ranks < 1) return "loopback needs at least one rank: " + std::to_string(ranks);
  const int per_rank = (supply.total - kLeastNetworkSms) / ranks / supply.step * supply.step;
  if (per_rank < supply.step) {
    return std::to_string(ranks) + " ranks do not fit on this GPU: it has " +
           std::to_string(supply.total) + " multiprocessors, a rank needs " +
           std::to_string(supply.step) + " of its own and the network " +
           std::to_string(kLeastNetworkSms) + "; at most " + std::to_string(most_ranks(supply)) +
           " ranks do";
  }
  return SmPlan{per_rank, supply.total - per_rank * ranks};
}

}  // namespace cuco::loopback
