// SPDX-License-Identifier: Apache-2.0
/// \file
/// Does every wait of a line ask for more than the wait before it did?
///
/// A wait for an epoch does: what satisfied the last one cannot satisfy this one. A wait for a flag
/// that nobody takes back does not.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "vgpu/exec/what_if.h"
#include "vgpu/gpu/observer.h"
#include "vgpu/memory/memory.h"

namespace cuco::vgpu {

/// Of one line in one launch: words that an earlier launch waited for there, too.
struct RepeatedWaits {
  std::uint32_t all = 0;
  std::uint32_t accept_the_last = 0;  ///< What the earlier one demanded would satisfy it.

  void add(const RepeatedWaits& other) {
    all += other.all;
    accept_the_last += other.accept_the_last;
  }
};

class WaitDemands {
 public:
  /// A strong load, before it takes effect. The last one of a launch is the one that went on.
  void look(const Warp& warp, const Op& op, const AccessEvent& event);
  /// What `grid` waited for at an op; from now on that is the last time.
  [[nodiscard]] RepeatedWaits end(const Grid& grid, std::uint32_t op);

 private:
  struct Look {
    std::uint64_t demanded = 0;  ///< The smallest value that would have done.
    bool accepts_the_last = false;
    bool is_repeated = false;
  };
  /// Kernels are named by their code, which graphs and streams share.
  using Place = std::tuple<unsigned, const Kernel*, std::uint32_t>;

  WhatIf what_if_;
  std::map<std::pair<Place, Address>, std::uint64_t> last_;
  std::map<std::tuple<const Grid*, std::uint32_t, Address>, Look> running_;
};

}  // namespace cuco::vgpu
