// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host-driven collectives on the modelled network: kernels tell when they have met and copy; they
/// may end when the network's time is over, too. Used by the network's thread alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loopback/nccl/clique.h"
#include "loopback/network.h"

namespace cuco::loopback {

class HeldCollectives {
 public:
  /// `pacer` may hold nothing; `delay` comes on top. `errors` are by device.
  HeldCollectives(std::optional<Pacer>& pacer,
                  Nanoseconds delay,
                  bool is_pacing,
                  std::vector<PacingError>& errors)
      : pacer_(pacer), delay_(delay), is_pacing_(is_pacing), errors_(errors) {}

  /// Reads what a communicator's kernels have told. How many events there were.
  std::uint64_t poll(Clique& clique, Nanoseconds now);

 private:
  void hold(Clique& clique, int rank, const Event& event, Nanoseconds now);
  void release(Clique& clique, std::size_t rank, Nanoseconds now);
  void settle(Clique& clique, std::size_t rank, Nanoseconds now);

  std::optional<Pacer>& pacer_;
  Nanoseconds delay_;
  bool is_pacing_;
  std::vector<PacingError>& errors_;
  /// From a release to what the kernel says of it; measured all the time.
  double ahead_ = 1500;
};

}  // namespace cuco::loopback
