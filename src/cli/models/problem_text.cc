// SPDX-License-Identifier: Apache-2.0
#include "cli/models/problem_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::cli {
namespace {
using workload::Use;
using workload::Workload;

constexpr double kMicrosecond = 1e6;  // of picoseconds

std::string range_text(const workload::Range& range) {
  if (!range.values.empty()) {
    std::vector<std::string> values;
    for (const long long value : range.values)
      values.push_back(std::to_string(value));
    return "one of " + join(values, ", ");
  }
  const auto step = range.step > 1 ? fmt::format(" in steps of {}", range.step) : "";
  return fmt::format("{} to {}{}", range.from, range.to, step);
}

std::string parameters_text(const Workload& workload) {
  std::string text = "Parameters, in the order of cuco_context.params:\n";
  for (std::size_t i = 0; i < workload.params.size(); ++i) {
    const auto range =
        i < workload.ranges.size() ? ": " + range_text(workload.ranges[i]) : std::string();
    text += fmt::format("- {}{}\n", workload.params[i], range);
  }
  return text;
}

std::string buffers_text(std::string_view what, const std::vector<workload::BufferRule>& rules) {
  std::string text;
  for (const auto& rule : rules)
    text += fmt::format("- {} {}: {} elements, {}\n", what, rule.name, rule.elements, rule.type);
  return text;
}

std::string tolerances_text(const Workload& workload) {
  std::string text =
      "An element is right if |got - want| <= relative * |want| + scaled * scale, want in double "
      "precision, scale the sum of the absolute values that were added up:\n";
  for (const auto& [element, tolerance] : workload.tolerance) {
    text += fmt::format("- {}: relative {:g}, scaled {:g}\n", workload::name_of(element),
                        tolerance.relative, tolerance.scaled);
  }
  return text;
}

std::string shapes_text(const Workload& workload) {
  std::string text = "Shapes:\n";
  for (const auto& shape : workload.shapes) {
    const bool timed = shape.uses.contains(Use::Time);
    const bool full = shape.uses.contains(Use::Full);
    if (!timed && !full) continue;
    std::vector<std::string> params;
    for (std::size_t i = 0; i < workload.params.size(); ++i)
      params.push_back(fmt::format("{} = {}", workload.params[i], shape.params[i]));
    text += fmt::format("- {} ({}): {}\n", shape.name,
                        timed && full ? "timed, and the score"
                        : full        ? "the score in the end"
                                      : "timed",
                        join(params, ", "));
  }
  return text +
         "A candidate is timed on the first of them alone at first; the better ones on all that "
         "are "
         "timed, and the best on the full ones, which decide.\n"
         "A shape of full size is timed as a part of its work on as small a part of the machine, "
         "down to one SM: ask the device how many there are (cudaDevAttrMultiProcessorCount), "
         "above "
         "all where blocks wait for each other. Correctness is checked on other shapes, drawn from "
         "the whole ranges.\n";
}

std::string gpu_text(const hardware::GpuDescription& gpu) {
  return fmt::format(
      "Each GPU ({}): {} SMs at {:.2f} GHz. An SM: {} threads, {} blocks, {} registers, {} KiB of "
      "shared memory. A block: {} threads, {} KiB of static shared memory, up to {} KiB dynamic "
      "once cudaFuncSetAttribute has asked for it.\n"
      "Memory: {:.0f} GB/s HBM; L2 of {} MiB, {:.0f} GB/s read. Latencies in cycles: shared {}, L2 "
      "{}, HBM {}, block barrier {}; fences behind stores: block {}, GPU {}, system {}.\n"
      "Rates: {:.0f} fp32 multiply-adds and {:.0f} special functions a cycle and SM; tensor cores "
      "{:.0f} TFLOP/s bf16, {:.0f} tf32 (mma.sync).\n",
      gpu.name, gpu.sms, gpu.clock_ghz, gpu.threads_per_sm, gpu.blocks_per_sm, gpu.registers_per_sm,
      gpu.shared_per_sm / 1024, gpu.threads_per_block, gpu.shared_per_block / 1024,
      gpu.shared_per_block_optin / 1024, gpu.hbm_gbs, gpu.l2_bytes >> 20U, gpu.l2_gbs,
      gpu.shared_latency, gpu.l2_latency, gpu.hbm_latency, gpu.barrier_latency, gpu.fence_cta,
      gpu.fence_gpu, gpu.fence_sys, gpu.float_lanes, gpu.special_lanes, gpu.tensor_f16_tflops,
      gpu.tensor_tf32_tflops);
}

std::string launch_text(const hardware::GpuDescription& gpu) {
  return fmt::format(
      "Launches: a launch costs the host {:.1f} us; from its call to the first instruction on an "
      "idle GPU {:.1f} us; a kernel that is queued behind another starts {:.2f} us after it, in a "
      "CUDA graph {:.2f} us. A launch of a group of NCCL collectives costs the host {:.1f} us. The "
      "bound counts one queued launch ({:.2f} us) and cannot quite be reached: the phase "
      "'launches and host' of a profile is what a run really pays.\n",
      gpu.host_launch_us, gpu.launch_us, gpu.gap_us, gpu.graph_gap_us,
      gpu.nccl.group_us + gpu.nccl.launch_us, gpu.gap_us);
}

std::string links_text(const fabric::Topology& topology) {
  std::string text;
  if (topology.domain_size() > 1) {
    text += fmt::format(
        "Peers' memory by load and store: {} GPUs, {:.0f} GB/s a GPU and direction, {:.1f} us{}.\n",
        topology.domain_size(), topology.load_store.rate(),
        static_cast<double>(topology.load_store.latency) / kMicrosecond,
        topology.multicast ? "; the switch can multicast" : "");
  }
  if (topology.nic) {
    text += fmt::format(
        "A NIC per GPU: {:.0f} GB/s, {:.1f} us; a put from a kernel (GIN) takes {:.1f} us before "
        "its first byte.\n",
        topology.nic->rate(), static_cast<double>(topology.nic->latency) / kMicrosecond,
        static_cast<double>(topology.gin.post) / kMicrosecond);
  }
  return text;
}

}  // namespace

std::string contract_text(const Workload& workload, std::string_view header) {
  // From the first sentence on: the licence is for people.
  const auto begin = header.find("The contract");
  const auto code = begin == std::string_view::npos ? std::string(header)
                                                    : "/* " + std::string(header.substr(begin));
  return fmt::format("```c\n{}\n```\n\n{}\n{}{}\n{}\n{}", trim(code), parameters_text(workload),
                     buffers_text("input", workload.inputs),
                     buffers_text("output", workload.outputs), tolerances_text(workload),
                     shapes_text(workload));
}

std::string target_text(const fabric::Topology& topology,
                        const hardware::GpuDescription& gpu,
                        int ranks,
                        bool predicted) {
  std::string text =
      fmt::format("{} rank{} on {}: {} node{} of {} GPU{}.{}\n", ranks, ranks == 1 ? "" : "s",
                  topology.name, topology.nodes, topology.nodes == 1 ? "" : "s",
                  topology.gpus_per_node, topology.gpus_per_node == 1 ? "" : "s",
                  predicted ? " The GPUs are virtual and times predicted." : "");
  text += gpu_text(gpu);
  if (ranks > 1) text += links_text(topology);
  text += launch_text(gpu);
  if (predicted) {
    text +=
        "Not executed here: wgmma, tensor maps (TMA) and thread block clusters; mma.sync, "
        "ldmatrix, "
        "cp.async, one-dimensional bulk copies and mbarrier are.\n";
  }
  return text;
}

}  // namespace cuco::cli
