// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/devices.h"

#include <utility>

namespace cuco::vcluster {

Devices::Devices(const ClusterOptions& options)
    : options_(options),
      fabric_(options.topology, options.gpu.nccl),
      kernel_ports_(fabric_),
      adversary_(make_schedule(options.schedule_seed, count())) {
  set_extra_delay(0);
}

Result<std::unique_ptr<Devices>> Devices::create(const ClusterOptions& options) {
  std::unique_ptr<Devices> devices(new Devices(options));
  if (!options.copy_log.empty()) {
    CUCO_TRY_ASSIGN(devices->copy_log_, CopyLog::create(options.copy_log, options.keep_copies));
    if (options.keep_copies != 0) devices->written_types_ = std::make_unique<WrittenTypes>();
  }
  if (options.variation.key != 0) {
    devices->varied_inputs_ = std::make_unique<VariedInputs>(options.variation, devices->count());
  }
  CUCO_TRY_ASSIGN(devices->memory_, vgpu::Memory::create(devices->count()));
  return devices;
}

void Devices::add_gpus(const std::function<void(vgpu::Environment&)>& watch) {
  for (std::uint32_t device = 0; device < count(); ++device) {
    vgpu::Environment environment;
    watch(environment);
    environment.seed = options_.seed;
    if (!schedule().gpus.empty()) environment.schedule = schedule().gpus[device];
    environment.remote = [this, device](const vgpu::RemoteRequest& request) {
      return kernel_ports_.access(device, request);
    };
    gpus_.push_back(
        std::make_unique<vgpu::Gpu>(device, options_.gpu, *memory_, std::move(environment)));
  }
}

void Devices::set_extra_delay(VTime delay) {
  fabric_.set_lateness({.always = options_.delivery_delay + delay,
                        .spares_completions = options_.completions_on_time,
                        .most = schedule().delivery_delay,
                        .seed = schedule().seed});
}

}  // namespace cuco::vcluster
