// SPDX-License-Identifier: Apache-2.0
/// \file
/// Those who look at kernels from inside, each only where it was asked for: weak memory under an
/// adversarial schedule.
#pragma once

#include <memory>
#include <vector>

#include "vgpu/gpu.h"
#include "vgpu/observer_list.h"
#include "vgpu/weak_memory.h"

namespace cuco::vcluster {

class Cluster;

class Watchers {
 public:
  explicit Watchers(Cluster& cluster);

  /// Lets them look at a GPU, beside whoever already does.
  void join(vgpu::Environment& environment);

 private:
  std::unique_ptr<vgpu::WeakMemory> weak_;
  std::vector<vgpu::AccessObserver*> observers_;
  std::vector<std::unique_ptr<vgpu::ObserverList>> lists_;
};

}  // namespace cuco::vcluster
