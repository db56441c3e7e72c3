// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of what kernels load from and store to other GPUs' memory and the host's.
///
/// The fabric's pipes want requests in order of time; warps run ahead of each other by
/// microseconds. So kernels have ports of their own, whose pipes keep how busy each moment is.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/timing/pipe.h"
#include "vgpu/timing/time.h"

namespace cuco::vcluster {

class KernelPorts {
 public:
  /// `fabric` must live as long: it says how late copies arrive that nobody waits for.
  explicit KernelPorts(fabric::Fabric& fabric);

  /// An access by a kernel on GPU `gpu` to memory of others: when the data is there.
  vgpu::VTime access(unsigned gpu, const vgpu::RemoteRequest& request);

 private:
  struct Ports {
    vgpu::Pipe<16, 1024> out;
    vgpu::Pipe<16, 1024> in;
    vgpu::Pipe<16, 1024> host;
  };
  [[nodiscard]] vgpu::VTime wire_time(double bytes) const;
  vgpu::VTime host_access(Ports& own, const vgpu::RemoteRequest& request);
  vgpu::VTime store(Ports& own, const vgpu::RemoteRequest& request);
  vgpu::VTime load(Ports& own, const vgpu::RemoteRequest& request);

  fabric::Fabric& fabric_;
  std::vector<Ports> ports_;
};

}  // namespace cuco::vcluster
