// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which rank has called which host-driven collective, and whether the calls agree: the i-th of
/// every rank belong together. Sends and receives match in order between two ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nccl_core/collective.h"

namespace cuco::loopback {

class CollectiveLog {
 public:
  explicit CollectiveLog(int ranks) : ranks_(ranks), next_(static_cast<std::size_t>(ranks)) {}

  /// Adds the rank's next call. A problem when it contradicts what another rank called.
  [[nodiscard]] nccl_core::Check add(int rank, const nccl_core::Call& call);

  /// Calls that ranks have not made yet, one line each.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  struct Round {
    nccl_core::Call first;
    int first_rank = 0;
    std::vector<bool> present;
    int count = 0;
  };
  nccl_core::Check add_point(int rank, const nccl_core::Call& call);

  int ranks_;
  std::vector<std::uint64_t> next_;
  std::map<std::uint64_t, Round> open_;
  /// Sends (positive) or receives (negative) of a pair that have no partner: their calls in order.
  std::map<std::pair<int, int>, std::vector<nccl_core::Call>> unmatched_;
};

}  // namespace cuco::loopback
