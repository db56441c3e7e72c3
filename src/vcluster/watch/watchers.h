// SPDX-License-Identifier: Apache-2.0
/// \file
/// Observers of kernels, each only where it was asked for: weak memory under an
/// adversarial schedule, or where deliveries are probed; the profiler.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "vcluster/core/cluster_options.h"
#include "vcluster/core/work.h"
#include "vcluster/watch/block_trace.h"
#include "vcluster/watch/run_report.h"
#include "vcluster/watch/timeline_log.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/gpu/observer_list.h"
#include "vgpu/timing/kernel_profile.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vcluster {

class Devices;

class Watchers {
 public:
  Watchers(const ClusterOptions& options, Devices& devices, WorkGraph& works);

  /// Lets them observe a GPU, beside an observer that is there already.
  void join(vgpu::Environment& environment);
  /// Writes what the options asked for. Once, when all is over.
  [[nodiscard]] Result<void> write_report() const;
  /// What has ended since the beginning or the last forget(); deliveries only for a timeline.
  [[nodiscard]] std::string brief_report() const;
  void forget();
  /// Where the NICs note what they delivered; null: nobody wants to know.
  [[nodiscard]] std::vector<vgpu::Delivery>* deliveries() {
    return profiler_ != nullptr ? &deliveries_ : nullptr;
  }

  /// Where host threads note what they call; null: nobody wants to know.
  [[nodiscard]] CallLog* calls() { return timeline_ != nullptr ? &timeline_->calls : nullptr; }
  /// Where launches, copies and collectives are noted; null: nobody wants to know.
  [[nodiscard]] BlockTrace* blocks() { return blocks_.get(); }

 private:
  [[nodiscard]] const BlockRecord* blocks_record() const;
  /// Null: neither deliveries nor addresses.
  [[nodiscard]] RunRecord record(const std::vector<vgpu::Delivery>* deliveries) const;

  const ClusterOptions& options_;
  Devices& devices_;
  std::unique_ptr<vgpu::Profiler> profiler_;
  std::vector<vgpu::Delivery> deliveries_;
  std::vector<FinishedWork> works_;
  double carried_before_ = 0;  ///< By the links, up to the last forget().
  std::unique_ptr<TimelineLog> timeline_;
  std::unique_ptr<BlockTrace> blocks_;
  std::unique_ptr<vgpu::WeakMemory> weak_;
  std::vector<vgpu::AccessObserver*> observers_;
  std::vector<std::unique_ptr<vgpu::ObserverList>> lists_;
};

}  // namespace cuco::vcluster
