// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/gin_set.h"

#include <algorithm>

#include "loopback/gpu/divided_gpu.h"
#include "nccl_core/gin_descriptor.h"

namespace cuco::loopback {

// Queues are in host memory, where the network's thread reads them; what kernels poll is in device
// memory, where the kernel that delivers writes it.
std::shared_ptr<GinSet> make_gin_set(const std::shared_ptr<Clique>& clique,
                                     int contexts,
                                     std::uint32_t signals,
                                     std::uint32_t counters) {
  Machine& machine = Machine::get();
  auto set = std::make_shared<GinSet>();
  set->clique = clique;
  set->contexts = contexts;
  set->signals = signals;
  set->counters = counters;
  const auto n = static_cast<std::uint64_t>(clique->ranks());
  for (int rank = 0; rank < clique->ranks(); ++rank) {
    auto& of_rank = set->ranks.emplace_back();
    for (int context = 0; context < contexts; ++context) {
      GinSet::Context& made = of_rank.emplace_back();
      made.proxy.n_ranks = clique->ranks();
      made.proxy.queue_size = kGinQueue;
      made.proxy.queues = reinterpret_cast<Address>(
          machine.host_bytes(n * kGinQueue * nccl_core::kGinDescriptorBytes));
      made.proxy.producer_indices = machine.device_bytes(n * sizeof(std::uint32_t));
      made.proxy.consumer_indices = machine.device_bytes(n * sizeof(std::uint32_t));
      // Never empty: the headers' code computes addresses of signal 0 even where nobody uses it.
      made.proxy.counters = machine.device_bytes(std::max(counters, 1U) * sizeof(std::uint64_t));
      made.proxy.signals = machine.device_bytes(std::max(signals, 1U) * sizeof(std::uint64_t));
      made.handle = machine.device_bytes(sizeof made.proxy);
      machine.upload(made.handle, &made.proxy, sizeof made.proxy);
    }
  }
  return set;
}

}  // namespace cuco::loopback
