// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/kernel_ports.h"

#include <algorithm>

#include "fabric/fabric.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

using vgpu::VTime;

KernelPorts::KernelPorts(const fabric::Topology& topology)
    : topology_(topology), ports_(static_cast<std::size_t>(topology.gpus())) {}

VTime KernelPorts::access(
    unsigned gpu, unsigned owner, std::uint64_t bytes, bool store, VTime when) {
  const auto size = static_cast<double>(bytes);
  Ports& own = ports_[gpu];
  if (owner >= ports_.size()) {
    const VTime wire = fabric::serialisation_time(size, topology_.host.gigabytes_per_second);
    const VTime sent = own.host.reserve(when, wire) + topology_.host.latency;
    return store ? sent : sent + topology_.host.latency;
  }
  Ports& peer = ports_[owner];
  const fabric::Link& link = topology_.load_store;
  const VTime wire = fabric::serialisation_time(size, link.gigabytes_per_second);
  if (store) {
    const VTime sent = own.out.reserve(when, wire);
    return std::max(sent + link.latency, peer.in.reserve(when + link.latency, wire));
  }
  // The request travels there, the data back.
  const VTime asked = when + link.latency / 2;
  const VTime sent = peer.out.reserve(asked, wire);
  return std::max(sent + link.latency, own.in.reserve(asked + link.latency, wire));
}

}  // namespace cuco::vcluster
