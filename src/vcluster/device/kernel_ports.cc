// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/kernel_ports.h"

#include <algorithm>

namespace cuco::vcluster {

using vgpu::VTime;

namespace {

/// Of the bytes that a load asks for: NVLink moves flits of 16 bytes, and a request for a line of
/// 128 takes two. Makes multimem as slow as published (tests/data/collectives/device.csv).
constexpr double kRequestShare = 0.25;

}  // namespace

KernelPorts::KernelPorts(fabric::Fabric& fabric)
    : fabric_(fabric), ports_(static_cast<std::size_t>(fabric.topology().gpus())) {}

VTime KernelPorts::access(unsigned gpu, const vgpu::RemoteRequest& request) {
  Ports& own = ports_[gpu];
  const bool is_host = request.owners.size() == 1 && request.owners[0] >= ports_.size();
  if (!is_host) fabric_.note_carried(request.bytes);
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

VTime KernelPorts::wire_time(double bytes) const {
  return fabric::serialisation_time(bytes, fabric_.topology().load_store.rate());
}

// The switch makes copies for all receivers: the sender's port carries the bytes once.
VTime KernelPorts::store(Ports& own, const vgpu::RemoteRequest& request) {
  const fabric::Link& link = fabric_.topology().load_store;
  const VTime wire = wire_time(static_cast<double>(request.bytes));
  VTime done = own.out.reserve(request.when, wire) + link.latency;
  for (const std::uint8_t owner : request.owners) {
    if (owner >= ports_.size()) continue;
    done = std::max(done, ports_[owner].in.reserve(request.when + link.latency, wire));
  }
  return done;
}

// The request travels there, the data back; of several, the switch sends on their sum. Requests
// take room of what is sent the other way.
VTime KernelPorts::load(Ports& own, const vgpu::RemoteRequest& request) {
  const VTime latency = fabric_.topology().load_store.latency;
  const VTime wire = wire_time(static_cast<double>(request.bytes));
  const VTime ask = wire_time(static_cast<double>(request.bytes) * kRequestShare);
  const VTime asked = own.out.reserve(request.when, ask) + latency / 2;
  VTime done = own.in.reserve(asked + latency, wire);
  for (const std::uint8_t owner : request.owners) {
    if (owner >= ports_.size()) continue;
    Ports& theirs = ports_[owner];
    const VTime heard = theirs.in.reserve(asked, ask);
    done = std::max(done, theirs.out.reserve(heard, wire) + latency);
  }
  return done;
}

}  // namespace cuco::vcluster
