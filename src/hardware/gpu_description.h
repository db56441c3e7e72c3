// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GPU as data: limits, rates and latencies, read from hardware/*.toml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hardware/nccl_costs.h"

namespace cuco::hardware {

struct GpuDescription {
  // Identity.
  std::string name;         ///< As cudaGetDeviceProperties shows it.
  std::string key;          ///< "h200": the file's stem, named with every predicted time.
  std::string calibration;  ///< SHA-256 of the record that its rates come from; empty: none.
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint64_t memory_bytes = 0;

  // Shape and limits.
  std::uint32_t sms = 0;
  double clock_ghz = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t registers_per_block = 0;
  std::uint32_t shared_per_sm = 0;
  std::uint32_t shared_per_block = 0;  ///< Without opt-in.
  std::uint32_t shared_per_block_optin = 0;
  std::uint32_t shared_reserved = 0;  ///< Per block, taken by the driver.
  std::uint32_t threads_per_sm = 0;
  std::uint32_t threads_per_block = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t schedulers = 0;  ///< Warp schedulers per SM, one issue per cycle each.

  // Memory.
  std::uint64_t l2_bytes = 0;
  std::uint32_t l1_bytes = 0;         ///< L1 and shared memory together.
  double hbm_gbs = 0;                 ///< GB/s
  double l2_gbs = 0;                  ///< Read.
  double l2_write_gbs = 0;            ///< Whole sectors.
  double l2_part_gops = 0;            ///< Sectors changed in part, in 10^9 per second.
  std::uint64_t l2_reach = 0;         ///< Bytes that are still there when they are wanted again.
  std::uint32_t hbm_granule = 0;      ///< Bytes: 32 that are missing cost as many as these.
  double shared_bytes_per_cycle = 0;  ///< Per SM.
  std::uint32_t memory_bus_bits = 0;
  double memory_clock_ghz = 0;

  // Latencies in cycles.
  std::uint32_t alu_latency = 0;
  std::uint32_t double_latency = 0;
  std::uint32_t special_latency = 0;
  std::uint32_t shared_latency = 0;
  std::uint32_t l1_latency = 0;
  std::uint32_t l2_latency = 0;
  std::uint32_t hbm_latency = 0;
  std::uint32_t atomic_latency = 0;
  double atomic_word_ns = 0;        ///< Of each lane's atomic on a word that others want, too.
  double atomic_float_word_ns = 0;  ///< The same of floating-point additions.
  double atomic_clash_ns = 0;  ///< Of each lane on a line where lanes of one warp want one word.
  std::uint32_t barrier_latency = 0;
  std::uint32_t tensor_latency = 0;
  std::uint32_t fence_cta = 0;  ///< A fence behind stores.
  std::uint32_t fence_gpu = 0;
  std::uint32_t fence_sys = 0;

  // Rates: lanes per cycle and SM.
  double float_lanes = 0;
  double integer_lanes = 0;
  double double_lanes = 0;
  double special_lanes = 0;
  double convert_lanes = 0;
  double atomic_lanes = 0;

  // Dense tensor rates in TFLOP/s (multiply and add counted apart).
  double tensor_f16_tflops = 0;  ///< f16 and bf16
  double tensor_tf32_tflops = 0;
  double tensor_f64_tflops = 0;
  double tensor_s8_tops = 0;
  double tensor_f8_tflops = 0;

  // Launch.
  double launch_us = 0;       ///< From the host's call to the first instruction on an idle GPU.
  double gap_us = 0;          ///< From the end of what a queued kernel waits for to its first one.
  double graph_gap_us = 0;    ///< The same between kernels of one graph.
  double host_launch_us = 0;  ///< What a launch costs the host thread.
  double block_start_cycles = 0;
  double block_ns = 0;  ///< From one block that is sent to an SM to the next.

  NcclCosts nccl;

  /// Not of a file: tensor cores round as the host's CPU does, not as this GPU; several times
  /// faster, for runs that are only timed.
  bool native_tensor = false;
};

/// Parses a description. Errors name file, line and key.
Result<GpuDescription> parse_gpu_description(std::string_view text, std::string_view file);
/// Reads `hardware/NAME.toml` under `root`, or a path if `name` is one.
Result<GpuDescription> load_gpu_description(std::string_view name,
                                            const std::filesystem::path& root);

}  // namespace cuco::hardware
