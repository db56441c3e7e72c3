// SPDX-License-Identifier: Apache-2.0
#include "workload/bound.h"

#include <algorithm>

namespace cuco::workload {
namespace {

/// Dense bf16 operations of one SM in a cycle, by any instruction: wgmma does more than mma.sync,
/// whose rate is what the description has.
double tensor_flops_per_cycle(const hardware::GpuDescription& gpu) {
  switch (gpu.compute_major) {
    case 8:
      return gpu.compute_minor == 0 ? 2048 : 1024;
    case 9:
      return 4096;
    case 10:
      return 8192;
    default:
      return 0;
  }
}

}  // namespace

measure::Peak peak_of(const hardware::GpuDescription& gpu,
                      const fabric::Topology& topology,
                      int ranks,
                      bool is_bf16) {
  const double cycles = gpu.sms * gpu.clock_ghz * 1e9;
  const double tensor =
      std::max(gpu.tensor_f16_tflops * 1e12, tensor_flops_per_cycle(gpu) * cycles);
  // A product of two fp32 numbers is three of their fp16 halves, to within fp32's own error.
  const double single = std::max(2 * gpu.float_lanes * cycles, tensor / 3);
  measure::Peak peak;
  peak.flops = is_bf16 ? tensor : single;
  const double on_paper = gpu.memory_bus_bits / 8.0 * 2 * gpu.memory_clock_ghz;
  peak.hbm_bytes = std::max(gpu.hbm_gbs, on_paper) * 1e9;
  const int domain = topology.domain_size();
  const bool uses_nic = topology.nic && domain < ranks;
  const fabric::Link& link = uses_nic && domain == 1 ? *topology.nic : topology.load_store;
  peak.wire_bytes = link.gigabytes_per_second * 1e9;
  peak.latency_seconds = static_cast<double>(link.latency) * 1e-12;
  // Several GPUs in each of several domains: what one GPU of a domain has got the others can get
  // from it, so a rank may have all of its data over both kinds of links at once.
  if (uses_nic && domain > 1) peak.wire_bytes += topology.nic->gigabytes_per_second * 1e9;
  peak.launch_seconds = gpu.gap_us * 1e-6;
  return peak;
}

Result<measure::Bound> bound_of(const Workload& workload,
                                const Shape& shape,
                                const hardware::GpuDescription& gpu,
                                const fabric::Topology& topology) {
  CUCO_TRY_ASSIGN(measure::Demand demand, workload.demand(shape));
  CUCO_TRY_ASSIGN(const std::string type, choose(workload.flops_type, workload.variables(shape)));
  // The last of what is written may still be in the L2 when the clock stops.
  CUCO_TRY_ASSIGN(const auto outputs, workload.buffers(workload.outputs, shape));
  double written = 0;
  for (const Buffer& buffer : outputs)
    written += static_cast<double>(buffer.bytes());
  demand.hbm_bytes -= std::min({demand.hbm_bytes, written, static_cast<double>(gpu.l2_bytes)});
  return measure::speed_of_light(demand, peak_of(gpu, topology, workload.ranks, type == "bf16"));
}

}  // namespace cuco::workload
