// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/resource_layout.h"

#include <algorithm>
#include <numeric>

#include "nccl_core/abi_2_28.h"

namespace cuco::nccl_core {
namespace {

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace

ResourceLayout lay_out_resources(std::span<const ResourceNeed> needs,
                                 std::uint32_t user_signals,
                                 std::uint32_t user_counters,
                                 int gin_contexts) {
  ResourceLayout layout;
  layout.signals = user_signals;
  layout.counters = user_counters;
  std::uint64_t offset = 0;
  for (const ResourceNeed& need : needs) {
    offset = align_up(offset, std::max(abi_2_28::kResourceUnit, need.align));
    layout.grants.push_back({static_cast<std::uint32_t>(offset / abi_2_28::kResourceUnit),
                             layout.signals, layout.counters});
    offset += need.bytes;
    layout.signals += need.signals;
    layout.counters += need.counters;
  }
  layout.shadow_offset = align_up(offset, abi_2_28::kResourceUnit);
  layout.bytes = layout.shadow_offset +
                 static_cast<std::uint64_t>(gin_contexts) * layout.signals * sizeof(std::uint64_t);
  return layout;
}

ResourceNeed lsa_barrier_need(int barriers, int team_ranks) {
  const auto n = static_cast<std::uint64_t>(barriers);
  return {(3 * n + n * static_cast<std::uint64_t>(team_ranks)) * 4, 4, 0, 0};
}

ResourceNeed gin_barrier_need(int barriers) {
  const auto n = static_cast<std::uint32_t>(barriers);
  return {std::uint64_t{n} * abi_2_28::kMaxGinContexts * 4, 4, n, 0};
}

ResourceNeed lla2a_need(int blocks, int slots) {
  return {static_cast<std::uint64_t>(blocks) * (1 + 2 * static_cast<std::uint64_t>(slots)) * 16, 16,
          0, 0};
}

int lla2a_slots(int max_elements, int max_element_bytes) {
  return max_elements * ((max_element_bytes + 7) / 8);
}

int lsa_team_size(std::span<const int> domains) {
  int size = 0;
  for (std::size_t first = 0; first < domains.size();) {
    std::size_t last = first;
    while (last < domains.size() && domains[last] == domains[first])
      ++last;
    size = std::gcd(size, static_cast<int>(last - first));
    first = last;
  }
  return std::max(size, 1);
}

}  // namespace cuco::nccl_core
