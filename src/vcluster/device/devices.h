// SPDX-License-Identifier: Apache-2.0
/// \file
/// The hardware of the cluster: memory, GPUs, links, and the schedule that they keep.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"
#include "vcluster/core/cluster_options.h"
#include "vcluster/core/cluster_schedule.h"
#include "vcluster/device/kernel_ports.h"
#include "vcluster/device/varied_inputs.h"
#include "vcluster/record/copy_log.h"
#include "vcluster/watch/written_types.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

class Devices {
 public:
  /// Without GPUs: whoever watches them needs the memory first.
  [[nodiscard]] static Result<std::unique_ptr<Devices>> create(const ClusterOptions& options);
  /// Makes the GPUs; `watch` sets the observers of each.
  void add_gpus(const std::function<void(vgpu::Environment&)>& watch);

  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(options_.topology.gpus());
  }
  [[nodiscard]] const hardware::GpuDescription& description() const { return options_.gpu; }
  [[nodiscard]] const fabric::Topology& topology() const { return options_.topology; }
  [[nodiscard]] vgpu::Memory& memory() const { return *memory_; }
  [[nodiscard]] vgpu::Gpu& gpu(std::int32_t device) const {
    return *gpus_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] std::span<const std::unique_ptr<vgpu::Gpu>> gpus() const { return gpus_; }
  [[nodiscard]] fabric::Fabric& fabric() { return fabric_; }
  [[nodiscard]] Adversary& adversary() { return adversary_; }
  [[nodiscard]] const Schedule& schedule() const { return adversary_.schedule(); }
  /// Null: nobody asked for one.
  [[nodiscard]] CopyLog* copy_log() const { return copy_log_.get(); }
  /// Null: nobody compares contents.
  [[nodiscard]] WrittenTypes* written_types() const { return written_types_.get(); }

  /// Null: programs get their own data.
  [[nodiscard]] VariedInputs* varied_inputs() const { return varied_inputs_.get(); }

  /// From now on, every delivery between GPUs comes so much later than options and links say.
  void set_extra_delay(VTime delay);

 private:
  explicit Devices(const ClusterOptions& options);

  const ClusterOptions& options_;
  std::unique_ptr<vgpu::Memory> memory_;
  std::vector<std::unique_ptr<vgpu::Gpu>> gpus_;
  fabric::Fabric fabric_;
  KernelPorts kernel_ports_;
  Adversary adversary_;
  std::unique_ptr<CopyLog> copy_log_;
  std::unique_ptr<WrittenTypes> written_types_;
  std::unique_ptr<VariedInputs> varied_inputs_;
};

}  // namespace cuco::vcluster
