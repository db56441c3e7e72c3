// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of what kernels load from and store to other GPUs' memory and the host's.
///
/// The fabric's pipes want requests in order of time; warps run ahead of each other by
/// microseconds. So kernels have ports of their own, whose pipes keep how busy each moment is.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology.h"
#include "vgpu/timing/pipe.h"
#include "vgpu/timing/time.h"

namespace cuco::vcluster {

class KernelPorts {
 public:
  explicit KernelPorts(const fabric::Topology& topology);

  /// An access by a kernel on GPU `gpu` to memory of `owner` (a GPU, or vgpu::kHostOwner): when the
  /// data is there.
  vgpu::VTime access(
      unsigned gpu, unsigned owner, std::uint64_t bytes, bool store, vgpu::VTime when);

 private:
  struct Ports {
    vgpu::Pipe<16, 1024> out;
    vgpu::Pipe<16, 1024> in;
    vgpu::Pipe<16, 1024> host;
  };
  const fabric::Topology topology_;
  std::vector<Ports> ports_;
};

}  // namespace cuco::vcluster
