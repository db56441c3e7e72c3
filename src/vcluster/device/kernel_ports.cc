// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/kernel_ports.h"

#include <algorithm>

namespace cuco::vcluster {

using vgpu::VTime;

KernelPorts::KernelPorts(fabric::Fabric& fabric)
    : fabric_(fabric), ports_(static_cast<std::size_t>(fabric.topology().gpus())) {}

VTime KernelPorts::access(unsigned gpu, const vgpu::RemoteRequest& request) {
  Ports& own = ports_[gpu];
  const bool is_host = request.owners.size() == 1 && request.owners[0] >= ports_.size();
  const VTime done = is_host         ? host_access(own, request)
                     : request.store ? store(own, request)
                                     : load(own, request);
  return request.asynchronous && !is_host ? done + fabric_.draw_lateness() : done;
}

VTime KernelPorts::host_access(Ports& own, const vgpu::RemoteRequest& request) {
  const fabric::Link& link = fabric_.topology().host;
  const VTime wire =
      fabric::serialisation_time(static_cast<double>(request.bytes), link.gigabytes_per_second);
  const VTime sent = own.host.reserve(request.when, wire) + link.latency;
  return request.store ? sent : sent + link.latency;
}

// The switch makes copies for all receivers: the sender's port carries the bytes once.
VTime KernelPorts::store(Ports& own, const vgpu::RemoteRequest& request) {
  const fabric::Link& link = fabric_.topology().load_store;
  const VTime wire =
      fabric::serialisation_time(static_cast<double>(request.bytes), link.gigabytes_per_second);
  VTime done = own.out.reserve(request.when, wire) + link.latency;
  for (const std::uint8_t owner : request.owners) {
    if (owner >= ports_.size()) continue;
    done = std::max(done, ports_[owner].in.reserve(request.when + link.latency, wire));
  }
  return done;
}

// The request travels there, the data back; of several, the switch sends on their sum.
VTime KernelPorts::load(Ports& own, const vgpu::RemoteRequest& request) {
  const fabric::Link& link = fabric_.topology().load_store;
  const VTime wire =
      fabric::serialisation_time(static_cast<double>(request.bytes), link.gigabytes_per_second);
  const VTime asked = request.when + link.latency / 2;
  VTime done = own.in.reserve(asked + link.latency, wire);
  for (const std::uint8_t owner : request.owners) {
    if (owner >= ports_.size()) continue;
    done = std::max(done, ports_[owner].out.reserve(asked, wire) + link.latency);
  }
  return done;
}

}  // namespace cuco::vcluster
