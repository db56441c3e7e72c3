// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing/wait_demands.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/code.h"

namespace cuco::vgpu {

void WaitDemands::look(const Warp& warp, const Op& op, const AccessEvent& event) {
  // Delayed memory gives a thread what memory does not hold any more, or yet.
  if (warp.grid->weak != nullptr || event.bytes > sizeof(std::uint64_t)) return;
  const auto index = static_cast<std::uint32_t>(&op - warp.kernel->ops.data());
  const Place place{warp.grid->device, warp.kernel, index};
  for_active(event.lanes, [&](unsigned lane) {
    const Address address = event.addresses[lane];
    if (!warp.memory->valid(address, event.bytes)) return;
    std::uint64_t value = 0;
    std::memcpy(&value, Memory::at(address), event.bytes);
    auto last = last_.find({place, address});
    if (last != last_.end() && last->second > value) last = last_.end();  // it was set back
    // First what the last wait demanded, then one less than is there, two less, …
    std::array<std::uint64_t, WhatIf::kMostOthers> others{};
    others[0] = last == last_.end() ? value : last->second;
    for (std::size_t i = 1; i < others.size(); ++i)
      others[i] = value - i;
    const WhatIf::Answer answer = what_if_.ask(warp, op, lane, value, others);
    const auto less = std::min(std::uint64_t(std::countr_one(answer.same >> 1U)), value);
    running_[{warp.grid, index, address}] = {.demanded = value - less,
                                             .accepts_the_last = (answer.same & 1U) != 0,
                                             .is_repeated = last != last_.end()};
  });
}

RepeatedWaits WaitDemands::end(const Grid& grid, std::uint32_t op) {
  RepeatedWaits waits;
  const auto begin = running_.lower_bound({&grid, op, 0});
  auto at = begin;
  for (; at != running_.end() && std::get<0>(at->first) == &grid && std::get<1>(at->first) == op;
       ++at) {
    const Look& look = at->second;
    if (look.is_repeated) waits.add({1, look.accepts_the_last ? 1U : 0U});
    last_[{{grid.device, grid.kernel, op}, std::get<2>(at->first)}] = look.demanded;
  }
  running_.erase(begin, at);
  return waits;
}

}  // namespace cuco::vgpu
