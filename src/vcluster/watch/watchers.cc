// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/watchers.h"

#include "vcluster/device/devices.h"
#include "vcluster/watch/run_report.h"

namespace cuco::vcluster {
namespace {

constexpr const char* kForTheJudge = "-";  // who asks for it while the run goes on

}  // namespace

Watchers::Watchers(const ClusterOptions& options, Devices& devices, WorkGraph& works)
    : options_(options), devices_(devices) {
  const Schedule& schedule = devices.schedule();
  vgpu::WeakMemory::Settings settings{.seed = schedule.seed,
                                      .stale_percent = schedule.stale_percent,
                                      .remote_delay = options.delivery_delay};
  if (schedule.is_plain()) settings.postpone_percent = 0;
  // Kernels deliver by storing to their peers, too.
  if (settings.remote_delay > 0) settings.history = 1U << 20U;
  if (settings.stale_percent > 0 || (settings.remote_delay > 0 && devices.count() > 1)) {
    weak_ = std::make_unique<vgpu::WeakMemory>(devices.memory(), settings);
    observers_.push_back(weak_.get());
  }
  if (devices.written_types() != nullptr) observers_.push_back(devices.written_types());
  if (!options.report.empty()) {
    profiler_ = std::make_unique<vgpu::Profiler>(options.report != kForTheJudge);
    works.log = &works_;
    observers_.push_back(profiler_.get());
  }
  if (options.timeline && profiler_ != nullptr) {
    timeline_ = std::make_unique<TimelineLog>(devices.memory(), deliveries_,
                                              options.topology.load_store.latency);
    observers_.push_back(timeline_.get());
  }
  if (options.blocks && profiler_ != nullptr) {
    blocks_ = std::make_unique<BlockTrace>();
    observers_.push_back(blocks_.get());
  }
}

const BlockRecord* Watchers::blocks_record() const {
  return blocks_ != nullptr ? &blocks_->record() : nullptr;
}

RunRecord Watchers::record(const std::vector<vgpu::Delivery>* deliveries) const {
  const fabric::Fabric& fabric = devices_.fabric();
  return {.gpu = options_.gpu.key,
          .profiler = *profiler_,
          .works = works_,
          .transfers = deliveries == nullptr ? 0 : fabric.deliveries(),
          .wire_bytes = fabric.carried_bytes() - carried_before_,
          .deliveries = deliveries,
          .timeline = timeline_.get(),
          .blocks = blocks_record()};
}

Result<void> Watchers::write_report() const {
  if (profiler_ == nullptr || options_.report == kForTheJudge) return {};
  std::vector<vgpu::Delivery> all = deliveries_;
  if (weak_ != nullptr) {
    all.insert(all.end(), weak_->remote_stores().begin(), weak_->remote_stores().end());
  }
  return system::write_file(options_.report, report_of(record(&all)));
}

std::string Watchers::brief_report() const {
  if (profiler_ == nullptr) return "{}";
  return report_of(record(timeline_ == nullptr ? nullptr : &deliveries_));
}

void Watchers::forget() {
  works_.clear();
  deliveries_.clear();
  carried_before_ = devices_.fabric().carried_bytes();
  if (profiler_ != nullptr) profiler_->forget();
  if (timeline_ != nullptr) timeline_->forget();
  if (blocks_ != nullptr) blocks_->forget();
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
