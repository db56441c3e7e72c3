// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the queues, signals and counters of one device communicator lie, by rank and context.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loopback/nccl/clique.h"
#include "nccl_core/abi_2_28.h"

namespace cuco::loopback {

inline constexpr std::uint32_t kGinQueue = 128;

struct GinSet {
  std::shared_ptr<Clique> clique;
  int contexts = 0;
  std::uint32_t signals = 0, counters = 0;
  struct Context {
    Address handle = 0;  ///< The proxy context in device memory.
    nccl_core::abi_2_28::GinProxyContext proxy{};
  };
  std::vector<std::vector<Context>> ranks;  ///< By rank and context.
};

/// Makes one for all ranks.
[[nodiscard]] std::shared_ptr<GinSet> make_gin_set(const std::shared_ptr<Clique>& clique,
                                                   int contexts,
                                                   std::uint32_t signals,
                                                   std::uint32_t counters);

}  // namespace cuco::loopback
