// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watchers.h"

#include "vcluster/cluster.h"

namespace cuco::vcluster {

Watchers::Watchers(Cluster& cluster) {
  const Schedule& schedule = cluster.adversary.schedule();
  if (schedule.stale_percent > 0) {
    weak_ = std::make_unique<vgpu::WeakMemory>(
        *cluster.memory,
        vgpu::WeakMemory::Settings{.seed = schedule.seed, .stale_percent = schedule.stale_percent});
    observers_.push_back(weak_.get());
  }
}

void Watchers::join(vgpu::Environment& environment) {
  environment.weak = weak_.get();
  if (observers_.empty()) return;
  if (environment.observer == nullptr && observers_.size() == 1) {
    environment.observer = observers_.front();
    return;
  }
  std::vector<vgpu::AccessObserver*> all = observers_;
  if (environment.observer != nullptr) all.insert(all.begin(), environment.observer);
  lists_.push_back(std::make_unique<vgpu::ObserverList>(std::move(all)));
  environment.observer = lists_.back().get();
}

}  // namespace cuco::vcluster
