// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace cuco::fabric {
namespace {

// A copy inside one GPU reads and writes its memory; the rate only has to be far above any wire.
constexpr double kLocalGigabytesPerSecond = 1500;
constexpr Time kLocalLatency = 500'000;

}  // namespace

Time serialisation_time(double bytes, double gigabytes_per_second) {
  return static_cast<Time>(std::ceil(bytes * 1000.0 / gigabytes_per_second));
}

Fabric::Fabric(Topology topology, const hardware::NcclCosts& costs)
    : topology_(std::move(topology)),
      costs_(costs),
      ports_(static_cast<std::size_t>(topology_.gpus())) {}

void Fabric::set_lateness(const Lateness& lateness) {
  lateness_ = lateness;
  rng_ = Rng(lateness.seed);
}

Time Fabric::draw_lateness() {
  ++deliveries_;
  if (lateness_.most <= 0) return lateness_.always;
  return lateness_.always +
         static_cast<Time>(rng_.below(static_cast<std::uint64_t>(lateness_.most) + 1));
}

Route Fabric::route(int source, int destination) const {
  if (source == destination) return Route::Local;
  return topology_.same_domain(source, destination) ? Route::LoadStore : Route::Nic;
}

Transfer Fabric::transfer(
    Route via, int source, int destination, std::uint64_t bytes, Time start, const Limits& limits) {
  const auto size = static_cast<double>(bytes);
  if (via == Route::Local) {
    const Time end = start + kLocalLatency + serialisation_time(size, kLocalGigabytesPerSecond);
    return {end, end};
  }
  carried_ += size;
  // Two nodes without NICs still have sockets; a host-driven program may use them.
  const Link fallback{5, 30'000'000, 1'000'000, "socket"};
  const Link& link =
      via == Route::LoadStore ? topology_.load_store : (topology_.nic ? *topology_.nic : fallback);
  Ports& from = ports_[static_cast<std::size_t>(source)];
  Ports& to = ports_[static_cast<std::size_t>(destination)];
  Pipe& out = via == Route::LoadStore ? from.load_store_out : from.nic_out;
  Pipe& in = via == Route::LoadStore ? to.load_store_in : to.nic_in;
  const auto time_at = [&](double limit) {
    return serialisation_time(size, limit > 0 ? std::min(limit, link.rate()) : link.rate());
  };
  const Time wire = time_at(limits.port_gigabytes_per_second);
  // A slow sender leaves room in the ports for others.
  const Time own = std::max(wire, time_at(limits.gigabytes_per_second));
  const Time leaves = std::max(start, out.free_at);
  out.free_at = leaves + std::max(wire, link.message_gap);
  const Time enters = std::max(leaves + link.latency, in.free_at);
  in.free_at = enters + wire;
  return {leaves + own, enters + own + draw_lateness()};
}

Time Fabric::host_copy(int gpu, bool to_device, std::uint64_t bytes, Time start) {
  Ports& ports = ports_[static_cast<std::size_t>(gpu)];
  Pipe& pipe = to_device ? ports.to_device : ports.from_device;
  const Time begins = std::max(start, pipe.free_at);
  pipe.free_at =
      begins + serialisation_time(static_cast<double>(bytes), topology_.host.gigabytes_per_second);
  return pipe.free_at + topology_.host.latency;
}

Time Fabric::collective(std::span<const int> gpus, Time start, Time duration, Time wire) {
  const bool spans_nodes = std::any_of(
      gpus.begin(), gpus.end(), [&](int gpu) { return !topology_.same_domain(gpu, gpus.front()); });
  Time begins = start;
  for (const int gpu : gpus) {
    CUCO_ASSERT(gpu >= 0 && gpu < topology_.gpus());
    const Ports& ports = ports_[static_cast<std::size_t>(gpu)];
    begins = std::max({begins, ports.load_store_out.free_at, ports.load_store_in.free_at});
    if (spans_nodes) begins = std::max({begins, ports.nic_out.free_at, ports.nic_in.free_at});
  }
  const Time end = begins + duration;
  const Link& link = spans_nodes && topology_.nic ? *topology_.nic : topology_.load_store;
  carried_ += static_cast<double>(gpus.size()) * static_cast<double>(wire) * link.rate() / 1000;
  for (const int gpu : gpus) {
    Ports& ports = ports_[static_cast<std::size_t>(gpu)];
    ports.load_store_out.free_at = ports.load_store_in.free_at = begins + wire;
    if (spans_nodes) ports.nic_out.free_at = ports.nic_in.free_at = begins + wire;
  }
  // The links are free again: only what they carried is late.
  return end + draw_lateness();
}

}  // namespace cuco::fabric
